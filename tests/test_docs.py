"""Links between the Markdown of the repository lead to a file, and to a heading of it."""

import json
import re

from casebook.paths import NOTEBOOKS, ROOT

LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)#?([^)\s]*)\)")
MADE = "generated/|documents/|run/"  # by a build, which is strict


def pages():
    """Yield each page of the repository and its text."""
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "book").rglob("*.md")]:
        yield path, path.read_text(encoding="utf-8")
    for path in NOTEBOOKS.glob("*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        text = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
        # The book has it in a folder below its own.
        yield ROOT / "book" / "run" / "notebooks" / path.name, "\n\n".join(text)


def headings(path):
    """Give the headings of a page as links name them."""
    titles = re.findall(r"(?m)^#+ (.+)$", path.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_no_link_of_the_repository_leads_nowhere():
    lost = []
    for path, text in pages():
        for target, heading in LINK.findall(re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.S)):
            if re.match(rf"(\.\./)*({MADE})", target):
                continue
            file = (path.parent / target).resolve() if target else path
            is_text = file.suffix == ".md" and heading
            if not file.exists() or (is_text and heading not in headings(file)):
                lost.append(f"{path.name}: {target}#{heading}")
    assert lost == []
