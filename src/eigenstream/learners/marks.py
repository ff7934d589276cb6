"""Going back: what an object has learnt can be marked, and put back to the bit after a call that failed."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, ClassVar

Mark = tuple[Any, ...]


class Marked:
    """Abstract: an object that can go back to its last mark.

    A mark holds references and copies nothing. So whoever changes an array that is named in `LEARNT` replaces
    it, or copies it before the first change after a mark. Only the last mark can be gone back to.
    """

    LEARNT: ClassVar[tuple[str, ...]]
    """Names of the attributes that learning changes."""
    _learnt: ClassVar[Any]

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        cls._learnt = attrgetter(*cls.LEARNT)  # in C: a mark is taken for every row that comes alone

    def mark(self) -> Mark:
        """The present state, for `revert`."""
        return self._learnt(self)  # type: ignore[no-any-return]

    def revert(self, mark: Mark) -> None:
        """Go back to a mark, the last one taken."""
        for name, value in zip(self.LEARNT, mark, strict=True):
            setattr(self, name, value)
