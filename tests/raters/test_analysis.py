"""The whole analysis: known figures of the example, planted truths, several systems."""

from dataclasses import replace

import numpy as np
import pytest
from toy_study import SECRET, toy_answers

from casebook.errors import InputError
from casebook.raters.analysis import Options, analyse, answer
from casebook.raters.documented import example_votes
from casebook.raters.forms import Plan, make_forms
from casebook.raters.read import find_key, open_forms, read_forms, registered_margin
from casebook.raters.simulate import Truth, fill_forms

QUICK = Options(resamples=300, permutations=19)


@pytest.fixture(scope="module")
def example():
    return analyse(example_votes(), options=QUICK)


def test_the_four_intervals_of_the_example(example):
    naive = example.win_rate("vote")
    assert (naive["win_rate"], naive["n"]) == (113 / 176, 176)
    item, both = example.win_rate("item"), example.win_rate("item and rater")
    assert naive["ci_low"] == pytest.approx(0.569, abs=0.001)
    # A bootstrap of items and raters gives [.46, .77]; four raters need Student's t.
    assert both["ci_low"] < 0.46 and both["ci_high"] > 0.77
    assert both["ci_low"] < 0.5 < item["ci_low"]
    assert example.win_rate("rater")["reason"] == "fewer_than_six_clusters"
    assert len(example.tables["intervals"]) == 8


def test_known_figures_of_the_example(example):
    tables = example.tables
    dependence = tables["dependence"].set_index("measure")
    assert dependence.loc["ICC(1) of votes on one item", "value"] == pytest.approx(0.19, abs=0.005)
    assert dependence.loc["design effect", "value"] == pytest.approx(1.57, abs=0.005)
    assert dependence["p"].dropna().iloc[0] == pytest.approx(0.009, abs=5e-4)
    lines = tables["lines"].set_index("scope")
    assert lines["p"].tolist() == pytest.approx([0.004258, 0.16529], abs=5e-6)
    assert lines["verdict"].tolist() == ["preferred", "undecided"]


def test_every_table_has_rows_or_a_reason(example):
    empty = {name for name, table in example.tables.items() if table.empty}
    assert empty == {"length", "telling_words", "defects"}  # no texts, no forms
    assert example.tables["arm_guess"].loc[0, "reason"] == "fewer_than_folds"
    assert example.tables["guesses"].loc[0, "reason"] == "not_asked"


def test_the_answer_says_number_interval_and_scope(example):
    text = "\n".join(answer(example))
    for part in (
        "Primary, for these 4 raters and new items: RAG wins 0.625 [0.544, 0.706]",
        "p = 0.0043: RAG is preferred",
        "For new raters as well: 0.625 [0.407, 0.843]; p = 0.17: undecided",
        "From 4 raters that cannot be checked",
        "176 untied",
    ):
        assert part in text
    assert "nan" not in text and "None" not in text


@pytest.mark.parametrize("preferred", ["S1", "Tie", None])
def test_a_panel_of_one_mind_is_analysed_without_failing(preferred):
    votes = example_votes()
    choice = {"S1": votes.frame["left"], "S2": votes.frame["right"]}.get(preferred)
    frame = votes.frame.assign(
        preferred=preferred, choice="Tie" if preferred == "Tie" else choice, factuality_left=3.0, factuality_right=3.0
    )
    frame.loc[0, ["preferred", "choice"]] = ["S1", frame.loc[0, "left"]]
    found = analyse(replace(votes, frame=frame), options=QUICK)
    assert len(answer(found)) >= 5 and "nan" not in " ".join(answer(found))
    rated = found.tables["rating_agreement"]
    assert rated.loc[0, "reason"]


def test_a_panel_of_two_raters_and_three_items_is_analysed():
    votes = example_votes()
    frame = votes.frame
    few = frame["item_id"].isin(["item01", "item02", "item03"])
    small = frame[few & frame["rater"].isin(["rater1", "rater2"])]
    votes = replace(votes, frame=small, raters=("rater1", "rater2"))
    found = analyse(votes, options=QUICK)
    assert found.panel.votes.shape == (3, 2)


