"""Figures as accessible inline SVG: values on hover, colours of the reader's theme, downloads."""

import html
import io
import re
import zlib
from xml.etree import ElementTree

import numpy as np

# Colours that follow the theme (assets/custom.css); a figure drawn with others keeps them.
COLOURS = {
    "#0072b2": "blue",
    "#d55e00": "orange",
    "#009e73": "green",
    "#cc79a7": "pink",
    "#6b6b6b": "grey",
    "#1b1b1b": "ink",
    "#d4d4d4": "grid",
}
_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
INK = "#1b1b1b"  # of letters
_LETTERS = re.compile(rf"\s*(?:font-size: 11px|fill: {INK});?")
_LONG = re.compile(r"-?\d+\.\d{3,}(?:e-?\d+)?")
_PLACES = (
    "d",
    "x",
    "y",
    "x1",
    "x2",
    "y1",
    "y2",
    "width",
    "height",
    "transform",
    "points",
    "viewBox",
)
SMALLEST_MARK = 14  # points that a marked rectangle is wide and high at least
WIDE = 8.0  # inches: letters of 11 points have the size of a caption where a column is wide
_LEAST_SCALE = 0.93  # of letters on a phone; a wider figure is scrolled within its frame


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
        """Give the HTML that Jupyter and the book show."""
        links = " · ".join(
            f'<a href="{html.escape(to)}" download>{name}</a>'
            for name, to in self.downloads.items()
        )
        if "<a href" in self.svg:
            links = f"Marks lead to their items. {links}"
        finding = ""
        if self.finding:
            finding = f'<p class="finding">{html.escape(self.finding)}</p>'
        drawing = f'<div class="drawing">{self.svg}</div>'
        if self.narrow:
            drawing = (
                f'<div class="drawing wide">{self.svg}</div>'
                f'<div class="drawing narrow" hidden>{self.narrow}</div>'
            )
        return (
            f'<figure class="drawn">{finding}{drawing}'
            f"<figcaption>{html.escape(self.caption)} <small>{links}</small></figcaption></figure>"
        )

    def __repr__(self):
        return f"<Figure: {self.caption}>"


def hover(axes, titles, x, y, x1=None, y1=None, addresses=None, least=SMALLEST_MARK):
    """Title points or rectangles of the axes, shown on hover; an address makes one a link.

    Each is at least so many points wide and high; 0 where bars stand side by side.
    """
    corners = (x, y, x if x1 is None else x1, y if y1 is None else y1)
    coordinates = (np.broadcast_to(np.asarray(corner, float), len(titles)) for corner in corners)
    links = [None] * len(titles)
    if addresses is not None:
        links = [address if isinstance(address, str) else None for address in addresses]
    marks = axes.figure.__dict__.setdefault("casebook_marks", [])
    marks += [
        (axes, *corners, least, title, link)
        for *corners, title, link in zip(*coordinates, titles, links, strict=True)
    ]


