"""Figures as accessible inline SVG: values on hover, colours of the reader's theme, downloads."""

import html
import io
import re
from itertools import chain
from xml.etree import ElementTree

import numpy as np

from casebook.tables import decimal

# One colour a meaning, in all figures and on the front page.
OURS = "#0072b2"
BETTER = "#009e73"
WORSE = "#d55e00"
UNDECIDED = "#b07f00"
CONTROL = "#6b6b6b"  # and what does not matter
PINK = "#cc79a7"
VIOLET = "#7b5ea7"
INK = "#1b1b1b"  # of letters
GRID = "#d4d4d4"
# Colours that follow the theme (assets/custom.css); a figure drawn with others keeps them.
COLOURS = {
    OURS: "blue",
    WORSE: "orange",
    BETTER: "green",
    PINK: "pink",
    UNDECIDED: "ochre",
    VIOLET: "violet",
    CONTROL: "grey",
    INK: "ink",
    GRID: "grid",
}
SMALLEST_MARK = 14  # points that a marked rectangle is wide and high at least
WIDE = 8.0  # inches: letters of 11 points have the size of a caption where a column is wide
_LEAST_SCALE = 0.93  # of letters on a phone; a wider figure is scrolled within its frame
_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
_FONT = re.compile(r"\s*font-family:[^;]*;?")  # the page has its own
_PLACES = {"d", "x", "y", "x1", "x2", "y1", "y2", "width", "height", "transform", "points"}
_LONG = re.compile(r"-?\d+\.\d{3,}(?:e-?\d+)?")


class Figure:
    """A figure that a notebook shows and the book prints: finding, drawing, caption, downloads.

    ``narrow`` is the same drawing for a phone; None where ``svg`` is for both.
    """

    def __init__(self, svg, caption, alt, downloads, finding=None, narrow=None):
        self.svg = svg
        self.narrow = narrow
        self.caption = caption
        self.alt = alt
        self.downloads = downloads
        self.finding = finding

    def _repr_html_(self):
        """The HTML that Jupyter and the book show."""
        links = " · ".join(
            f'<a href="{html.escape(to)}" download>{name}</a>'
            for name, to in self.downloads.items()
        )
        if "<a href" in self.svg:
            links = f"Marks lead to their items. {links}"
        finding = drawing = ""
        if self.finding:
            finding = f'<p class="finding">{html.escape(self.finding)}</p>'
        if self.narrow:
            drawing = f'<div class="drawing narrow" hidden>{self.narrow}</div>'
        return (
            f'<figure class="drawn">{finding}'
            f'<div class="drawing{" wide" if self.narrow else ""}">{self.svg}</div>{drawing}'
            f"<figcaption>{html.escape(self.caption)} <small>{links}</small></figcaption></figure>"
        )

    def __repr__(self):
        return f"<Figure: {self.caption}>"


def hover(axes, titles, x, y, x1=None, y1=None, addresses=None, least=SMALLEST_MARK):
    """Title points or rectangles of the axes, shown on hover; an address makes one a link.

    Each is at least so many points wide and high; 0 where bars stand side by side.
    """
    corners = (x, y, x if x1 is None else x1, y if y1 is None else y1)
    corners = [np.broadcast_to(np.asarray(corner, float), len(titles)) for corner in corners]
    links = [None] * len(titles) if addresses is None else addresses
    marks = axes.figure.__dict__.setdefault("casebook_marks", [])
    for *place, title, link in zip(*corners, titles, links, strict=True):
        marks.append((axes, *place, least, title, link if isinstance(link, str) else None))