def test_missing_votes_are_counted_in_every_table():
    votes = example_votes()
    gone = votes.frame.index % 7 == 0
    frame = votes.frame.copy()
    frame.loc[gone, ["preferred", "choice"]] = None
    found = analyse(replace(votes, frame=frame), options=QUICK)
    pooled = found.tables["preference"].set_index("rater").loc["pooled"]
    assert pooled["missing"] == gone.sum()
    assert pooled[["wins", "losses", "ties"]].sum() == 200 - gone.sum()


def test_a_planted_effect_is_found_from_forms_to_answer(tmp_path):
    plan = Plan("rehearsal", {f"r{n}": "lay" for n in range(5)}, margin=0.1)
    make_forms(toy_answers(40), tmp_path / "study", plan, secret=SECRET)
    truth = Truth(effect=1.5, item_sd=0.8, rater_sd=0.2, left=0.0)
    paths = fill_forms(tmp_path / "study", tmp_path / "back", truth, seed=3)
    votes = open_forms(read_forms(paths), tmp_path / "study")
    found = analyse(votes, options=QUICK)
    both = found.win_rate("item and rater")
    assert both["ci_low"] < truth.win_rate < both["ci_high"]
    assert both["ci_low"] > 0.5
    assert found.side().left_test.pvalue > 0.01
    assert registered_margin(tmp_path / "study") == (0.4, 0.6)


def test_a_planted_side_effect_is_found(tmp_path):
    plan = Plan("rehearsal", {f"r{n}": "lay" for n in range(4)})
    make_forms(toy_answers(50), tmp_path / "study", plan, secret=SECRET)
    truth = Truth(effect=0.0, item_sd=0.5, rater_sd=0.1, left=1.2)
    paths = fill_forms(tmp_path / "study", tmp_path / "back", truth, seed=1)
    found = analyse(open_forms(read_forms(paths), tmp_path / "study"), options=QUICK)
    assert found.side().left_test.pvalue < 0.001
    assert found.side().difference.low > 0.2
    # Balanced sides keep the side effect out of the win rate.
    rate = found.win_rate("item")
    assert rate["ci_low"] < truth.win_rate < rate["ci_high"]


def test_three_systems_are_held_against_each_other(tmp_path):
    answers = toy_answers(30, ("one", "two", "three"))
    plan = Plan("ranking", {f"r{n}": "lay" for n in range(4)}, focus="one", per_item=3)
    make_forms(answers, tmp_path / "study", plan, secret=SECRET)
    paths = fill_forms(tmp_path / "study", tmp_path / "back", Truth(1.5, 0.5, 0.1))
    votes = open_forms(read_forms(paths), tmp_path / "study")
    with pytest.raises(InputError, match="held against"):
        analyse(votes, options=QUICK)
    found = analyse(votes, "three", QUICK)
    assert found.panel.votes.shape == (30, 4)
    assert found.panel.votes.notna().sum().sum() == 90


def test_another_key_than_the_registered_one_is_refused(tmp_path):
    plan = Plan("pilot", {"r1": "lay", "r2": "lay"})
    folder = tmp_path / "study"
    make_forms(toy_answers(4), folder, plan, secret=SECRET)
    key = folder / "sealed" / "key.json"
    key.write_text(key.read_text().replace("grounded", "other"))
    with pytest.raises(InputError, match="not the key that was registered"):
        find_key(folder)


def test_simulated_truth_is_the_mean_of_the_votes():
    rng = np.random.default_rng(0)
    truth = Truth(0.7, 1.3, 0.5)
    odds = 0.7 + 1.3 * rng.normal(size=400_000) + 0.5 * rng.normal(size=400_000)
    assert truth.win_rate == pytest.approx((1 / (1 + np.exp(-odds))).mean(), abs=0.002)
