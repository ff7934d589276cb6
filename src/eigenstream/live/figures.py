"""The charts, empty: each draws columns of a data source that a session fills."""

from __future__ import annotations

from typing import Any, Literal

from bokeh.models import (
    BasicTicker,
    ColumnDataSource,
    CrosshairTool,
    DataRange1d,
    DatetimeTicker,
    DatetimeTickFormatter,
    FixedTicker,
    HoverTool,
    Line,
    LogTicker,
    NumeralTickFormatter,
    Range1d,
)
from bokeh.models.annotations.geometry import Span
from bokeh.models.renderers.glyph_renderer import GlyphRenderer
from bokeh.plotting import figure as Figure

from ..plotting.palette import BLUE, GREEN, ORANGE, PURPLE, RED, SKY
from .board import MOST_COMPONENTS

COMPONENTS = (BLUE, ORANGE, GREEN, RED, SKY, PURPLE)
"""Colours of the leading components, in all charts; seen equally well on white and on black."""
INKS = {
    "light": {"text": "#52606d", "grid": "#e8ebef", "strong": "#1f2933", "faint": "#aab4c0"},
    "dark": {"text": "#9fb0c3", "grid": "#2a323d", "strong": "#eef2f6", "faint": "#5d6b7c"},
}
"""Colours in which page.js paints axes, grids, and the glyphs named "strong" and "faint", by day and night.

Those of the page around the charts are in page.css."""
TRACKS = [f"v{i}" for i in range(MOST_COMPONENTS)]
LOADINGS = [f"c{i}" for i in range(MOST_COMPONENTS)]
HEIGHTS = [f"h{i}" for i in range(MOST_COMPONENTS)]
FONT = "system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif"
TINY = 1e-300
"""Lower end of a shade on a logarithmic scale, which has no zero."""

Rows = list[tuple[str, str]]


def chart(name: str, x_range: Range1d, **options: Any) -> Figure:
    """An empty figure that fills its place on the page."""
    figure = Figure(
        name=name,
        x_range=x_range,
        sizing_mode="stretch_both",
        tools="xpan,xwheel_zoom",
        active_scroll="xwheel_zoom",
        active_drag="xpan",
        toolbar_location=None,
        min_border=0,
        min_border_top=8,
        min_border_left=52,
        min_border_right=14,
        lod_threshold=None,
        **options,
    )
    # No fill: the page shows through. BokehJS clears a canvas half a pixel inside its edge, so that of its
    # first, white fill a frame would stay around a chart in the dark.
    figure.update(outline_line_color=None, background_fill_color=None, border_fill_color=None)
    figure.xgrid.visible = False
    for axis in (*figure.xaxis, *figure.yaxis):
        axis.update(minor_tick_line_color=None, major_tick_in=0, axis_label_standoff=4)
        axis.update(major_label_text_font=FONT, major_label_text_font_size="11px")
        axis.update(axis_label_text_font=FONT, axis_label_text_font_size="11px")
        axis.axis_label_text_font_style = "normal"
    return figure


def over_samples(name: str, x_range: Range1d, here: Span, **options: Any) -> Figure:
    """A chart over the stream; ``here`` is the line that follows the pointer in all of them."""
    figure = chart(name, x_range, **options)
    figure.window_axis = "x"
    figure.xaxis.formatter = NumeralTickFormatter(format="0.[00]a")
    figure.add_tools(CrosshairTool(overlay=here))
    return figure


def hover(
    figure: Figure, renderers: list[GlyphRenderer[Any]], tooltips: Rows, by: Literal["vline", "mouse"]
) -> None:
    """Values beside the pointer; all numbers but samples and ranks with four digits."""
    printed: Literal["printf"] = "printf"
    numbers = {f"@{{{name}}}": printed for name in (*TRACKS, *LOADINGS, "threshold")}
    tool = HoverTool(
        renderers=[*renderers],
        tooltips=tooltips,
        mode=by,
        formatters={**numbers},
        point_policy="snap_to_data",
        line_policy="nearest",
        show_arrow=False,
    )
    figure.add_tools(tool)


def number(label: str, column: str) -> tuple[str, str]:
    """A line of a tooltip."""
    return label, f"@{{{column}}}{{%.4g}}"


