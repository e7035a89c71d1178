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
_SVG, _LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
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
_LEAST = 14  # points that a place to point at is wide and high


class Figure:
    """A figure that a notebook shows and the book prints: SVG, caption, downloads."""

    def __init__(self, drawn, caption, alt, downloads):
        self.drawn = drawn
        self.caption = caption
        self.alt = alt
        self.downloads = downloads

    def _repr_html_(self):
        """Give the HTML that Jupyter and the book show."""
        links = " · ".join(
            f'<a href="{html.escape(to)}" download>{name}</a>'
            for name, to in self.downloads.items()
        )
        return (
            f'<figure class="drawn"><div class="drawing">{self.drawn}</div>'
            f"<figcaption>{html.escape(self.caption)} <small>{links}</small></figcaption></figure>"
        )

    def __repr__(self):
        return f"<Figure: {self.caption}>"


def hover(axes, titles, x, y, x1=None, y1=None, addresses=None):
    """Say on hover what stands at each place, a point or a rectangle of the axes; an address makes it a link."""
    corners = (x, y, x if x1 is None else x1, y if y1 is None else y1)
    places = (np.broadcast_to(np.asarray(each, dtype=float), len(titles)) for each in corners)
    links = [None] * len(titles)
    if addresses is not None:
        links = [address if isinstance(address, str) else None for address in addresses]
    marks = axes.figure.__dict__.setdefault("casebook_marks", [])
    marks += [
        (axes, *place, title, link)
        for *place, title, link in zip(*places, titles, links, strict=True)
    ]


def as_svg(figure):
    """Draw a figure: the same bytes for the same figure, without a date."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()


def inline(svg, figure, name, alt):
    """Turn a drawn figure into SVG for a page, its ids unlike those of any other figure."""
    root = ElementTree.fromstring(svg)
    prefix = f"f{zlib.crc32(name.encode()):x}"
    used = {
        link
        for e in root.iter()
        for value in e.attrib.values()
        for link in re.findall(r"#([\w-]+)", value)
    }
    named = {}
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)
        if (known := element.attrib.pop("id", None)) in used:
            element.set("id", named.setdefault(known, f"{prefix}-{len(named)}"))
    for element in root.iter():
        _for_page(element, named)
    _flatten(root)
    width, height = (float(number) for number in root.get("viewBox").split()[2:])
    marks = list(_marks(figure, height))
    root.attrib = {
        "viewBox": root.get("viewBox"),
        "role": "group" if any(link for *_, link in marks) else "img",
        "aria-label": alt,
        "stroke-linejoin": "round",
        "style": f"width: 100%; min-width: {0.88 * width:.0f}px; max-width: {1.3 * width:.0f}px",
    }
    for x, y, x1, y1, title, link in marks:
        place = {"x": x, "y": y, "width": x1 - x, "height": y1 - y}
        within = ElementTree.SubElement(root, "a", {"href": link}) if link else root
        shape = {key: f"{value:.1f}" for key, value in place.items()} | {"fill": "transparent"}
        mark = ElementTree.SubElement(within, "rect", shape)
        ElementTree.SubElement(mark, "title").text = str(title)
    return ElementTree.tostring(root, encoding="unicode")


def _flatten(parent):
    """Leave out what describes the file, and groups that say nothing of what they hold."""
    held = []
    for child in list(parent):
        _flatten(child)
        bare = child.tag == "g" and not child.attrib
        if child.tag not in {"metadata", "style"} and (
            len(child) or (not bare and child.tag != "defs")
        ):
            held += list(child) if bare else [child]
    parent[:] = held


def _for_page(element, named):
    """Round places, rename ids, and let the theme choose the colours."""
    if (link := element.attrib.pop(_LINK, None)) is not None:
        element.set("href", f"#{named[link[1:]]}" if link[0] == "#" else link)
    if element.get("transform", "").startswith("rotate(-0 "):
        del element.attrib["transform"]
    for key in set(_PLACES) & set(element.attrib):
        element.set(
            key,
            _LONG.sub(
                lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), element.get(key)
            ),
        )
    if "clip-path" in element.attrib:
        element.set(
            "clip-path",
            re.sub(r"#([\w-]+)", lambda found: f"#{named[found[1]]}", element.get("clip-path")),
        )
    style = element.attrib.pop("style", "")
    style = re.sub(r"\s*font-family:[^;]*;?", "", style)  # the page's own
    style = re.sub(
        r"font: ([a-z ]*?)(\d+) ?([\d.]+px)[^;]*", r"font-weight: \2; font-size: \3", style
    )
    style = _COLOUR.sub(lambda found: _themed(found[0], element.tag), style)
    if element.tag == "text" and "fill" not in style:
        style += "; fill: currentColor"
    if style := style.strip("; "):
        element.set("style", style)
    if element.text and not element.text.strip():
        element.text = None
    if element.tail and not element.tail.strip():
        element.tail = None


def _themed(colour, tag):
    if (
        colour == "#ffffff" and tag != "text"
    ):  # white ground is the page's; white letters stand on colour
        return "var(--figure-paper, #ffffff)"
    return f"var(--figure-{COLOURS[colour]}, {colour})" if colour in COLOURS else colour


def _marks(figure, height):
    """Give the places to point at in the drawing's own units, each large enough for a finger."""
    if not hasattr(figure, "casebook_marks"):
        for axes in figure.axes:
            _found(axes)
    for axes, x, y, x1, y1, title, link in getattr(figure, "casebook_marks", []):
        corners = axes.transData.transform([(x, y), (x1, y1)]) * 72 / figure.dpi
        if not np.isfinite(corners).all():
            continue
        (left, bottom), (right, top) = corners.min(axis=0), corners.max(axis=0)
        wide, high = (max(0.0, _LEAST - size) / 2 for size in (right - left, top - bottom))
        yield left - wide, height - top - high, right + wide, height - bottom + high, title, link