def as_svg(figure, name):
    """A figure as a file: the same bytes for the same figure and name, and ids of its own."""
    from matplotlib import rc_context

    buffer = io.BytesIO()
    with rc_context({"svg.hashsalt": name}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def views(svg, figure, name, alt):
    """A drawn figure for a page: as wide as a column, and as it was drawn for a phone.

    A figure that was drawn wide is itself the first, and there is no second.
    """
    width, height = figure.get_size_inches()
    narrow = inline(svg, figure, alt)
    if width >= WIDE:
        return narrow, None
    figure.set_size_inches(WIDE, height)
    wide = inline(as_svg(figure, f"{name}-wide"), figure, alt)
    figure.set_size_inches(width, height)  # a cell may draw it again
    return wide, narrow


def inline(svg, figure, alt):
    """A drawn figure as SVG for a page, with its marks above all that was drawn."""
    root = ElementTree.fromstring(re.sub(rb">\s+<", b"><", svg))
    referenced = set(re.findall(r"#(\w+)", svg.decode()))
    # Without what describes the file, and without a style that would be that of the whole page.
    about = {f"{_SVG}metadata", f"{_SVG}style"}
    root[:] = [part for part in root if not about & {part.tag, *(each.tag for each in part)}]
    for element in root.iter():
        _for_page(element, referenced)
    width, height = (float(number) for number in root.get("viewBox").split()[2:])
    marks = list(_marks(figure, height))
    root.attrib = {
        "viewBox": root.get("viewBox"),
        "role": "group" if any(link for *_, link in marks) else "img",
        "aria-label": alt,
        "stroke-linejoin": "round",
        "style": (
            f"width: 100%; min-width: {_LEAST_SCALE * width:.0f}px; fill: {_themed(INK, 'text')}"
        ),
    }
    group = ElementTree.SubElement(root, "g", {"fill": "transparent"})
    for x, y, x1, y1, title, link in marks:
        parent = ElementTree.SubElement(group, "a", {"href": link}) if link else group
        sides = {"x": x, "y": y, "width": x1 - x, "height": y1 - y}
        sides = {side: f"{length:.1f}" for side, length in sides.items()}
        mark = ElementTree.SubElement(parent, "rect", sides)
        ElementTree.SubElement(mark, "title").text = title
    return ElementTree.tostring(root, encoding="unicode")


def _for_page(element, referenced):
    """Round coordinates, leave font and needless ids out, and let the theme choose the colours."""
    element.tag = element.tag.removeprefix(_SVG)
    if element.get("id") not in referenced:
        element.attrib.pop("id", None)
    if _LINK in element.attrib:
        element.set("href", element.attrib.pop(_LINK))
    for key in _PLACES & element.attrib.keys():
        element.set(key, _LONG.sub(_rounded, element.get(key)))
    if "style" in element.attrib:
        style = _FONT.sub("", element.get("style"))
        element.set("style", _COLOUR.sub(lambda match: _themed(match[0], element.tag), style))


def _rounded(match):
    """A number with at most two decimals."""
    return f"{float(match[0]):.2f}".rstrip("0").rstrip(".")


def _themed(colour, tag):
    # White ground is the page's; white letters stand on colour.
    if colour == "#ffffff" and tag != "text":
        return "var(--figure-paper, #ffffff)"
    return f"var(--figure-{COLOURS[colour]}, {colour})" if colour in COLOURS else colour


def _marks(figure, height):
    """The marked rectangles in units of the drawing, each large enough for a finger."""
    if not hasattr(figure, "casebook_marks"):
        for axes in figure.axes:
            _title_drawn(axes)
    for axes, x, y, x1, y1, least, title, link in getattr(figure, "casebook_marks", []):
        corners = axes.transData.transform([(x, y), (x1, y1)]) * 72 / figure.dpi
        if np.isfinite(corners).all():
            half = np.maximum(np.abs(corners[1] - corners[0]), least) / 2
            left, bottom = corners.mean(axis=0) - half
            right, top = corners.mean(axis=0) + half
            yield left, height - top, right, height - bottom, str(title), link


def _title_drawn(axes):
    """Title points, bars and marked lines by the names of ticks, and by numbers where none has."""
    places = []
    for collection in axes.collections:
        points = np.ma.filled(collection.get_offsets(), np.nan)
        if hasattr(collection, "get_sizes"):
            places += [(*point, *point) for point in points]
    for line in axes.lines:
        if line.get_marker() not in {"None", None, ""}:
            places += [(*point, *point) for point in line.get_xydata()]
    for bar in chain.from_iterable(getattr(each, "patches", ()) for each in axes.containers):
        ends = (bar.get_x() + bar.get_width(), bar.get_y() + bar.get_height())
        places.append((bar.get_x(), bar.get_y(), *ends))
    for x, y, x1, y1 in places:
        title = f"{_tick_text(axes.yaxis, y, y1)}: {_tick_text(axes.xaxis, x, x1)}"
        hover(axes, [title], x, y, x1, y1)


def _tick_text(axis, start, end):
    """The name of the tick in the middle, or the end with the label of the axis."""
    names = {round(tick.get_loc()): tick.label1.get_text() for tick in axis.get_major_ticks()}
    if any(re.search(r"[^\W\d]{2}", name) for name in names.values()):
        return names.get(round(np.nan_to_num((start + end) / 2)), "")
    return f"{axis.get_label_text()} {decimal(end)}".strip()
