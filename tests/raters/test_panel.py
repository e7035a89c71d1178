"""Matrices, checks and agreement of a panel, on the example and on planted defects."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from casebook.errors import InputError
from casebook.raters import analysis as agreement_tables
from casebook.raters import analysis as checks
from casebook.raters import analysis as rater_checks
from casebook.raters import ratings as likert_tests
from casebook.raters.analysis import panel_of
from casebook.raters.blinding import guess_counts
from casebook.raters.documented import example_votes
from casebook.raters.read import read_forms, unblind


@pytest.fixture(scope="module")
def panel():
    return panel_of(example_votes())


def changed(**columns):
    votes = example_votes()
    return replace(votes, frame=votes.frame.assign(**columns))


def test_votes_and_ratings_stand_where_they_belong(panel):
    assert panel.votes.shape == (50, 4)
    assert (panel.votes == 1).sum().tolist() == [13, 28, 36, 36]
    assert panel.left.sum().tolist() == [18, 26, 24, 28]
    means = {k: round(float(t.mean().mean()), 3) for k, t in panel.ratings.items()}
    assert means == {
        ("factuality", "RAG"): 4.5,
        ("factuality", "BASE"): 3.955,
        ("usefulness", "RAG"): 4.225,
        ("usefulness", "BASE"): 3.95,
    }


def test_a_third_system_must_be_named():
    votes = replace(example_votes(), systems=("RAG", "BASE", "THIRD"))
    with pytest.raises(InputError, match="held against"):
        panel_of(votes)
    assert panel_of(votes, "BASE").votes.shape == (50, 4)
    with pytest.raises(InputError, match="no judgement"):
        panel_of(votes, "THIRD")


def test_texts_are_joined_by_system(returned, key):
    panel = panel_of(unblind(read_forms(returned), key))
    assert panel.texts["grounded"].str.contains("a:").all()
    assert panel.texts["plain"].str.contains("b:").all()


def test_positions_of_the_example(panel):
    table = checks.position_table(panel).set_index("rater")
    assert table.loc["all", "left_choice"] == pytest.approx(89 / 176)
    assert table.loc["all", "focus_left"] == pytest.approx(96 / 200)
    assert table["p_holm"].dropna().between(0, 1).all()


def test_a_panel_that_prefers_the_left_is_found():
    rows = example_votes().frame
    left = changed(preferred="S1", choice=rows["left"])
    table = checks.position_table(panel_of(left)).set_index("rater")
    assert table.loc["all", "left_choice"] == 1.0
    assert table.loc["all", "p"] < 1e-50
    assert table.loc["all", "difference"] == 1.0


def test_a_panel_that_prefers_length_is_found(returned, key):
    votes = unblind(read_forms(returned), key)
    rng = np.random.default_rng(0)
    longer = dict(zip(votes.frame["item_id"].unique(), rng.random(12) < 0.5, strict=True))
    item = votes.frame["item_id"].map(longer)
    focus_left = votes.frame["left"] == "grounded"
    texts = {
        "text_left": np.where(item == focus_left, "x" * 90, "x" * 40),
        "text_right": np.where(item == focus_left, "x" * 40, "x" * 90),
    }
    choice = np.where(item, "grounded", "plain")
    planted = replace(votes, frame=votes.frame.assign(choice=choice, **texts))
    table = checks.length_effect(panel_of(planted), n_boot=500).set_index("what")
    assert table.loc["votes for the longer answer, ties as half", "share"] == 1.0
    assert table.loc["votes for grounded where it is shorter", "share"] == 0.0


def test_length_is_not_made_up_where_texts_are_unknown(panel):
    assert checks.length_effect(panel).empty


def test_a_drift_is_found_and_its_absence_too(panel):
    rows = example_votes().frame
    late = np.where(rows["place"] > 25, "RAG", "BASE")
    drifting = checks.order_drift(panel_of(changed(choice=late)))
    votes = drifting[drifting["of"] == "vote"]
    assert (votes["rho"] > 0.8).all() and (votes["p_holm"] < 1e-6).all()
    constant = checks.order_drift(panel_of(changed(choice="RAG")))
    assert constant.loc[constant["of"] == "vote", "rho"].isna().all()


def test_the_example_has_no_copied_rater_and_a_copy_is_flagged(panel):
    table = rater_checks.duplicate_raters(panel).set_index(["rater_a", "rater_b"])
    assert table.loc[("rater3", "rater4"), "same_votes"] == 32 / 50
    assert not table["suspicious"].any()
    frame = example_votes().frame
    copy = frame[frame["rater"] == "rater3"].assign(rater="rater4")
    frame = pd.concat([frame[frame["rater"] != "rater4"], copy])
    votes = replace(example_votes(), frame=frame)
    table = rater_checks.duplicate_raters(panel_of(votes))
    flagged = table[table["suspicious"]]
    assert flagged[["rater_a", "rater_b"]].to_numpy().tolist() == [["rater3", "rater4"]]


@pytest.mark.parametrize(("items", "different", "flagged"), [(10, 0, True), (9, 0, False), (10, 2, False)])
def test_copies_are_flagged_above_four_fifths_of_ten_items(items, different, flagged):
    frame = example_votes().frame
    frame = frame[frame["rater"].isin(["rater3", "rater4"])]
    frame = frame[frame["item_id"] <= f"item{items:02d}"]
    three = frame[frame["rater"] == "rater3"]
    copy = three.assign(rater="rater4")
    changed = copy.index[:different]
    copy.loc[changed, "factuality_left"] = 6 - copy.loc[changed, "factuality_left"]
    copy.loc[changed, "usefulness_left"] = 9 - copy.loc[changed, "usefulness_left"]
    votes = replace(example_votes(), frame=pd.concat([three, copy]), raters=("rater3", "rater4"))
    assert rater_checks.duplicate_raters(panel_of(votes))["suspicious"].all() == flagged


def test_consistency_counts_every_judgement(panel):
    table = rater_checks.consistency(panel)
    sums = table[["agree", "contradict", "one_tied"]].sum(axis=1)
    assert (sums == table["n"]).all() and table["n"].sum() == 200


def test_strata_add_up(panel):
    rows = example_votes().frame
    odd = rows["item_id"].str[-1].isin(list("13579"))
    planted = changed(stratum=np.where(odd, "odd", "even"))
    table = checks.by_stratum(panel_of(planted), n_boot=200)
    assert table["wins"].sum() == 113 and table["items"].tolist() == [25, 25]
    assert checks.by_stratum(panel, n_boot=200).loc[0, "win_rate"] == 0.625


def test_guesses_are_counted_against_the_truth():
    rows = example_votes().frame
    right = np.where(rows["left"] == "RAG", "S1", "S2")
    counts = guess_counts(panel_of(changed(guess=right)))
    assert counts.tolist() == [[96, 0, 0], [0, 104, 0]]


def test_ratings_are_compared_by_item(panel):
    table = likert_tests.rating_tests(panel, n_boot=2000)
    assert table["difference"].round(3).tolist() == [0.545, 0.275]
    wider = (table["both high"] - table["both low"]) > (table["difference high"] - table["difference low"])
    assert wider.all() and (table["n"] == 50).all()
    raters = likert_tests.rater_rating_tests(panel)
    assert len(raters) == 8
    one = raters.set_index(["scale", "rater"]).loc[("factuality", "rater1")]
    assert one["difference"] == pytest.approx(4.26 - 4.36)


def test_missing_ratings_are_counted():
    frame = example_votes().frame
    gaps = frame["factuality_left"].where(frame["place"] > 5)
    panel = panel_of(changed(factuality_left=gaps))
    table = likert_tests.rating_means(panel, n_boot=200)
    assert table.groupby("scale")["missing"].sum().to_dict() == {"factuality": 20, "usefulness": 0}
    counts = likert_tests.rating_counts(panel)
    assert counts.groupby("scale")["count"].sum()["factuality"] == 380


def test_all_ratings_of_a_scale_may_be_missing():
    panel = panel_of(changed(factuality_left=np.nan, factuality_right=np.nan))
    table = likert_tests.rating_tests(panel, n_boot=200)
    assert table.loc[0, "n"] == 0 and table.loc[0, "p_holm"] is None
    alphas = agreement_tables.rating_agreement(panel, n_boot=20)
    assert alphas.loc[0, "alpha"] is None or np.isnan(alphas.loc[0, "alpha"])
    assert alphas.loc[0, "reason"]


def test_agreement_of_the_example(panel):
    table = agreement_tables.vote_agreement(panel, n_boot=50)
    found = table.set_index("coefficient")["estimate"]
    assert found["fleiss_kappa"] == pytest.approx(0.13015369243880234, abs=1e-15)
    assert found["percent_agreement"] == pytest.approx(0.5066666666666667, abs=1e-15)
    assert {"krippendorff_alpha_ordinal", "gwet_ac1", "conger_kappa"} <= set(found.index)
    pairs = agreement_tables.pairwise_agreement(panel, n_boot=20)
    assert len(pairs) == 6 * 3
    assert len(agreement_tables.without_each_rater(panel)) == 8
    shares = agreement_tables.vote_shares(panel).set_index("vote")["share"]
    assert shares.to_dict() == {"RAG": 0.565, "BASE": 0.315, "Tie": 0.12}
