"""Databases that rows are asked from: SQLite by the standard library, others through SQLAlchemy."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from ..files import printable, shown, without_secret
from .batch import SourceError
from .options import ReadOptions
from .patience import ask_again
from .sql import Answer, Database, Question, SqlReader

DRIVERS = {"duckdb": "duckdb-engine"}
"""Packages for databases that SQLAlchemy does not know of itself."""
PASSWORD = "EIGENSTREAM_SQL_PASSWORD"
"""Variable of the environment with the password of the server, where the address has none."""
FIRST_PATIENCE, PATIENCE = 5.0, 30.0
"""Seconds to ask a server again that does not answer: before the first row, when a person waits and the
address may be wrong, and later, long enough for it to restart."""
MOST_STEPS, STEPS = 2_000_000_000, 100_000
"""Most steps of SQLite's machine without a row, and between two looks at them: about a minute, a sort of a
hundred million rows. A file may hold a view without an end."""
LARGEST_VALUE = 1 << 26
"""Most bytes of a row of SQLite."""
READING = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
"""Actions that a statement of SQLite may take."""
MARK = "\N{START OF TEXT}"
"""Sign before the name of a value, until colons of the query are told apart from those of values."""
EXAMPLE = "sqlite:///plant.db?table=readings&order=id"


class Address(NamedTuple):
    """Parts of an address such as `EXAMPLE`."""

    place: str
    """The address up to the question mark, with its secrets."""
    query: str
    """The query whose rows are read."""
    order: list[str]
    """Names of the columns that order them."""
    late: bool
    """True reads on where rows have come that stand before the last one read."""
    others: dict[str, str]
    """Options for the database's own driver."""
    table: str
    """Name of the table; empty if a query was given."""


def parsed(address: str) -> Address:
    """Take an address apart; a plus sign is a plus sign, as in SQL."""
    name = shown(without_secret(address))
    place, _, words = address.partition("?")
    given = {}
    for part in filter(None, words.split("&")):
        option, equals, value = part.partition("=")
        if not equals or option in given:
            raise SourceError(
                f"{name}: {option[:40]!r} is given twice or has no value; in SQL, write & as %26"
            )
        given[option] = unquote(value)
    table, query = given.pop("table", ""), given.pop("query", "").strip().rstrip(";")
    order = [column.strip() for column in given.pop("order", "").split(",") if column.strip()]
    late = given.pop("late", "refuse")
    if bool(table) == bool(query):
        raise SourceError(f"{name}: expected either a table or a query, as in {EXAMPLE} or ?query=SELECT ...")
    if not order:
        raise SourceError(
            f"{name} does not say which column orders the rows, so that reading can go on: add &order=id, or "
            "another column that is unique and grows"
        )
    if late not in ("refuse", "allow"):
        raise SourceError(f"{name}: late must be allow or refuse, got {late!r}")
    return Address(place, query, order, late == "allow", given, table)


def open_sqlite(address: str, options: ReadOptions) -> SqlReader:
    """Open a table or query of an SQLite file, to read it only."""
    parts = parsed(address)
    path = Path(parts.place.removeprefix("sqlite:///"))
    if not parts.place.startswith("sqlite:///") or not path.is_file():
        raise SourceError(f"there is no SQLite file {printable(str(path))!r}; expected such as {EXAMPLE}")
    if parts.others:
        raise SourceError(f"{path}: {min(parts.others)!r} is no option of an address of SQLite")
    return _reader(Sqlite(path), str(path), parts, options)


def open_database(address: str, options: ReadOptions) -> SqlReader:
    """Open a table or query of a database that SQLAlchemy knows."""
    parts, name = parsed(address), shown(without_secret(address.partition("?")[0]))
    try:
        import sqlalchemy
    except ImportError:
        raise SourceError(f"{name}: to read it, pip install 'eigenstream[sql]' and its driver") from None
    try:
        url = sqlalchemy.make_url(parts.place).update_query_dict(parts.others)
        if url.password is None and PASSWORD in os.environ:
            url = url.set(password=os.environ[PASSWORD])
        database = Alchemy(url, name)
    except ImportError as error:
        raise SourceError(f"{name}: its driver is not installed: {error}") from None
    except sqlalchemy.exc.NoSuchModuleError:
        kind = parts.place.partition(":")[0]
        package = f"pip install {DRIVERS[kind]}" if kind in DRIVERS else "install it"
        raise SourceError(
            f"{name}: SQLAlchemy finds no driver for {kind} here: {package}, or write an address such as "
            "postgresql+pg8000://HOST/plant"
        ) from None
    except (sqlalchemy.exc.SQLAlchemyError, ValueError, TypeError):  # their words may hold the password
        raise SourceError(f"{name} is not an address such as postgresql+pg8000://HOST/plant") from None
    return _reader(database, name, parts, options)


