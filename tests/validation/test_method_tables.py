"""Tables of the methods pages are of this code, and what makes them is right itself."""

import ast

import numpy as np
import pandas as pd
import pytest
from agreement_coverage import COEFFICIENTS, pair_distribution, simulate, true_value
from annotated_texts import read_gold
from extraction import measured, read_passages, table_of
from preference_levels import CONDITIONS, book_table, false_positive_study
from unseen import measured as unseen_contradictions
from validation.mutations import places

from casebook.factcheck.stance import PublicJudge
from casebook.measures import agreement
from casebook.paths import ROOT
from casebook.raters.preference import NEW_RATERS, THESE_RATERS
from casebook.readers import read_jsonl


def shown(name):
    return pd.read_csv(ROOT / "book" / "methods" / f"{name}.csv")


def test_truth_is_what_large_studies_approach():
    ratings, severities = simulate(4, 0.5, np.random.default_rng(1), items=40_000)
    pairs = pair_distribution(severities)
    assert pairs.sum() == pytest.approx(1)
    found = agreement.agreement_results(ratings, n_resamples=0, coefficients=COEFFICIENTS)
    for name, result in found.items():
        assert abs(result.estimate - true_value(name, pairs)) < 4 * result.se


def test_raters_drawn_anew_are_the_mean_of_many_panels():
    severities = 0.5 * np.random.default_rng(0).standard_normal(300)
    many = pair_distribution(severities, nodes=20)
    np.testing.assert_allclose(many, pair_distribution(rater_sd=0.5), atol=0.01)
    alike = pair_distribution(np.zeros(3))
    np.testing.assert_allclose(alike, pair_distribution(rater_sd=0.0), atol=1e-12)


def test_both_intervals_of_agreement_hold_what_they_promise():
    table = shown("agreement_coverage")
    coverage = table["coverage"].str.split().str[0].astype(float)
    assert set(table["coefficient"]) == {agreement.COEFFICIENT_TITLES[c] for c in COEFFICIENTS}
    same = table["interval"].eq("this panel") & table["truth"].eq("this panel")
    assert coverage[same].between(0.93, 0.97).all()
    assert coverage[table["interval"].eq("new panel")].min() >= 0.94


@pytest.mark.faults
def test_each_line_on_a_preference_holds_in_the_scope_that_it_states():
    study = false_positive_study(studies=200)
    rejected = study.pivot_table("rejected", "condition", "test")
    same = ["votes independent", "items differ"]
    assert (rejected.loc[same, THESE_RATERS] <= 0.07).all()
    # Read as a statement on raters at large, the primary line rejects too often.
    assert rejected.loc["raters lean", THESE_RATERS] > 0.10
    assert (rejected[NEW_RATERS] <= 0.07).all()
    assert rejected.loc["items differ", "pooled sign"] > 0.08
    book = book_table(study)
    assert len(book) == len(CONDITIONS) and book.shape[1] == 4
    assert book[book.iloc[:, 0].str.startswith("raters lean (")][THESE_RATERS].item().endswith("*")


def test_extraction_is_as_the_page_says():
    table = table_of(read_gold())
    pd.testing.assert_frame_equal(shown("extraction"), table, check_dtype=False)
    pooled = table[table["kind of fact"] == "all"]
    assert (pooled["low"] > 5 * pooled["baseline"]).all()


@pytest.mark.faults
def test_the_default_judge_is_as_the_page_says():
    unseen = unseen_contradictions(PublicJudge())
    pd.testing.assert_frame_equal(shown("unseen"), unseen, check_dtype=False)


@pytest.mark.data
def test_passages_of_real_judgments_are_harder_than_our_texts(mirror):
    path = mirror / "fire2017_irled" / "prior_cases.jsonl.xz"
    texts = {row["id"]: row["text"] for _, row in read_jsonl(path, ["id", "text"])}
    real = measured([p for p in read_passages(texts) if p.split == "real_heldout"], "all")
    ours = shown("extraction").set_index(["texts", "kind of fact"])
    assert real["F1"] == pytest.approx(0.773, abs=5e-4)
    assert 5 * real["baseline"] < real["low"]
    assert real["F1"] < ours.loc[("ours, held out", "all"), "F1"]


def test_every_mutant_is_another_program():
    source = (ROOT / "lib/casebook/measures/rankshift.py").read_bytes()
    changes = [change for _, change in places(source)]
    programs = {
        ast.dump(ast.parse(source[:first] + new + source[last:])) for first, last, new in changes
    }
    assert ast.dump(ast.parse(source)) not in programs and len(changes) > 100
