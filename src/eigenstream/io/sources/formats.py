"""How text is written: the options of CSV and JSON lines as one value."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .batch import SourceError

MISSING = ("", "na", "n/a", "nan", "null", "none", "-")
"""How an absent value may be written, whatever the case."""
SPACES = " \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"
GROUPS = {".": re.compile(r"\."), ",": re.compile(","), " ": re.compile(f"[{SPACES}]")}
GROUPED = {
    mark: re.compile(rf"[-+]?\d{{1,3}}(?:{group.pattern}\d{{3}})+(?:[.,]\d+)?")
    for mark, group in GROUPS.items()
}
"""Numbers with a mark between groups of three digits."""
NAMED_DELIMITERS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}


@dataclass(frozen=True)
class Format:
    """What was said about a text; None where it is to be found out.

    Parameters
    ----------
    delimiter
        Between cells of CSV; a space stands for any run of spaces and tabs.
    header
        Whether the first line of CSV holds names.
    decimal
        The decimal mark of CSV.
    comment
        Lines that begin with this are passed over.
    skip_lines
        Lines at the top that are passed over.
    encoding
        Of the text.
    na
        Words, and numbers, that stand for a missing value, besides `MISSING`.
    thousands
        What stands between groups of three digits in CSV.
    """

    delimiter: str | None = None
    header: bool | None = None
    decimal: str = "."
    comment: str | None = None
    skip_lines: int = 0
    encoding: str | None = None
    na: str | Sequence[str | float] | None = None
    thousands: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter in NAMED_DELIMITERS:
            object.__setattr__(self, "delimiter", NAMED_DELIMITERS[self.delimiter])
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise SourceError(f"the delimiter must be one character and no quote, got {self.delimiter!r}")
        if self.decimal not in (".", ","):
            raise SourceError(f"the decimal mark must be a point or a comma, got {self.decimal!r}")
        if self.decimal == self.delimiter:
            raise SourceError(f"delimiter and decimal mark cannot both be {self.decimal!r}")
        if self.thousands not in (None, *GROUPED) or self.thousands == self.decimal:
            raise SourceError(
                "the thousands mark must be a point, a comma or a space, and not the decimal mark, got "
                f"{self.thousands!r}"
            )
        if self.comment is not None and (not self.comment or self.comment.isspace()):
            raise SourceError(f"a comment begins with something that can be seen, got {self.comment!r}")
        if self.skip_lines < 0:
            raise SourceError(f"skip_lines must be at least 0, got {self.skip_lines}")
        if self.encoding is not None:
            try:
                codecs.getincrementaldecoder(self.encoding)
            except LookupError:
                raise SourceError(f"there is no encoding {self.encoding!r}") from None

    def number(self, word: str) -> float:
        """The number that is written like this; ValueError if none is."""
        if "_" in word:  # Python reads 1_000 as a number; nobody else does
            raise ValueError(word)
        if self.thousands is not None and GROUPED[self.thousands].fullmatch(word):
            word = GROUPS[self.thousands].sub("", word)
        if self.decimal == ",":
            if "." in word:  # 1.000 may be a thousand
                raise ValueError(word)
            word = word.replace(",", ".")
        return float(word)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Words in lower case that were said to stand for a missing value."""
        return tuple(str(one).strip().lower() for one in self._na if _as_number(one) is None)

    @cached_property
    def missing(self) -> tuple[str, ...]:
        """All words in lower case that stand for a missing value in CSV."""
        return (*MISSING, *self.words)

    @cached_property
    def numbers(self) -> tuple[float, ...]:
        """Numbers that stand for a missing value."""
        return tuple(number for one in self._na if (number := _as_number(one)) is not None)

    @property
    def _na(self) -> Sequence[str | float]:
        if self.na is None:
            return ()
        return self.na.split(",") if isinstance(self.na, str) else self.na

    def recoded(self) -> bool:
        """Whether the encoding writes digits otherwise than ASCII does: lines cannot be cut from it."""
        return self.encoding is not None and "0,;\n".encode(self.encoding) != b"0,;\n"

    def decoded(self, line: bytes, errors: str = "replace") -> str:
        """The line as text; what is not text is replaced."""
        return line.decode("utf-8" if self.recoded() else self.encoding or "utf-8", errors=errors)

    def with_gaps(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """The rows with NaN for numbers that stand for a missing value."""
        for number in self.numbers:
            rows[rows == number] = np.nan
        return rows


def _as_number(one: Any) -> float | None:
    try:
        return None if "_" in str(one) else float(one)
    except ValueError:
        return None
