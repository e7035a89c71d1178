"""Figures as accessible inline SVG: values on hover, colours of the reader's theme, downloads."""

import io
import re
from collections import namedtuple
from html import escape

import numpy as np

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
    "#ffffff": "paper",
}
# Inches at which letters of 11 points have the size of a caption, where a column is wide.
WIDE = 8.0
# Least scale of letters on a phone; a wider figure is scrolled within its frame.
_LEAST_SCALE = 0.93
_COLOUR = re.compile(f"({'|'.join(COLOURS)})")
# The page has its own style and font; ids that nothing refers to are the same in all figures; most
# letters are of one size and colour, and no screen shows thousandths of a point.
_NEEDLESS = re.compile(
    r' style="font-size: 11px; font-family: [^;]*; fill: #1b1b1b"'
    r'|\n\s*|<style.*?</style>|font-family: [^;]*; | id="[\w.]*[a-z]_\d+"|(?<=\d\.\d\d)\d+'
)


class Figure(namedtuple("Figure", "svg caption downloads finding narrow")):
    """A figure that a notebook shows and the book prints: finding, drawing, caption, downloads.

    ``narrow`` is the same drawing for a phone; None where ``svg`` is for both.
    """

    def _repr_html_(self):
        """The HTML that Jupyter and the book show."""
        downloads = self.downloads.items()
        links = " · ".join(
            f'<a href="{escape(to)}" download>{name}</a>' for name, to in downloads
        )
        if "<a xlink:href" in self.svg:
            links = f"Click a mark to see what is behind it. {links}"
        finding = (
            f'<p class="finding">{escape(self.finding)}</p>' if self.finding else ""
        )
        drawing = f'<div class="drawing">{self.svg}</div>'
        if self.narrow:
            drawing = f'<div class="drawing wide">{self.svg}</div>'
            drawing += f'<div class="drawing narrow" hidden>{self.narrow}</div>'
        caption = (
            f"<figcaption>{escape(self.caption)} <small>{links}</small></figcaption>"
        )
        return f'<figure class="drawn">{finding}{drawing}{caption}</figure>'

    def __repr__(self):
        return f"<Figure: {self.caption}>"


def hover(axes, titles, left, y, right, addresses):
    """Title points or lines from left to right, shown on hover; an address makes one a link."""
    marks = axes.figure.__dict__.setdefault("casebook_marks", [])
    for title, x, at, x1, link in zip(titles, left, y, right, addresses, strict=True):
        marks.append(
            {"axes": axes, "title": title, "ends": [(x, at), (x1, at)], "link": link}
        )


def as_svg(figure, name):
    """A figure as a file: the same bytes for the same figure and name, and ids of its own."""
    from matplotlib import rc_context

    buffer = io.BytesIO()
    about = dict.fromkeys(["Date", "Creator", "Format", "Type"])
    with rc_context({"svg.hashsalt": name}):
        figure.savefig(buffer, format="svg", metadata=about)
    return buffer.getvalue()


def views(svg, figure, name, alt, linked):
    """A drawn figure for a page: as wide as a column, and as it was drawn for a phone.

    A figure that was drawn wide is itself the first, and there is no second. Marks are links
    unless ``linked`` is false.
    """
    width, height = figure.get_size_inches()
    narrow = inline(svg, figure, alt, linked)
    if width >= WIDE:
        return narrow, None
    figure.set_size_inches(WIDE, height)
    wide = inline(as_svg(figure, f"{name}-wide"), figure, alt, linked)
    figure.set_size_inches(width, height)  # a cell may draw it again
    return wide, narrow


def inline(svg, figure, alt, linked):
    """A drawn figure as SVG for a page, with its marks above all that was drawn."""
    _, drawing, _ = re.split(r"<svg[^>]*>|</svg>", svg.decode())
    drawing = _NEEDLESS.sub("", drawing)
    width, height = figure.get_size_inches() * 72
    marks = "".join(_marks(figure, height, linked))
    role = "group" if "<a " in marks else "img"
    markup = (
        f'<svg viewBox="0 0 {width:g} {height:g}" role="{role}" aria-label="{escape(alt)}"'
        f' stroke-linejoin="round" style="width: 100%; min-width: {_LEAST_SCALE * width:.0f}px;'
        f' font-size: 11px; fill: {INK}">{drawing}<g fill="transparent">{marks}</g></svg>'
    )
    # The colour of the reader's theme, or where there is none, as it was drawn.
    return _COLOUR.sub(
        lambda found: f"var(--figure-{COLOURS[found[0]]}, {found[0]})", markup
    )


def _marks(figure, height, linked):
    """The marked rectangles in units of the drawing, each large enough for a finger."""
    for mark in getattr(figure, "casebook_marks", []):
        corners = mark["axes"].transData.transform(mark["ends"]) * 72 / figure.dpi
        if not np.isfinite(corners).all():
            continue
        size = np.maximum(np.abs(corners[1] - corners[0]), 14)  # points
        left, bottom = corners.mean(axis=0) - size / 2
        width, tall = size
        top = height - bottom - tall
        place = f'x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{tall:.1f}"'
        title = escape(str(mark["title"]))
        rectangle = f"<rect {place}><title>{title}</title></rect>"
        if linked and isinstance(mark["link"], str):
            # JupyterLab assigns to the href of each link that has one, and of SVG it is read-only.
            rectangle = f'<a xlink:href="{escape(mark["link"])}">{rectangle}</a>'
        yield rectangle
