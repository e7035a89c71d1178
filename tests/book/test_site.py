"""What the site leaves out is what no page needs; a figure keeps its looks."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image

from casebook.book.build import finish

HEAD = (
    '<script defer src="_static/scripts/fontawesome.js?digest=1"></script>\n'
    '<script defer="defer" src="_static/mathjax/tex-chtml.js"></script>'
    '<script defer="defer" src="_static/tables.js"></script>'
)


@pytest.fixture
def site(tmp_path):
    """Give a site with a page with a formula, one without, and a coloured figure."""
    (tmp_path / "_images").mkdir()
    (tmp_path / "_static" / "mathjax").mkdir(parents=True)
    for name in ("tex-chtml.js", "tex-chtml-full.js", "tex-svg.js", "core.js"):
        (tmp_path / "_static" / "mathjax" / name).touch()
    (tmp_path / "plain.html").write_text(HEAD + '<p class="tex2jax_ignore">')
    (tmp_path / "formula.html").write_text(HEAD + '<span class="math notranslate">')
    figure, axes = plt.subplots()
    shades = np.linspace(0, 1, 30)
    axes.bar(range(30), shades, color=plt.get_cmap("viridis")(shades), alpha=0.7)
    axes.set_title("thirty colours and the greys of letters")
    figure.savefig(tmp_path / "_images" / "bars.png")
    plt.close(figure)
    return tmp_path


def test_scripts_stay_where_a_page_needs_them(site):
    finish("smoke", site)
    plain, formula = ((site / f"{n}.html").read_text() for n in ("plain", "formula"))
    assert "fontawesome" not in plain + formula
    assert "mathjax" not in plain and "mathjax" in formula
    assert "tables.js" in plain and "tables.js" in formula
    left = [path.name for path in (site / "_static" / "mathjax").iterdir()]
    assert left == ["tex-chtml.js"]
    assert (site / "figures").is_dir() and (site / "numbers.json").is_file()


def test_a_figure_looks_the_same_with_fewer_bytes(site):
    path = site / "_images" / "bars.png"
    with Image.open(path) as picture:
        before, size = np.asarray(picture.convert("RGB"), int), path.stat().st_size
    finish("smoke", site)
    with Image.open(path) as picture:
        after = np.asarray(picture.convert("RGB"), int)
    assert path.stat().st_size < 0.7 * size
    assert np.abs(after - before).mean() < 0.5
    assert np.quantile(np.abs(after - before), 0.999) < 16


def test_a_figure_with_a_transparent_ground_is_left_alone(site):
    path = site / "_images" / "clear.png"
    Image.new("RGBA", (4, 4), (0, 0, 0, 0)).save(path)
    before = path.read_bytes()
    finish("smoke", site)
    assert path.read_bytes() == before
