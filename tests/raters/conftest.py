"""A small study: answers of two systems, its forms, and the forms filled."""

import pandas as pd
import pytest
from openpyxl import load_workbook

from casebook.raters.forms import Plan, make_forms
from casebook.raters.sealing import read_key
from casebook.raters.simulated import fill_forms

SECRET = "5ec2e7" * 10
RATERS = {"r1": "lay", "r2": "lay", "r3": "expert", "r4": "expert"}


def toy_answers(count=12, systems=("grounded", "plain")):
    rows = [
        {
            "item_id": f"q{n}",
            "prompt": f"May clause {n} be waived?",
            "stratum": "odd" if n % 2 else "even",
            **{
                s: f"Answer {n}{'ab'[i % 2]}: see s. {n}."
                for i, s in enumerate(systems)
            },
        }
        for n in range(count)
    ]
    return pd.DataFrame(rows)


def make_study(folder, count=12, **options):
    plan = Plan("pilot", RATERS, **options)
    make_forms(toy_answers(count), folder, plan, secret=SECRET)
    return folder


@pytest.fixture(scope="session")
def study(tmp_path_factory):
    """Give the folder of a study with forms in both formats."""
    folder = tmp_path_factory.mktemp("study") / "pilot"
    return make_study(folder, formats=("xlsx", "csv"))


@pytest.fixture(scope="session")
def returned(study, tmp_path_factory):
    """Give the four workbooks, filled."""
    return fill_forms(study, tmp_path_factory.mktemp("returned"))


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