SAMPLE, DATE, TIME = ("sample", "@sample{0,0}"), ("time", "@sample{%F %T}"), ("time", "@sample{0,0.[000]}")
"""Line of a tooltip that names the place on the axis; times are dates, or numbers from some start."""


def show_times(figure: Figure, dated: bool) -> None:
    """Have the axis and the pointer show times, which stand where sample counts did."""
    if dated:
        figure.xaxis.update(ticker=DatetimeTicker(desired_num_ticks=6), formatter=DatetimeTickFormatter())
    for axis in figure.xaxis:
        if axis.axis_label:
            axis.axis_label = "time (UTC)" if dated else "time"
    for tool in figure.tools:
        if isinstance(tool, HoverTool) and isinstance(tool.tooltips, list):
            tool.tooltips = [(DATE if dated else TIME) if row == SAMPLE else row for row in tool.tooltips]
            if dated:
                tool.formatters = {**tool.formatters, "@sample": "datetime"}


def timeline_rows(count: int, place: tuple[str, str] = SAMPLE) -> Rows:
    """Lines of the tooltip at a moment with this number of eigenvalues."""
    leading = [number(str(i), track) for i, track in enumerate(TRACKS[:count])]
    return [place, ("rank", "@rank"), number("threshold", "threshold"), *leading]


def component_rows(count: int) -> Rows:
    """Lines of the tooltip at an input with this number of components."""
    return [("input", "@label"), *(number(str(i), name) for i, name in enumerate(LOADINGS[:count]))]


def list_values(figure: Figure, rows: Rows) -> None:
    """Set the lines of the tooltip."""
    for tool in figure.tools:
        if isinstance(tool, HoverTool) and tool.tooltips != rows:
            tool.tooltips = rows


def eigenvalues(
    scale: Literal["log", "linear"],
    x_range: Range1d,
    here: Span,
    timeline: ColumnDataSource,
    events: ColumnDataSource,
) -> Figure:
    """Variances over time with the threshold; those in the shade are dropped."""
    figure = over_samples(scale, x_range, here, y_axis_type=scale)
    bottom = TINY if scale == "log" else 0
    shade = figure.varea("sample", y1=bottom, y2="threshold", source=timeline, name="strong")
    shade.glyph.update(fill_alpha=0.07)
    mark_events(figure, events)
    lines = [
        figure.line("sample", track, source=timeline, color=color, line_width=2.2)
        for track, color in reversed(list(zip(TRACKS, COMPONENTS, strict=True)))
    ]
    threshold = figure.line(
        "sample", "threshold", source=timeline, name="strong", line_width=1.8, line_dash=[6, 4]
    )
    figure.y_range = DataRange1d(renderers=[*lines, threshold], range_padding=0.08)
    if scale == "linear":
        figure.y_range.start = 0
    hover(figure, [threshold], timeline_rows(0), "vline")
    return figure


def add_tracks(figure: Figure, timeline: ColumnDataSource, columns: list[str]) -> None:
    """Thin lines for the eigenvalues beyond the leading ones, all at once: each change is a message."""
    y_range = figure.y_range
    assert isinstance(y_range, DataRange1d)
    added = [
        GlyphRenderer(data_source=timeline, glyph=Line(x="sample", y=column), name="faint", level="underlay")
        for column in columns
    ]
    if added:
        figure.renderers = [*figure.renderers, *added]
        y_range.renderers = [*y_range.renderers, *added]  # type: ignore[misc]


def mark_events(figure: Figure, events: ColumnDataSource) -> GlyphRenderer[Any]:
    """A dotted line wherever the rank changed."""
    return figure.vspan("sample", source=events, name="faint", line_dash=[1, 3], level="underlay")


def rank(x_range: Range1d, here: Span, steps: ColumnDataSource, events: ColumnDataSource) -> Figure:
    """The rank as steps, its changes as dots."""
    figure = over_samples("rank", x_range, here)
    area = figure.varea_step("sample", y1=0, y2="rank", source=steps, step_mode="after")
    area.glyph.update(fill_color=BLUE, fill_alpha=0.12)
    mark_events(figure, events)
    line = figure.step("sample", "rank", mode="after", source=steps, color=BLUE, line_width=2)
    dots = figure.scatter("sample", "after", source=events, size=7, fill_color=BLUE, line_color=None)
    figure.y_range = DataRange1d(start=0, renderers=[line, dots], range_padding=0.15)
    figure.yaxis.ticker = BasicTicker(min_interval=1, desired_num_ticks=4, num_minor_ticks=0)
    hover(figure, [dots], [SAMPLE, ("rank", "@before → @after")], "mouse")
    return figure


