"""The live page: a stream's spectrum, rank and components in a browser while a model learns.

Needs the extra ``live`` (Bokeh). The learning thread leaves small copies on a `board`, a few per second at
most; a thread carries the latest one to a process of its own, which serves it to every browser at the
browser's pace. However many browsers load the page, learning goes on.
"""

from .page import Page

__all__ = ["Page"]
