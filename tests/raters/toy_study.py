"""A small study of two systems, for the tests of forms and of their analysis."""

import pandas as pd

from casebook.raters.forms import Plan, make_forms
from casebook.raters.read import read_forms

SECRET = "5ec2e7" * 10
RATERS = {"r1": "lay", "r2": "lay", "r3": "expert", "r4": "expert"}


def read_form(path):
    (form,) = read_forms(path)
    return form


def toy_answers(count=12, systems=("grounded", "plain")):
    rows = [
        {
            "item_id": f"q{n}",
            "prompt": f"May clause {n} be waived?",
            "stratum": "odd" if n % 2 else "even",
            **{s: f"Answer {n}{'abc'[i]}: see s. {n}." for i, s in enumerate(systems)},
        }
        for n in range(count)
    ]
    return pd.DataFrame(rows)


def make_study(folder, count=12, **options):
    plan = Plan("pilot", RATERS, **options)
    make_forms(toy_answers(count), folder, plan, secret=SECRET)
    return folder
