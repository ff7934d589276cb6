"""The live page: a stream's spectrum, rank and components in a browser while a model learns.

Needs the extra ``live`` (Bokeh). The learning thread leaves small copies on a `board`, several a second
at most; a server in a thread of its own shows the latest one to every browser, at the browser's pace.
"""

from .page import Page

__all__ = ["Page"]
