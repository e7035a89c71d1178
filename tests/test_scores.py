"""Rows say what they are of, words are made of rows, and what was not run is not passed over."""

import json

import numpy as np
import pandas as pd
import pytest
from statsmodels.regression.linear_model import OLS

from casebook import paths
from casebook.errors import InputError
from casebook.frames import contrasts, estimates
from casebook.notebook import Chapter, forest
from casebook.scores import Choice, Scores, pair
from casebook.sentences import caption, finding, labels, sentence
from casebook.verdicts import WORSE

NAMES = {"new": "New system", "old": "Old system", "twin": "Twin of old"}
PHRASES = {"new": "the new system", "old": "the old system"}
RESAMPLING = {"n_resamples": 500, "seed": 0}


def made(n=40, measure="points", **settings):
    """Scores of three systems: the new one is better by .3, the twin is the old one and noise."""
    draws = np.random.default_rng(0)
    old = draws.uniform(0, 0.6, n)
    values = pd.DataFrame({"new": old + 0.3 + draws.normal(0, 0.05, n), "old": old})
    values["twin"] = old + draws.normal(0, 0.05, n)
    about = {"title": "An exam", "unit": "pupils", "names": NAMES, "phrases": PHRASES}
    return Scores(values, measure, "exam", **about | RESAMPLING | settings)


