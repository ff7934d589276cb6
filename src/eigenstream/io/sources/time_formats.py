"""Formats of times by example: ``31.12.2024 23:59`` says how the other times of a source are written."""

from __future__ import annotations

import re
from datetime import datetime

LONGEST = 64
"""Most characters of a time."""
PLACES = re.compile(
    r"""
    (?P<weekday>[A-Za-z]{3,9},?\s+)?
    (?: (?P<first>\d{1,4}) (?P<mark>[./-]) (?P<second>\d{1,2}) (?P=mark) (?P<third>\d{2,4})
      | (?P<day>\d{1,2}) (?P<gap>\.?[\s-]) (?P<month>[A-Za-z]{3,9}) (?P<gap2>\.?[\s-]) (?P<year>\d{2,4})
      | (?P<us_month>[A-Za-z]{3,9}) (?P<us_gap>\s) (?P<us_day>\d{1,2}) (?P<us_gap2>,?\s) (?P<us_year>\d{4})
    )
    (?: (?P<between>,?\s+|T|_|-)
        (?P<hour>\d{1,2}) (?P<colon>[:.h]) (?P<minute>\d{2})
        (?: (?P<colon2>[:.m]) (?P<seconds>\d{2}) (?: (?P<point>[.,]) (?P<fraction>\d{1,6}) )? )?
        (?P<noon>\s*[AaPp][Mm])?
    )?
    (?P<zone>\s*(?:Z|[+-]\d\d:?\d\d))?
    """,
    re.VERBOSE,
)
CLOCK = re.compile(r"\d{1,2}[:.h]\d{2}(?:[:.m]\d{2}(?:[.,]\d+)?)?(?:\s*[AaPp][Mm])?")
"""A time of day."""


def formats_of(example: str) -> list[str]:
    """Return the formats of `datetime.strptime` in which a time can be written; none if it is no time.

    There are two where day and month cannot be told apart. A date with points begins with the day.

    Examples
    --------
    >>> formats_of("31.12.2024 23:59"), formats_of("10/03/2004 18.00.00")
    (['%d.%m.%Y %H:%M'], ['%d/%m/%Y %H.%M.%S', '%m/%d/%Y %H.%M.%S'])
    """
    text = example.strip()
    found = PLACES.fullmatch(text) if len(text) <= LONGEST else None
    if found is None:
        return []
    part = found.groupdict(default="")
    written = [f"{_weekday(part['weekday'])}{date}{_clock(part)}" for date in _dates(part)]
    return [format for format in written if is_written(text, format)]


def is_day(text: str) -> bool:
    """Return True for a date without a time of day.

    Examples
    --------
    >>> [is_day(text) for text in ("01.01.2024", "2024-01-31", "01.01.2024 12:00", "12.5")]
    [True, True, False, False]
    """
    formats = formats_of(text)
    return bool(formats) and not any("%H" in one or "%I" in one for one in formats)


def is_written(text: str, format: str) -> bool:
    """Return True if a time is written in a format of `datetime.strptime`."""
    try:
        datetime.strptime(text.strip(), format)
    except ValueError:
        return False
    return True


def _dates(part: dict[str, str]) -> list[str]:
    if part["month"] or part["us_month"]:
        month = "%b" if len(part["month"] or part["us_month"]) == 3 else "%B"
        if part["us_month"]:
            return [f"{month}{part['us_gap']}%d{part['us_gap2']}%Y"]
        return [f"%d{part['gap']}{month}{part['gap2']}{_year(part['year'])}"]
    mark = part["mark"]
    if len(part["first"]) == 4:
        return [mark.join(("%Y", "%m", "%d"))]
    orders = [("%d", "%m")] if mark == "." else [("%d", "%m"), ("%m", "%d")]
    return [mark.join((*order, _year(part["third"]))) for order in orders]


def _year(digits: str) -> str:
    return "%Y" if len(digits) == 4 else "%y"


def _weekday(word: str) -> str:
    name = word.rstrip(", \t")
    return ("%a" if len(name) == 3 else "%A") + word[len(name) :] if word else ""


def _clock(part: dict[str, str]) -> str:
    """Return the format of the time of day and of the zone."""
    zone = re.sub(r"\S+", "%z", part["zone"])
    if not part["hour"]:
        return zone
    noon = re.sub(r"\S+", "%p", part["noon"])
    clock = f"{'%I' if noon else '%H'}{part['colon']}%M"
    if part["seconds"]:
        clock += f"{part['colon2']}%S"
    if part["fraction"]:
        clock += f"{part['point']}%f"
    return f"{part['between']}{clock}{noon}{zone}"