def as_svg(figure):
    """Draw a figure: the same bytes for the same figure, without a date."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def views(svg, figure, name, alt):
    """Give a drawn figure for a page: as wide as a column, and as it was drawn for a phone.

    A figure that was drawn wide is itself the first, and there is no second.
    """
    width, height = figure.get_size_inches()
    narrow = inline(svg, figure, name, alt)
    if width >= WIDE:
        return narrow, None
    figure.set_size_inches(WIDE, height)
    wide = inline(as_svg(figure), figure, f"{name}-wide", alt)
    figure.set_size_inches(width, height)  # a cell may draw it again
    return wide, narrow


def inline(svg, figure, name, alt):
    """Turn a drawn figure into SVG for a page, its ids unlike those of any other figure."""
    root = ElementTree.fromstring(svg)
    prefix = f"f{zlib.crc32(name.encode()):x}"
    referenced = set()
    for element in root.iter():
        for value in element.attrib.values():
            referenced.update(re.findall(r"#([\w-]+)", value))
    new_ids = {}
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)
        old_id = element.attrib.pop("id", None)
        if old_id in referenced:
            element.set("id", new_ids.setdefault(old_id, f"{prefix}-{len(new_ids)}"))
    for element in root.iter():
        _for_page(element, new_ids)
    _flatten(root)
    width, height = (float(number) for number in root.get("viewBox").split()[2:])
    marks = list(_marks(figure, height))
    root.attrib = {
        "viewBox": root.get("viewBox"),
        "role": "group" if any(link for *_, link in marks) else "img",
        "aria-label": alt,
        "stroke-linejoin": "round",
        "style": (
            f"width: 100%; min-width: {_LEAST_SCALE * width:.0f}px; font-size: 11px; "
            f"fill: {_themed(INK, 'text')}"
        ),
    }
    marks_group = ElementTree.SubElement(root, "g", {"fill": "transparent"}) if marks else None
    for x, y, x1, y1, title, link in marks:
        parent = marks_group
        if link:
            parent = ElementTree.SubElement(marks_group, "a", {"href": link})
        shape = {
            "x": f"{x:.1f}",
            "y": f"{y:.1f}",
            "width": f"{x1 - x:.1f}",
            "height": f"{y1 - y:.1f}",
        }
        mark = ElementTree.SubElement(parent, "rect", shape)
        ElementTree.SubElement(mark, "title").text = str(title)
    return ElementTree.tostring(root, encoding="unicode")


def _flatten(parent):
    """Leave out what describes the file, and groups without attributes, but not their children."""
    children = []
    for child in list(parent):
        _flatten(child)
        if child.tag in {"metadata", "style"}:
            continue
        if child.tag == "g" and not child.attrib:
            children += list(child)
        elif len(child) or child.tag != "defs":
            children.append(child)
    parent[:] = children


def _for_page(element, new_ids):
    """Round coordinates, rename ids, and let the theme choose the colours."""
    link = element.attrib.pop(_LINK, None)
    if link is not None:
        element.set("href", f"#{new_ids[link[1:]]}" if link[0] == "#" else link)
    if element.get("transform", "").startswith("rotate(-0 "):
        del element.attrib["transform"]
    for key in set(_PLACES) & set(element.attrib):
        element.set(key, _LONG.sub(_rounded, element.get(key)))
    if "clip-path" in element.attrib:
        clip_path = element.get("clip-path")
        old_id = re.search(r"#([\w-]+)", clip_path)[1]
        element.set("clip-path", clip_path.replace(f"#{old_id}", f"#{new_ids[old_id]}"))
    style = element.attrib.pop("style", "")
    style = re.sub(r"\s*font-family:[^;]*;?", "", style)  # the page's own
    style = re.sub(
        r"font: ([a-z ]*?)(\d+) ?([\d.]+px)[^;]*", r"font-weight: \2; font-size: \3", style
    )
    if element.tag == "text":  # what the drawing has for all its letters
        style = _LETTERS.sub("", style)
    style = _COLOUR.sub(lambda match: _themed(match[0], element.tag), style).strip("; ")
    if style:
        element.set("style", style)
    if element.text and not element.text.strip():
        element.text = None
    if element.tail and not element.tail.strip():
        element.tail = None


def _rounded(match):
    """A number with at most two decimals."""
    return f"{float(match[0]):.2f}".rstrip("0").rstrip(".")


def _themed(colour, tag):
    # White ground is the page's; white letters stand on colour.
    if colour == "#ffffff" and tag != "text":
        return "var(--figure-paper, #ffffff)"
    return f"var(--figure-{COLOURS[colour]}, {colour})" if colour in COLOURS else colour


def _marks(figure, height):
    """Give the marked rectangles in units of the drawing, each large enough for a finger."""
    if not hasattr(figure, "casebook_marks"):
        for axes in figure.axes:
            _title_values(axes)
    for axes, x, y, x1, y1, least, title, link in getattr(figure, "casebook_marks", []):
        corners = axes.transData.transform([(x, y), (x1, y1)]) * 72 / figure.dpi
        if not np.isfinite(corners).all():
            continue
        left, bottom = corners.min(axis=0)
        right, top = corners.max(axis=0)
        pad_x = max(0.0, least - (right - left)) / 2
        pad_y = max(0.0, least - (top - bottom)) / 2
        yield (
            left - pad_x,
            height - top - pad_y,
            right + pad_x,
            height - bottom + pad_y,
            title,
            link,
        )


def _title_values(axes):
    """Title the points, bars and marked lines of axes by their values."""
    for collection in axes.collections:
        if hasattr(collection, "get_sizes"):
            offsets = np.ma.filled(collection.get_offsets(), np.nan)
            if len(offsets):
                _title_by_ticks(axes, *offsets.T)
    for line in axes.lines:
        if line.get_marker() not in {"None", None, ""}:
            _title_by_ticks(axes, *np.asarray(line.get_xydata(), dtype=float).T)
    for container in axes.containers:
        for bar in getattr(container, "patches", ()):
            _title_by_ticks(
                axes,
                [bar.get_x() + bar.get_width()],
                [bar.get_y() + bar.get_height()],
                [bar.get_x()],
                [bar.get_y()],
            )


def _title_by_ticks(axes, x, y, x1=None, y1=None):
    """Title each mark by the ticks that have names, and by its numbers where they have none."""
    y_texts = _tick_texts(axes.yaxis, y, y if y1 is None else y1)
    x_texts = _tick_texts(axes.xaxis, x, x if x1 is None else x1)
    titles = [": ".join(filter(None, texts)) for texts in zip(y_texts, x_texts, strict=True)]
    hover(axes, titles, x, y, x1, y1)


def _tick_texts(axis, values, others):
    """Name values by the ticks halfway to the others, or write them with the label of the axis."""
    names = tick_names(axis)
    if names:
        centres = np.add(values, others) / 2
        return [names.get(round(centre), "") if np.isfinite(centre) else "" for centre in centres]
    label = axis.get_label_text()
    return [f"{label} {value:.3f}".strip() if np.isfinite(value) else "" for value in values]


def tick_names(axis):
    """Give position and name of each tick of an axis, or nothing if its ticks are numbers."""
    ticks = {
        round(tick.get_loc()): " ".join(tick.label1.get_text().split())
        for tick in axis.get_major_ticks()
    }
    return ticks if any(re.search(r"[^\W\d]{2}", name) for name in ticks.values()) else {}