@pytest.fixture
def chapter(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    return Chapter("scratch", "mine", "my_question")


@pytest.fixture
def written(tmp_path):
    """Give what the chapter wrote of a kind."""
    return lambda kind: json.loads((tmp_path / "scratch" / kind / "mine.json").read_text())


def test_rows_are_those_of_estimates_and_contrasts():
    scores = made(margin=0.1)
    columns = ["difference", "low", "high", "p_adjusted", "verdict"]
    pairs = [("new", "old"), ("twin", "old")]
    expected = contrasts(scores.values, pairs, margin=0.1, **RESAMPLING)
    pd.testing.assert_frame_equal(scores.contrasts(pairs)[columns], expected[columns])
    expected = estimates(scores.values, **RESAMPLING)[["value", "low", "high", "n"]]
    pd.testing.assert_frame_equal(scores.estimates()[["value", "low", "high", "n"]], expected)


def test_the_margin_is_that_of_the_measure():
    assert made(measure="nDCG@3").contrasts([("new", "old")])["margin"].tolist() == [0.01]
    assert made().contrasts([("new", "old")])["margin"].tolist() == [0]


@pytest.mark.parametrize(
    ("system", "words"),
    [
        ("new", "The new system has a higher points than the old system: "),
        ("twin", "Twin of old and the old system hardly differ in points: "),
    ],
)
def test_a_sentence_has_the_verdict_and_the_names_of_the_row(system, words):
    assert sentence(made(margin=0.1).contrasts([(system, "old")]).iloc[0]).startswith(words)


def test_another_measure_or_baseline_changes_every_word():
    rows = made(measure="marks").contrasts([("old", "new")])
    for text in (sentence(rows.iloc[0]), finding(rows), caption(rows)):
        assert "points" not in text and "marks" in text
    assert finding(rows) == "In marks, the old system is below the new system."


def test_a_pair_that_was_not_run_is_refused_by_name():
    with pytest.raises(InputError, match="New system against other: other was not run"):
        made().contrasts([("new", "other")])
    with pytest.raises(InputError, match="new against twin is none of the 1 pairs"):
        pair(made().contrasts([("new", "old")]), "new", "twin")
    with pytest.raises(InputError, match="there is no score of odl"):
        made().best(["new"], unless="odl")


def test_a_pair_that_was_not_run_is_said_and_is_no_part_of_the_family(chapter, written):
    rows = made().contrasts([("new", "other"), ("new", "old")], absent="say")
    assert rows["verdict"].tolist() == ["cannot be measured", "better"]
    assert "other was not run" in sentence(rows.iloc[0])
    assert caption(rows).endswith("Not run, and so not compared: other.")
    whole = made().contrasts([("new", "old")])
    assert rows.iloc[1]["p_adjusted"] == whole.iloc[0]["p_adjusted"]
    chapter.keep(rows)
    assert len(written("contrasts")["my_question"]["exam"]["points"]) == 1
    nothing = made().contrasts([("new", "other")], absent="say")
    assert caption(nothing) == "Not run, and so not compared: other."


def test_the_best_says_how_it_was_chosen():
    choice = made().best(["old", "twin"], "rivals")
    assert choice.role == "the best of 2 rivals by mean points on 40 pupils"
    row = made().contrasts([("new", choice)]).iloc[0]
    assert choice.role in sentence(row)
    further = choice._replace(role="the best of 3 others")
    pairs = [("new", choice.system), ("new", choice), ("new", further)]
    (row,) = made().contrasts(pairs).to_dict("records")
    assert row["role"] == f"{choice.role} and {further.role}"
    assert made().best(["old"], unless="twin") == Choice("twin", "")


def test_one_comparison_has_one_verdict_wherever_it_is_shown():
    """Planned pairs keep their test beside all others, which are one other family."""
    scores = made()
    planned = scores.contrasts([("new", "old")])
    pairs = scores.pairs(planned)
    assert pairs["family"].tolist() == ["planned", "other", "other"]
    assert pairs.iloc[0]["p_adjusted"] == planned.iloc[0]["p_adjusted"]
    assert caption(pairs).count("Corrected for 1 or 2 comparisons.") == 1
    ranking = scores.ranking(pairs)
    assert ranking["tie_class"].tolist() == ["1", "2", "2"]
    assert "not shown to be lower: none." in finding(ranking)


def test_the_same_input_is_not_measured_and_equal_scores_are_no_difference():
    values = made().values.assign(same=lambda frame: frame["old"])
    scores = Scores(values, "points", "exam", **RESAMPLING)
    (row,) = scores.contrasts([("same", "old")]).to_dict("records")
    assert (row["verdict"], row["reason"]) == ("no difference", "no_unit_differs")
    known = Scores(values, "points", "exam", same_input=lambda pairs: dict.fromkeys(pairs, "equal"))
    (row,) = known.contrasts([("same", "old")]).to_dict("records")
    assert (row["verdict"], row["reason"]) == ("cannot be measured", "equal")


def test_parts_have_their_own_rows():
    parts = made().by({pupil: "first" if pupil < 30 else "rest" for pupil in range(40)})
    frames = [part.contrasts([("new", "old")]) for part in parts.values()]
    rows = pd.concat(frames, ignore_index=True)
    assert rows["n"].tolist() == [30, 10]
    assert rows["dataset"].tolist() == ["exam_first", "exam_rest"]
    assert list(labels(rows)) == ["first", "rest"]


@pytest.mark.parametrize("groups", [4, 10, 40])
def test_a_difference_between_kinds_of_units_is_least_squares_with_clustered_errors(groups):
    scores = made(clusters=pd.Series(np.arange(40) % groups), cluster="schools")
    first = pd.Series(np.arange(40) < 15)
    rows = scores.between(first, "young", "old")
    codes = np.arange(40) if groups < 6 else np.arange(40) % groups
    for system, row in zip(scores.values, rows.to_dict("records"), strict=True):
        model = OLS(scores.values[system], np.column_stack([np.ones(40), first]))
        fit = model.fit(cov_type="cluster", cov_kwds={"groups": codes}, use_t=True)
        expected = [fit.params.iloc[1], *fit.conf_int().iloc[1]]
        assert [row["difference"], row["low"], row["high"]] == pytest.approx(expected)
        assert row["reason"] == ("interval_by_unit" if groups < 6 else None)
    assert rows["system"].tolist() == ["new, young", "old, young", "twin, young"]
    assert "Not corrected for 3 comparisons." in caption(rows)
    assert list(labels(rows)) == ["New system", "Old system", "Twin of old"]
    text = "In points, young pupils are not shown to differ from old pupils for the new system, "
    assert finding(rows) == f"{text}the old system and Twin of old."
    with pytest.raises(InputError, match="all pupils are young"):
        scores.between(first | True, "young", "old")


def test_places_are_those_of_the_null():
    rows = made().estimates(null=0.3)
    expected = "Points is above 0.3 for New system; not shown to differ from 0.3 for "
    assert finding(rows) == f"{expected}Old system and Twin of old."
    assert "above 0.3" in sentence(rows.iloc[0])


def test_an_answer_is_the_headline_of_its_row(chapter, written):
    row = made().contrasts([("new", "old")]).iloc[0]
    chapter.answer("Has {system} more {measure} than {against}?", row)
    chapter.answer("Has {system} fewer?", row, yes=WORSE)
    first, second = written("headlines")
    assert first["question"] == "Has the new system more points than the old system?"
    assert (first["measure"], first["decision"]) == ("points", "better")
    assert first["answers"]["helps"] == second["answers"]["hurts"] == "Yes"
    assert second["answers"]["helps"] == "No, the other way round"


def test_a_chapter_keeps_rows_under_their_own_measure(chapter, written):
    scores = made(control="old")
    chapter.keep(scores.contrasts([("new", "old")]), scores.estimates())
    assert list(written("contrasts")["my_question"]["exam"]) == ["points"]
    number = written("numbers")["my_question"]["exam"]["new"]["points"]
    assert number["control"] == pytest.approx(scores.values["old"].mean(), abs=1e-6)


def test_a_frame_that_says_nothing_needs_a_title(chapter):
    with pytest.raises(InputError, match="give a title"):
        chapter.show(pd.DataFrame({"a": [1]}))


def test_two_cells_keep_two_files_and_a_cell_run_again_its_own(chapter, tmp_path, monkeypatch):
    rows = made().estimates()
    for cell in ("a", "b", "a"):
        monkeypatch.setattr("casebook.notebook.this_cell", lambda cell=cell: cell)
        chapter.draw(forest, rows)
        chapter.show(rows)
    names = sorted(path.name for path in (tmp_path / "scratch" / "tables").iterdir())
    assert names == ["mine.estimates-points-2.csv", "mine.estimates-points.csv"]


def test_marks_lead_to_items_that_there_are_or_nowhere(chapter):
    drawn = []

    def figure(rows):
        drawn.append(rows)
        return forest(rows)

    chapter.keep(items={"systems": ["New system", "Old system"], "tags": {"part: first": [0]}})
    parts = made().by(dict.fromkeys(range(40), "first"))
    rows = pd.concat([made().estimates(), parts["first"].estimates()], ignore_index=True)
    chapter.draw(figure, rows)
    addresses = drawn[0]["address"].tolist()
    assert [address is not None for address in addresses] == [True, True, False, True, True, False]
    assert addresses[3].endswith("items/mine.html#system=New+system&only=part%3A+first")
