"""A small study: answers of two systems, its forms, and the forms filled."""

import pytest
from openpyxl import load_workbook
from toy_study import make_study

from casebook.raters.simulate import fill_forms
from casebook.raters.unblinding import read_key


@pytest.fixture(scope="session")
def study(tmp_path_factory):
    """Give the folder of a study with forms in both formats."""
    folder = tmp_path_factory.mktemp("study") / "pilot"
    return make_study(folder, formats=("xlsx", "csv"))


@pytest.fixture(scope="session")
def returned(study, tmp_path_factory):
    """Give the four workbooks, filled."""
    return fill_forms(study, tmp_path_factory.mktemp("returned") / "back")


@pytest.fixture
def key(study):
    """Give the key of the study."""
    return read_key(study / "sealed" / "key.json")


@pytest.fixture
def edited(returned, tmp_path):
    """Give a function that changes one filled workbook and returns its path."""

    def edit(change, number=0):
        book = load_workbook(returned[number])
        change(book)
        path = tmp_path / returned[number].name
        book.save(path)
        return path

    return edit
