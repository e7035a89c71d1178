import nbformat
import pytest

from casebook.book.chapters import answer_first
from casebook.paths import NOTEBOOKS

SHOWN_AS_THEY_ARE = (  # which answer no question about a system
    "00_quick.ipynb",
    "13_published_figures.ipynb",
    "19_blind_study.ipynb",
    "20_power.ipynb",
    "21_second_opinion.ipynb",
)


def order(book):
    answer_first(book)
    return [cell.source for cell in book.cells if cell.id != "reading-order"]


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("[0-9]*.ipynb")), ids=str)
def test_every_chapter_opens_with_question_answer_and_figure(path):
    book = nbformat.read(path, 4)
    sources = [cell.source for cell in book.cells]
    assert sorted(order(book)) == sorted(sources)
    assert "**Question.**" in book.cells[0].source
    if path.name in SHOWN_AS_THEY_ARE:
        assert [cell.source for cell in book.cells] == sources
        return
    assert book.cells[1].source.partition("\n")[0].lower().endswith("answer")
    code = [cell.source for cell in book.cells if cell.cell_type == "code"]
    marks = {
        "answer": ["chapter.answers(", "Markdown(", "chapter.answer("],
        "figure": ["chapter.draw("],
        "table": ["chapter.show(", "chapter.display("],
    }
    answer, picture, table = (
        next(n for mark in names for n, source in enumerate(code) if mark in source)
        for names in marks.values()
    )
    assert answer <= picture <= table
