"""The whole analysis: known figures of the example, planted truths and defects, several systems."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score
from toy_study import SECRET, toy_answers

from casebook.errors import InputError
from casebook.raters import preference
from casebook.raters.analysis import analyse, answer_lines, length_effect, panel_of
from casebook.raters.documented import example_votes
from casebook.raters.forms import Plan, make_forms
from casebook.raters.read import read_forms
from casebook.raters.simulate import Truth, fill_forms
from casebook.raters.unblinding import open_forms

QUICK = {"n_resamples": 300, "permutations": 19}


def changed(**columns):
    votes = example_votes()
    return votes._replace(frame=votes.frame.assign(**columns))


@pytest.fixture(scope="module")
def example():
    return analyse(example_votes(), **QUICK)


@pytest.fixture(scope="module")
def panel(example):
    return example.panel


# --- the example ------------------------------------------------------------------


def test_known_figures_of_the_example(example):
    lines = example.tables["win_rates"].tail(2)
    # Of all sign patterns p is .004258, counted by hand.
    assert lines["p"].tolist() == pytest.approx([0.004258, 0.16529], abs=0.004)
    assert lines["verdict"].tolist() == ["better", "undecided"]


def test_agreement_of_the_example(example):
    found = example.tables["agreement"].set_index("coefficient")["estimate"]
    assert found["fleiss_kappa"] == pytest.approx(0.13015369243880234, abs=1e-14)
    assert found["percent_agreement"] == pytest.approx(0.5066666666666667, abs=1e-14)
    assert {"krippendorff_alpha_ordinal", "gwet_ac1", "gwet_ac2", "conger_kappa"} <= set(
        found.index
    )
    votes = example.panel.votes
    pairs = example.tables["cohen_kappa"].set_index(["rater", "and rater", "coefficient"])
    row = pairs.loc[("rater1", "rater2", "cohen_kappa_linear")]
    peer = cohen_kappa_score(votes["rater1"], votes["rater2"], weights="linear")
    assert len(pairs) == 18 and row["estimate"] == pytest.approx(peer, abs=1e-12)
    assert row["panel_low"] < row["estimate"] < row["panel_high"]


# --- small, uniform and incomplete panels ------------------------------------------------


@pytest.mark.parametrize("preferred", ["S1", "Tie", None])
def test_a_panel_of_one_mind_is_analysed_without_failing(preferred):
    votes = changed(preferred=preferred, factuality_left=3.0, factuality_right=3.0)
    choice = {"S1": votes.frame["left"], "Tie": "Tie"}.get(preferred)
    frame = votes.frame.assign(choice=choice)
    frame.loc[0, ["preferred", "choice"]] = ["S1", frame.loc[0, "left"]]
    found = analyse(votes._replace(frame=frame), **QUICK)
    assert len(answer_lines(found)) == 3 and "nan" not in " ".join(answer_lines(found))
    assert found.tables["rating_agreement"].loc[0, "alpha reason"]


# --- validity ------------------------------------------------------------------


def test_positions_of_the_example_and_of_a_panel_that_prefers_the_left(panel):
    for_left = panel_of(changed(choice=example_votes().frame["left"]))
    tables = [preference.position_effect(each.votes, each.left) for each in (panel, for_left)]
    example, left = (table.iloc[0] for table in tables)
    assert example["value"] == pytest.approx(89 / 176)
    assert left["value"] == 1.0
    assert left["p"] < 1e-50


# --- from forms to the answer ------------------------------------------------------------


def rehearsed(folder, truth, items, raters, seed, systems=("grounded", "plain"), **plan):
    plan = Plan("rehearsal", {f"r{n}": "lay" for n in range(raters)}, **plan)
    make_forms(toy_answers(items, systems), folder / "study", plan, secret=SECRET)
    paths = fill_forms(folder / "study", folder / "back", truth, seed=seed)
    return open_forms(read_forms(paths), folder / "study")


@pytest.mark.parametrize(
    ("truth", "items", "raters", "seed"),
    [
        (Truth(effect=1.5, item_sd=0.8, rater_sd=0.2), 40, 5, 3),
        (Truth(effect=0.0, item_sd=0.5, rater_sd=0.1), 50, 4, 1),
    ],
)
def test_a_planted_truth_is_found_from_forms_to_answer(tmp_path, truth, items, raters, seed):
    found = analyse(rehearsed(tmp_path, truth, items, raters, seed), **QUICK)
    both = found.tables["win_rates"].iloc[-1]
    share = (1 - truth.ties) * truth.win_rate + truth.ties / 2
    assert both["low"] < share < both["high"]
    assert (both["low"] > 0.5) == (truth.effect > 0.5)
    spread = np.hypot(truth.item_sd, truth.rater_sd)
    odds = truth.effect + spread * np.random.default_rng(0).normal(size=400_000)
    assert truth.win_rate == pytest.approx((1 / (1 + np.exp(-odds))).mean(), abs=0.002)


def test_three_systems_are_held_against_each_other(tmp_path):
    votes = rehearsed(
        tmp_path, Truth(1.5, 0.5, 0.1), 30, 4, 0, ("one", "two", "three"), focus="one", per_item=3
    )
    for other, message in ((None, "held against"), ("none", "held against")):
        with pytest.raises(InputError, match=message):
            analyse(votes, other, **QUICK)
    found = analyse(votes, "three", **QUICK)
    assert found.panel.votes.shape == (30, 4) and found.panel.votes.notna().sum().sum() == 90
    with pytest.raises(InputError, match="no judgement"):
        panel_of(example_votes()._replace(systems=("RAG", "BASE", "THIRD")), "THIRD")


def test_votes_for_the_longer_answer_by_hand(panel):
    """Of four items the second has answers of one length; ties are half."""
    lengths = pd.DataFrame({"RAG": [9, 5, 2, 7], "BASE": [3, 5, 8, 1]}, index=list("abcd"))
    votes = pd.DataFrame([[1, 1], [1, 1], [-1, 1], [0, -1]], list("abcd"), ["r1", "r2"], float)
    part = panel._replace(votes=votes, texts=lengths.map(lambda length: "x" * length))
    row = length_effect(part, n_resamples=100).iloc[0]
    # a: 2 of 2 for the longer one; c: 1 of 2; d: 0.5 of 2.
    assert (row["value"], row["n"]) == (pytest.approx((1 + 1 / 2 + 1 / 4) / 3), 3)
