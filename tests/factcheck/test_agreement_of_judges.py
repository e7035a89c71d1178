"""Agreement of judges against scikit-learn, and what they cost by hand."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

from casebook.factcheck.agreement import agreement_of_judges, costs_of_judges
from casebook.factcheck.unseen import not_compared
from casebook.factcheck.verdict import CLAIM_VERDICTS
from casebook.models.answers import money, prices_of_tokens


def verdicts(count, seed=0):
    rng = np.random.default_rng(seed)
    first = rng.choice(CLAIM_VERDICTS, count)
    second = np.where(rng.random(count) < 0.6, first, rng.choice(CLAIM_VERDICTS, count))
    return first.tolist(), second.tolist()


def judged(first, second, groups=None):
    """Give answers of two judges on one set, as `run_transfer` does."""
    groups = range(len(first)) if groups is None else groups
    frames = {"a": pd.DataFrame({"verdict": first}), "b": pd.DataFrame({"verdict": second})}
    return {"set": (pd.DataFrame({"group": groups}), frames)}


def agreed(*answers):
    (row,) = agreement_of_judges(judged(*answers), n_resamples=400).to_dict("records")
    return SimpleNamespace(**row)


def test_judges_are_resampled_with_their_claims_of_one_group():
    first, second = verdicts(20)
    groups = np.repeat(np.arange(20), 6)
    copies = np.repeat(first, 6), np.repeat(second, 6)
    clustered = agreed(*copies, groups)
    single = agreed(first, second)
    apart = agreed(*copies)
    assert clustered.value == pytest.approx(single.value)
    width = clustered.high - clustered.low
    assert width == pytest.approx(single.high - single.low, rel=0.2)
    assert width > 1.5 * (apart.high - apart.low)


def test_one_verdict_for_all_has_no_kappa():
    row = agreed(CLAIM_VERDICTS[:1] * 8, CLAIM_VERDICTS[:1] * 8)
    assert np.isnan(row.value) and row.reason == "no_variation"


@pytest.fixture
def answers():
    first, second = verdicts(30)
    second[0] = None
    by_judge = {
        name: pd.DataFrame({"verdict": column, "seconds": [0.001, 0.002, 0.003] * 10})
        for name, column in (("a", first), ("b", second), ("c", first))
    }
    return {"set": (pd.DataFrame({"group": range(30)}), by_judge)}


def test_a_claim_without_a_verdict_is_missing_from_its_pairs_only(answers):
    table = agreement_of_judges(answers, n_resamples=99).set_index(["system", "against"])
    assert table.index.tolist() == [("a", "b"), ("a", "c"), ("b", "c")]
    assert table["missing"].tolist() == [1, 0, 1]
    assert table["n"].tolist() == [29, 30, 29]
    by_judge = answers["set"][1]
    first = by_judge["a"]["verdict"][1:]
    second = by_judge["b"]["verdict"][1:]
    row = table.loc[("a", "b")]
    assert row["value"] == pytest.approx(cohen_kappa_score(first, second))
    assert row["agreed"] == pytest.approx((first == second).mean())
    assert row["low"] < row["value"] < row["high"]
    assert table.loc[("a", "c"), "value"] == 1


def test_costs_are_of_the_judges_that_were_asked(answers, monkeypatch):
    monkeypatch.setenv("CASEBOOK_LLM_PRICES", "2,10")
    costs = {
        "questions": 40,
        "from the cache": 10,
        "requests": 30,
        "prompt tokens": 3000,
        "answer tokens": 500,
    }
    asked = {"a": object(), "b": SimpleNamespace(costs=costs), "c": object()}
    table = costs_of_judges(answers, lambda name: asked).set_index("system")
    assert table["ms"].tolist() == [2, 2, 2]
    assert table["claims"].tolist() == [30, 30, 30]
    paid = table.loc["b", ["questions", "cached", "requests", "tokens"]].tolist()
    assert paid == [40, 10, 30, 3500]
    assert table.loc["b", "cost"] == pytest.approx(0.006 + 0.005)
    assert table.loc[["a", "c"], ["questions", "tokens", "cost"]].isna().all(axis=None)
    monkeypatch.delenv("CASEBOOK_LLM_PRICES")
    assert costs_of_judges(answers, lambda name: asked)["cost"].isna().all()
    assert money(costs | {"uncounted": 1}, (2, 10)) is None
    assert prices_of_tokens() is None


EVIDENCE = ["The tenant of the flat paid Mr Rao in March."]


@pytest.mark.parametrize(
    ("claim", "phrases"),
    [
        ("The tenant paid.", ()),
        (
            "The tenant paid gleefully.",
            ("words that neither the evidence nor a list has (gleefully)",),
        ),
        (
            "The tenant blithely gleefully merrily woefully ruefully dolefully glumly paid.",
            (
                "words that neither the evidence nor a list has "
                "(blithely, gleefully, merrily, woefully, ruefully and 2 more)",
            ),
        ),
        ("The tenant paid Mr Rao.", ("who did what to whom (Mr Rao, tenant)",)),
        ("The tenant must have paid.", ("may and must (must)",)),
        ("The tenant paid if able.", ("if and unless (if)",)),
    ],
)
def test_what_of_a_claim_was_compared_with_nothing_is_named(claim, phrases):
    assert not_compared(claim, EVIDENCE) == phrases
