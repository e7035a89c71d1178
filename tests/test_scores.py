"""Rows say what they are of, words are made of rows, and what was not run is not passed over."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from casebook import paths
from casebook.errors import InputError
from casebook.notebook import Chapter, forest
from casebook.scores import Choice, Scores, pair
from casebook.sentences import caption, finding, labels, plain, sentence
from casebook.verdicts import UNDECIDED, WORSE

NAMES = {"new": "New system", "old": "Old system", "twin": "Twin of old"}
PHRASES = {"new": "the new system", "old": "the old system"}
RESAMPLING = {"n_resamples": 500, "seed": 0}


# Scores of three systems: the new one is better by .3, the twin is the old one and noise.
def made(n=40, measure="points", **settings):
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


# Give what the chapter wrote of a kind.
@pytest.fixture
def written(tmp_path):
    return lambda kind: json.loads((tmp_path / "scratch" / kind / "mine.json").read_text())


def test_a_sentence_has_the_verdict_and_the_names_of_the_row():
    rows = made(margin=0.1).contrasts([("new", "old"), ("twin", "old")])
    new, twin = map(sentence, rows.to_dict("records"))
    assert new.startswith("In points, the new system is above the old system: ")
    assert twin.startswith("In points, Twin of old hardly differs from the old system: ")


def test_systems_without_a_name_are_written_as_they_are_called():
    rows = made(names={}, phrases={"old": "the old one"}).contrasts(
        [("new", "old"), ("old", "new")]
    )
    assert [plain(row).partition(":")[0] for _, row in rows.iterrows()] == ["new", "The old one"]


def test_another_measure_baseline_or_null_changes_every_word():
    rows = made(measure="marks@3").contrasts([("old", "new")])
    assert rows["margin"].tolist() == [0]
    assert made(measure="nDCG@3").contrasts([("new", "old")])["margin"].tolist() == [0.01]
    places = made().estimates(null=0.3)
    expected = "Points is above 0.3 for New system; not shown to differ from 0.3 for "
    assert finding(places) == f"{expected}Old system and Twin of old."
    assert forest(places).legends[0].get_texts()[0].get_text() == "compared with: 0.30"
    # A line at the null of one row would be read as that of all.
    assert not forest(pd.concat([places, made().estimates(null=0.5)])).legends
    for text in (sentence(rows.iloc[0]), finding(rows), caption(rows)):
        assert "points" not in text and "marks@3" in text
    assert finding(rows) == "In marks@3, the old system is below the new system."
    both = forest(pd.concat([rows, made().contrasts([("old", "new")])])).axes[0]
    assert both.get_xlabel() == "difference in marks@3 and points"


def test_a_title_of_many_pairs_names_what_is_decided_and_counts_the_rest():
    rows = made().contrasts([("new", "old")])
    others = [rows.assign(system_phrase=name, verdict=UNDECIDED) for name in "abc"]
    named = "In points, the new system is above the old system; of all 4 differences: 3 undecided."
    assert finding(pd.concat([rows, *others])) == named
    assert finding(pd.concat([rows, *others[:2]])).count("is not shown to differ") == 2
    assert finding(pd.concat(others)).count("not shown") == 3
    decided = finding(pd.concat([rows.assign(system_phrase=name) for name in "abcd"]))
    assert decided == "Of 4 differences in points: 4 up."


def test_a_title_says_of_each_pair_in_which_parts_it_has_a_verdict():
    rows = made().contrasts([("new", "old"), ("new", "twin")])
    young = rows.assign(part="young", verdict=[rows["verdict"][0], UNDECIDED])
    above = "In points, the new system is above the old system (all and young); the new system is "
    rest = (
        "above Twin of old (all); the new system is not shown to differ from Twin of old (young)."
    )
    assert finding(pd.concat([rows, young])) == f"{above}{rest}"


def test_parts_of_several_pairs_are_drawn_side_by_side_and_of_one_below_each_other():
    rows = made().contrasts([("new", "old"), ("twin", "old")])
    drawn = {}
    for n in (1, 2):
        nobody = rows.tail(1).assign(part="nobody", n=0)
        frame = pd.concat([rows.head(n), rows.head(n).assign(part="young"), nobody])
        ticks = forest(frame).axes[0].get_yticklabels()
        drawn[n] = [" ".join(tick.get_text().split()) for tick in ticks]
    assert drawn == {1: ["all", "young"], 2: ["New system", "Twin of old"]}


def test_no_difference_in_accuracy_is_above_one():
    right = pd.DataFrame({"new": [1] * 14, "old": [1] * 4 + [0] * 10, "none": 0})
    rows = Scores(right, "accuracy", "claims").contrasts([("new", "old"), ("new", "none")])
    assert rows["high"].max() <= 1 and rows["low"].iloc[0] > 0.3


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
    for part in (rows, rows[:1]):
        assert caption(part).endswith("Left out: other was not run.")
    assert rows["p_adjusted"][1] == made().contrasts([("new", "old")])["p_adjusted"][0]
    scores = made(control="old")
    chapter.keep(rows, scores.estimates())
    assert len(written("contrasts")["my_question"]["exam"]["points"]) == 1
    number = written("numbers")["my_question"]["exam"]["new"]["points"]
    assert number["control"] == pytest.approx(scores.values["old"].mean(), abs=1e-6)


def test_the_best_says_how_it_was_chosen_and_the_same_input_is_not_measured():
    choice = made().best(["old", "twin"], "rivals")
    assert choice.role == "the best of 2 rivals by mean points on 40 pupils"
    further = Choice(choice.system, "the best of 3 others")
    pairs = [("new", choice.system), ("new", choice), ("new", further)]
    (row,) = made().contrasts(pairs).to_dict("records")
    assert row["role"] == f"{choice.role} and {further.role}"
    assert row["role"] in sentence(row)
    assert made().best(["old"], unless="twin") == Choice("twin", "")
    alike = made(same_input=lambda pairs: {pairs[0]: "equal"}).contrasts(pairs[:1])
    assert alike[["verdict", "reason"]].to_numpy().tolist() == [["cannot be measured", "equal"]]


# Planned pairs keep their test beside all others, which are one other family.
def test_one_comparison_has_one_verdict_wherever_it_is_shown():
    scores = made()
    planned = scores.contrasts([("new", "old")])
    pairs = scores.pairs(planned)
    assert pairs["family"].tolist() == ["planned", "other", "other"]
    assert pairs.iloc[0]["p_adjusted"] == planned.iloc[0]["p_adjusted"]
    assert caption(pairs).count("Corrected for 1 or 2 comparisons.") == 1
    ranking = scores.ranking(pairs)
    assert ranking["tie_class"].tolist() == ["1", "2", "2"]
    assert "2 of 2 others are shown to be lower." in finding(ranking)


def test_a_difference_between_kinds_of_units_has_errors_by_cluster():
    first = pd.Series(np.arange(40) < 15)
    for groups in (4, 10, 40):
        scores = made(clusters=pd.Series(np.arange(40) % groups), cluster="schools")
        rows = scores.between(first, "young", "old")
        n = 40 if groups < 6 else groups
        for system, row in zip(scores.values, rows.to_dict("records"), strict=True):
            # The sandwich of Liang and Zeger with the correction of Stata, from its definition.
            values = scores.values[system]
            means = values.groupby(first).mean()
            shares = np.where(first, 1 / 15, -1 / 25) * (values - first.map(means))
            squares = shares.groupby(np.arange(40) % n).sum() ** 2
            half = np.sqrt(squares.sum() * n / (n - 1) * 39 / 38) * stats.t.ppf(0.975, n - 1)
            difference = means[True] - means[False]
            expected = [difference, difference - half, difference + half]
            assert [row["difference"], row["low"], row["high"]] == pytest.approx(expected)
            assert row["reason"] == ("interval_by_unit" if groups < 6 else None)
    assert rows["system"].tolist() == ["new, young", "old, young", "twin, young"]
    assert "Not corrected for 3 comparisons." in caption(rows)
    assert list(labels(rows)) == ["New system", "Old system", "Twin of old"]
    text = (
        "In points, the new system on young pupils is not shown to differ from that on old pupils"
    )
    assert finding(rows).startswith(f"{text}; the old system on young pupils")
    with pytest.raises(InputError, match="all pupils are young"):
        scores.between(first | True, "young", "old")


def test_an_answer_is_the_headline_of_its_row(chapter, written):
    row = made().contrasts([("new", "old")]).iloc[0]
    chapter.answer("Has {system} more {measure} than {against}?", row)
    chapter.answer("Has {system} fewer?", row, yes=WORSE)
    first, second = written("headlines")
    assert first["question"] == "Has the new system more points than the old system?"
    assert (first["measure"], first["decision"]) == ("points", "better")
    assert first["answers"]["helps"] == second["answers"]["hurts"] == "Yes"
    assert second["answers"]["helps"] == "No, the other way round"


def test_a_file_is_called_after_what_its_rows_are_of(chapter, tmp_path):
    with pytest.raises(InputError, match="give a title"):
        chapter.show(pd.DataFrame({"a": [1]}))
    chapter.show(made().estimates())
    assert (tmp_path / "scratch" / "tables" / "mine.estimates-points.csv").is_file()


def test_two_cells_keep_two_files_and_a_cell_run_again_its_own(chapter, tmp_path, monkeypatch):
    for cell in ("a", "b", "a"):
        monkeypatch.setattr("casebook.notebook.this_cell", lambda cell=cell: cell)
        chapter.show(made().estimates())
    names = sorted(path.name for path in (tmp_path / "scratch" / "tables").iterdir())
    assert names == ["mine.estimates-points-2.csv", "mine.estimates-points.csv"]


def test_marks_lead_to_items_that_there_are_or_nowhere(chapter):
    drawn = []
    listed = {"systems": ["New system", "Old system"], "items": [{}]}
    chapter.keep(items=listed | {"tags": {"part: first": [0]}})
    parts = made().by(dict.fromkeys(range(40), "first"))
    rows = pd.concat([made().estimates(), parts["first"].estimates()], ignore_index=True)
    chapter.draw(lambda rows: drawn.append(rows) or forest(rows), rows)
    addresses = drawn[0]["address"].tolist()
    assert [address is not None for address in addresses] == [True, True, False, True, True, False]
    assert addresses[3].endswith("items.html#of=mine&system=New+system&only=part%3A+first")


def test_a_cell_that_was_edited_and_run_again_answers_anew(chapter, written, monkeypatch):
    rows = made(notes={"new": "Chosen here."}).contrasts([("new", "old")])
    said = []
    monkeypatch.setattr("casebook.notebook.display", lambda shown: said.append(shown.data))
    monkeypatch.setattr("casebook.notebook.this_cell", lambda: "a cell")
    for execution, question in enumerate(["Is {system} better?", "Is {system} above {against}?"]):
        monkeypatch.setattr("casebook.notebook.this_execution", lambda n=execution: n)
        chapter.answer(question, rows.iloc[0])
    (kept,) = written("headlines")
    assert kept["question"] == "Is the new system above the old system?"
    assert all("Chosen here." in text for text in said)


def test_an_answer_in_another_measure_names_it(chapter, written):
    row = made(measure="nDCG@10").contrasts([("new", "old")]).iloc[0]
    chapter.answer("Better?", row, made().contrasts([("new", "old")]).iloc[0])
    assert written("headlines")[0]["meaning"].endswith(" (points).")


def test_one_contrast_and_nothing_compared_have_a_name_and_a_count(chapter, written):
    rows = made().contrasts([("new", "old")])
    assert list(labels(rows)) == ["New system − Old system"]
    several = pd.concat([rows, rows.assign(measure="marks", against_name="Twin of old")])
    assert list(labels(several))[1] == "marks, against Twin of old"
    nothing = made().contrasts([("new", "other")], absent="say").iloc[0]
    chapter.answer("Better?", nothing)
    assert written("headlines")[0]["n"] == 0


def test_a_table_names_the_figure_only_of_the_rows_that_were_drawn(chapter, monkeypatch):
    shown = []
    monkeypatch.setattr("casebook.notebook.display", shown.append)
    rows = made().estimates()
    chapter.draw(forest, rows)
    chapter.show(rows)
    chapter.show(rows[:2])
    texts = [repr(each) for each in shown[1:]]
    assert "Numbers of the figure above" in texts[0]
    assert "Numbers of the figure above" not in texts[1]