def _reader(database: Database, place: str, parts: Address, options: ReadOptions) -> SqlReader:
    query = parts.query or f"SELECT * FROM {'.'.join(map(database.quoted, parts.table.split('.')))}"
    what = f"table {parts.table!r}" if parts.table else f"query {parts.query!r}"
    try:
        return SqlReader(database, query, parts.order, f"{what} of {place}", options, late=parts.late)
    except BaseException:
        database.close()
        raise


class Sqlite:
    """An SQLite file, read only: a statement can select, and nothing in the file can do anything else."""

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        try:
            # The thread that reads ahead is not the one that opens it and closes it.
            self.connection = sqlite3.connect(
                f"file:{quote(str(path.absolute()))}?mode=ro",
                uri=True,
                timeout=PATIENCE,
                isolation_level=None,
                check_same_thread=False,
            )
        except sqlite3.Error as error:
            raise SourceError(f"{path} cannot be read: {error}") from None
        self.connection.text_factory = lambda word: word.decode(errors="replace")
        self.connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_VALUE)
        self.connection.execute("PRAGMA trusted_schema = OFF")
        self.connection.execute("PRAGMA query_only = ON")
        self.connection.set_authorizer(
            lambda action, *_: sqlite3.SQLITE_OK if action in READING else sqlite3.SQLITE_DENY
        )
        self._asking = Lock()
        """Held while rows are read: SQLite does not survive being closed meanwhile."""
        self._steps = 0
        self.connection.set_progress_handler(self._is_stuck, STEPS)

    def _is_stuck(self) -> bool:
        self._steps += STEPS
        return self._steps > MOST_STEPS

    def quoted(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def mark(self, number: int) -> str:
        return "?"  # numbered ones are taken for names by some versions of Python 3.12

    def ask(self, question: Question, collect: Callable[[Iterable[Any]], list[Any]]) -> Answer:
        self._steps = 0
        try:
            with self._asking, closing(self.connection.execute(question.text, question.values)) as cursor:
                return Answer([column[0] for column in cursor.description], collect(cursor))
        except (sqlite3.Error, sqlite3.Warning, OverflowError, MemoryError) as error:
            stuck = f"; it took more than {MOST_STEPS:,} steps" if self._steps > MOST_STEPS else ""
            raise SourceError(f"{self.name} cannot be read: {error}{stuck}") from None

    def close(self) -> None:
        with suppress(sqlite3.ProgrammingError):  # closed already
            self.connection.interrupt()
        with self._asking:
            self.connection.close()


class Alchemy:
    """A database that SQLAlchemy knows; it has to know LIMIT and comparisons of rows of values."""

    def __init__(self, url: Any, name: str) -> None:
        import sqlalchemy

        self.name, self._secret = name, url.password
        self.engine = sqlalchemy.create_engine(url, poolclass=sqlalchemy.NullPool)
        self._patience = FIRST_PATIENCE

    def quoted(self, name: str) -> str:
        return str(self.engine.dialect.identifier_preparer.quote_identifier(name))

    def mark(self, number: int) -> str:
        return f"{MARK}v{number}"

    def ask(self, question: Question, collect: Callable[[Iterable[Any]], list[Any]]) -> Answer:
        import sqlalchemy

        values = {f"v{i}": value for i, value in enumerate(question.values)}
        # A colon of the user's own would stand for a value, too.
        text = sqlalchemy.text(question.text.replace(":", "\\:").replace(MARK, ":"))

        def asked() -> Answer:
            with self.engine.connect() as connection, connection.begin() as transaction:
                found = connection.execute(text, values)
                answer = Answer(list(found.keys()), collect(tuple(row) for row in found))
                transaction.rollback()  # nothing is changed, whatever the query calls
            return answer

        unanswered = (sqlalchemy.exc.OperationalError, sqlalchemy.exc.InterfaceError)
        try:
            answer = ask_again(asked, unanswered, self._patience, self._refused)
        except sqlalchemy.exc.SQLAlchemyError as error:
            raise self._refused(error) from None
        self._patience = PATIENCE
        return answer

    def _refused(self, error: Any) -> SourceError:
        words = getattr(error, "orig", None) or error
        if words.args and isinstance(words.args[0], dict):  # of pg8000
            words = words.args[0].get("M", words)
        said = " ".join(str(words).split())[:500]
        if self._secret:
            said = said.replace(str(self._secret), "...")
        where = f"it stands in the address or in the variable {PASSWORD} of the environment"
        return SourceError(
            f"{self.name} cannot be read: {said}" + (f"; {where}" if "password" in said.lower() else "")
        )

    def close(self) -> None:
        self.engine.dispose()