def _found(axes):
    """Name the values of points, bars and marked lines where nothing was said about them."""
    for drawn in axes.collections:
        if hasattr(drawn, "get_sizes") and len(places := np.ma.filled(drawn.get_offsets(), np.nan)):
            _say(axes, *places.T)
    for line in axes.lines:
        if line.get_marker() not in {"None", None, ""}:
            _say(axes, *np.asarray(line.get_xydata(), dtype=float).T)
    for container in axes.containers:
        for bar in getattr(container, "patches", ()):
            _say(
                axes,
                [bar.get_x() + bar.get_width()],
                [bar.get_y() + bar.get_height()],
                [bar.get_x()],
                [bar.get_y()],
            )


def _say(axes, x, y, x1=None, y1=None):
    """Name each place by the ticks that have names, and by its numbers where they have none."""
    shown = [
        _tick_texts(axes.yaxis, y, y if y1 is None else y1),
        _tick_texts(axes.xaxis, x, x if x1 is None else x1),
    ]
    titles = [": ".join(filter(None, texts)) for texts in zip(*shown, strict=True)]
    hover(axes, titles, x, y, x1, y1)


def _tick_texts(axis, values, others):
    """Name values by the ticks halfway to the others, or write them with the label of the axis."""
    names = tick_names(axis)
    if names:
        return [
            names.get(round(place), "") if np.isfinite(place) else ""
            for place in np.add(values, others) / 2
        ]
    label = axis.get_label_text()
    return [f"{label} {value:.3f}".strip() if np.isfinite(value) else "" for value in values]


def tick_names(axis):
    """Give place and name of each tick of an axis, or nothing if its ticks are numbers."""
    ticks = {
        round(tick.get_loc()): " ".join(tick.label1.get_text().split())
        for tick in axis.get_major_ticks()
    }
    return ticks if any(re.search(r"[^\W\d]{2}", name) for name in ticks.values()) else {}
