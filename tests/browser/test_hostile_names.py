"""Names that others chose run nothing in a reader's browser."""

import nbformat
import pytest
import yaml
from small_book import ended, started, write_project

from casebook.files import write_text
from casebook.project import start_project

SCRIPT = '"><script>window.ran = 1</script><img src=x onerror="window.ran = 2">'
# A role, a link, a formula, and the end of a block of HTML.
MARKUP = "{raw}`x` [here](javascript:window.ran=3) $x$ ```\n:::::::\n```{raw} html\n<script>"
HOSTILE = f"B{SCRIPT}{MARKUP}</script>"
WORK = f"""import pandas as pd

from casebook.notebook import Chapter
from casebook.scores import Scores

hostile = {HOSTILE!r}
values = pd.DataFrame({{"s": [3, 4, 5, 5, 4, 5, 4], "a": [2, 2, 3, 4, 2, 4, 4]}})
about = {{"unit": hostile, "cluster": hostile, "title": hostile}}
about["names"] = {{"s": f"S {{hostile}}", "a": f"A {{hostile}}"}}
about["clusters"] = pd.Series(range(7))
scores = Scores(values, f"alpha of {{hostile}}", hostile, **about)
chapter = Chapter(run, cell, "made")
row = scores.contrasts([("s", "a")]).iloc[0]
for number in range(5):
    chapter.answer(
        f"Does {{number}} {{hostile}} agree?".replace("{{", "[").replace("}}", "]"),
        row,
        topic=hostile,
        label=f"{{number}} {{hostile}}",
        meaning=f"It means {{hostile}}",
    )
chapter.show(scores.contrasts([("s", "a")]))
from IPython.display import HTML, display

display(HTML("<p id='raw'>raw</p><script>window.ran = 4</script>"))"""

pytestmark = pytest.mark.faults


@pytest.fixture(scope="module")
def hostile_site(tmp_path_factory):
    """Give the site of a book whose title, author, systems, criteria and questions are hostile."""
    project = write_project(tmp_path_factory.mktemp("hostile") / "book")
    notebook = nbformat.read(project / "notebooks" / "01_made.ipynb", 4)
    notebook.cells.append(nbformat.v4.new_code_cell(WORK))
    nbformat.write(notebook, project / "notebooks" / "01_made.ipynb")
    name = " ".join(HOSTILE.split())
    begun = start_project(project.parent / "begun", name, name)
    configuration = yaml.safe_load((project / "_config.yml").read_text())
    begun_with = yaml.safe_load((begun / "_config.yml").read_text())
    configuration |= {key: begun_with[key] for key in ("title", "author")}
    write_text(project / "_config.yml", yaml.safe_dump(configuration))
    front = (begun / "book" / "index.md").read_text()
    write_text(project / "book" / "index.md", front)
    for command in ("run", "build"):
        code, _, err = ended(started(project, command, "--run", "mine"))
        assert code == 0, err
    return project / "_build" / "mine" / "html"


REFUSED = "Content Security Policy"


def test_no_name_runs_in_the_browser(hostile_site, tab):
    """Nor does what a notebook writes as HTML, which every page's policy keeps from running."""
    pages = [page for page in hostile_site.rglob("*.html") if page.parent.name != "_static"]
    assert {"index.html", "made.html", "search.html"} <= {page.name for page in pages}
    ran = {}
    for page in pages:
        tab.open(page.as_uri())
        made = tab.page.evaluate(
            """[window.ran, document.querySelector('[onerror], [href^="javascript:" i]')?.outerHTML]
               .filter(Boolean)"""
        )
        if page.name == "made.html":
            assert tab.page.inner_text("#raw") == "raw"
            assert len(tab.problems) == 1 and REFUSED in tab.problems[0]
            tab.problems.clear()
        if made or tab.problems:
            ran[page.name] = made + tab.problems
    assert ran == {}