def pace(x_range: Range1d, here: Span, source: ColumnDataSource, lag_unit: str) -> Figure:
    """Rows per second; the lag beside the pointer."""
    figure = over_samples("pace", x_range, here, x_axis_label="samples")
    figure.varea("sample", y1=0, y2="rate", source=source, fill_color=GREEN, fill_alpha=0.12)
    line = figure.line("sample", "rate", source=source, color=GREEN, line_width=2)
    figure.y_range = DataRange1d(start=0, renderers=[line], range_padding=0.15)
    figure.yaxis.update(
        formatter=NumeralTickFormatter(format="0.[0]a"), ticker=BasicTicker(desired_num_ticks=4)
    )
    tooltips = [SAMPLE, ("rows per second", "@rate{0,0}"), (f"lag, {lag_unit}", "@lag{0,0}")]
    hover(figure, [line], tooltips, "vline")
    return figure


def control(
    name: str, x_range: Range1d, here: Span, source: ColumnDataSource, alarms: ColumnDataSource
) -> Figure:
    """A statistic over time with its limit; alarms are shaded."""
    figure = over_samples(name, x_range, here, y_axis_type="log")
    figure.vstrip("began", "last", source=alarms, fill_color=ORANGE, fill_alpha=0.3, line_color=ORANGE)
    line = figure.line("sample", name, source=source, color=BLUE, line_width=1.6)
    limit = figure.line("sample", f"{name}_limit", source=source, color=RED, line_width=1.8, line_dash=[6, 4])
    # A logarithmic axis cannot choose its range by nothing at all: at rank 0 there is no T².
    anchor = figure.line("sample", f"{name}_anchor", source=source, line_alpha=0)
    figure.y_range = DataRange1d(renderers=[line, limit, anchor], range_padding=0.08)
    figure.yaxis.ticker = LogTicker(desired_num_ticks=3, num_minor_ticks=0)  # more would overlap
    rows = [SAMPLE, ("statistic", f"@{name}{{0.000a}}"), ("limit", f"@{name}_limit{{0.000a}}")]
    hover(figure, [line], rows, "vline")
    return figure


def trace(name: str, x_range: Range1d, source: ColumnDataSource, alarm: ColumnDataSource) -> Figure:
    """An input around an alarm: its values, what they should have been, and the usual band."""
    figure = chart(name, x_range)
    figure.xaxis.formatter = NumeralTickFormatter(format="0,0")
    figure.vstrip("began", "last", source=alarm, fill_color=ORANGE, fill_alpha=0.3, line_color=ORANGE)
    figure.varea("sample", y1="low", y2="high", source=source, fill_color=BLUE, fill_alpha=0.18)
    expected = figure.line("sample", "expected", source=source, color=SKY, line_width=1.4, line_dash=[5, 4])
    value = figure.line("sample", "value", source=source, color=RED, line_width=1.8)
    figure.y_range = DataRange1d(renderers=[value, expected], range_padding=0.12)
    figure.yaxis.ticker = BasicTicker(desired_num_ticks=4)
    hover(
        figure,
        [value],
        [SAMPLE, ("value", "@value{0.000a}"), ("should have been", "@expected{0.000a}")],
        "vline",
    )
    return figure


def components(source: ColumnDataSource) -> Figure:
    """The leading components as bars over the inputs, one row each, the first on top."""
    x_range, y_range = Range1d(start=-0.5, end=0.5), Range1d(start=-0.55, end=0.55)
    figure = chart("components", x_range, y_range=y_range, x_axis_label="input")
    for i, (height, color) in enumerate(zip(HEIGHTS, COMPONENTS, strict=True)):
        figure.vbar(
            "x", width="width", bottom=-i, top=height, source=source, fill_color=color, line_color=None
        )
    anchor = figure.line("x", "anchor", source=source, line_alpha=0)
    figure.yaxis.update(ticker=FixedTicker(ticks=[-i for i in range(MOST_COMPONENTS)]))
    figure.yaxis.major_label_overrides = {-i: str(i) for i in range(MOST_COMPONENTS)}
    figure.min_border_left = 22
    hover(figure, [anchor], component_rows(0), "vline")
    return figure
