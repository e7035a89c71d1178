"""The experiment as a whole: gains, controls, bounds, drift, and the chapter's draws."""

from dataclasses import replace

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pandas as pd
import pytest
from simulated import Simulated

from casebook import frames, paths
from casebook.data import load
from casebook.data.splits import RetrievalDataset
from casebook.shift.embedded import embed, group_labels
from casebook.shift.learn import (
    AS_DOCUMENTED,
    DOCUMENTED_MODE,
    LEARNERS,
    SELECTION_MEASURE,
    cross_fit,
)
from casebook.shift.study import (
    BASELINE,
    CHANCE,
    drift_table,
    gains,
    milliseconds_per_question,
    planned_gains,
    run_drift,
    run_shift_study,
)
from casebook.stats import intervals
from casebook.verdicts import NOT_MEASURED


@pytest.fixture(scope="module")
def study():
    return run_shift_study(load("smoke"), Simulated("semantic-hash"), draws=3)


def test_gains_are_the_differences_of_the_means(study):
    gained = gains(study, planned_gains(study, n_resamples=500), n_resamples=500)
    means = study.scores[SELECTION_MEASURE].mean()
    expected = (means.drop(BASELINE) - means[BASELINE]).drop(list(study.unmoved))
    measured = gained[~gained["system"].isin(study.unmoved)].set_index("system")
    assert measured["gain"].to_dict() == pytest.approx(expected.to_dict())
    assert (gained[["better", "equal", "worse"]].sum(axis=1) == gained["n"]).all()
    tested = gained["verdict"] != "not tested"
    assert set(gained.loc[tested, "system"]) == set(LEARNERS) == set(study.fits)
    assert gained.loc[~tested, "p_adjusted"].isna().all()


def test_a_question_is_timed_alone_and_its_time_is_the_median(study, monkeypatch):
    clock = iter(1.0 * (k // 2 + k % 2) for k in range(10**6))  # a pair of calls: one second
    monkeypatch.setattr("casebook.shift.study.perf_counter", lambda: next(clock))
    times = milliseconds_per_question(study)
    assert times == dict.fromkeys([BASELINE, *study.fits], 1000.0)
    assert next(clock) == len(times) * len(study.data)  # of 34 questions each was timed once


def test_the_documented_setting_is_measured_at_scale_1_and_first(study):
    assert next(iter(study.fits)) == AS_DOCUMENTED
    fit = study.fits[AS_DOCUMENTED]
    assert (fit.scales == 1).all() and fit.unmoved is None
    assert (fit.moves == study.fits[DOCUMENTED_MODE].moves).all()
    scores = study.data.score(study.data.queries + fit.moves)[SELECTION_MEASURE]
    assert scores.to_numpy() == pytest.approx(
        study.scores[SELECTION_MEASURE][AS_DOCUMENTED].to_numpy()
    )
    assert study.in_sample[AS_DOCUMENTED].scales.tolist() == [1.0] * len(study.data)


def test_a_shift_of_scale_0_was_not_measured(study):
    fit = study.fits[DOCUMENTED_MODE]
    still = replace(study, fits=study.fits | {DOCUMENTED_MODE: replace(fit, scales=0 * fit.scales)})
    planned = planned_gains(still, n_resamples=500)
    gained = gains(still, planned, n_resamples=500).set_index("system")
    for name in (DOCUMENTED_MODE, f"{DOCUMENTED_MODE}-random"):
        row = gained.loc[name]
        assert row["reason"] == "every fold chose scale 0, so no question was moved"
        assert row[["gain", "gain low", "gain high", "p_adjusted"]].isna().all()
    assert gained.loc[DOCUMENTED_MODE, "verdict"] == NOT_MEASURED
    assert gained.loc[AS_DOCUMENTED, "verdict"] != NOT_MEASURED
    # Moved without an effect is another matter: the oracle still tries all scales.
    assert f"{DOCUMENTED_MODE}-oracle-scale" not in still.unmoved


@pytest.mark.slow
def test_insurance_as_documented_is_no_zero():
    """Scale 0, which our selection chooses there, is no result; scale 1 and 2 are."""
    data = embed(load("insurance"))
    fit = cross_fit(data, LEARNERS[AS_DOCUMENTED], scales=(1.0,))
    base = data.score(data.queries, [SELECTION_MEASURE])[SELECTION_MEASURE]
    expected = {1.0: (-0.012, -0.028, 0.004), 2.0: (-0.045, -0.072, -0.019)}
    for scale, numbers in expected.items():
        gain = data.score(fit.shifted(data, scale), [SELECTION_MEASURE])[SELECTION_MEASURE] - base
        scores = gain.to_frame("gain").assign(base=0.0)
        row = frames.contrasts(
            scores, [("gain", "base")], group_labels(data), n_resamples=2_000
        ).iloc[0]
        assert tuple(row[["difference", "low", "high"]]) == pytest.approx(numbers, abs=0.0015)


class OneWord:
    """An encoder with one dimension for each word of its list, so that every question finds its
    document."""

    name = model_hash = "one word"
    words = ("fox", "ship", "tower", "violin", "harbour", "kettle", "meadow", "ladder")

    def encode_queries(self, texts):
        return np.array([[word in text for word in self.words] for text in texts], dtype=float)

    encode_documents = encode_queries


def test_where_nothing_can_be_learned_the_documented_shift_is_not_measured():
    ids = [f"{word}-id" for word in OneWord.words]
    documents = pd.DataFrame({"doc_id": ids, "text": OneWord.words})
    queries = pd.DataFrame({"query_id": ids, "text": OneWord.words})
    dataset = RetrievalDataset(
        "answered", "test", documents, queries, {name: {name: 1} for name in ids}
    )
    study = run_shift_study(dataset, OneWord(), k=3, draws=2)
    assert study.unmoved[AS_DOCUMENTED] == "no shift was learned, so no question was moved"
    gained = gains(study, planned_gains(study, n_resamples=100), n_resamples=100).set_index(
        "system"
    )
    assert gained.loc[AS_DOCUMENTED, "verdict"] == NOT_MEASURED
    assert gained.loc[AS_DOCUMENTED, ["gain", "gain low", "gain high"]].isna().all()


def execute(monkeypatch, tmp_path, **parameters):
    """Execute the chapter's cells with some parameters."""
    monkeypatch.setattr(paths, "RESULTS", tmp_path / "results")
    names = {}
    for cell in nbformat.read(paths.NOTEBOOKS / "02_embedding_shift.ipynb", 4).cells:
        if cell.cell_type == "code":
            exec(cell.source, names)
            if "parameters" in cell.metadata.get("tags", ()):
                names.update(parameters)
    plt.close("all")
    return names


def test_bounds_lie_above_what_they_bound(study):
    means = study.scores[SELECTION_MEASURE].mean()
    for name in ("posneg-uniform", "ridge"):
        assert means[f"{name}-oracle-scale"] >= means[name]
        assert means[f"{name}-in-sample"] >= means[BASELINE]
        assert study.draws[name][SELECTION_MEASURE].mean() == pytest.approx(means[f"{name}-random"])
    assert means[CHANCE] < means[BASELINE]
    assert set(study.controls) == set(means.index) - {BASELINE, *study.fits}


def test_drift_scores_every_question_at_every_stage():
    rows = run_drift([1337, 1338], Simulated("semantic-hash"), k=3)
    counts = rows.groupby(["seed", "stage", "system"]).size()
    assert (counts == 160).all() and len(counts) == 2 * 3 * 3
    assert np.isfinite(rows[["baseline", "shifted"]].to_numpy()).all()
    baseline = rows.pivot_table(
        index=["seed", "stage", "query_id"], columns="system", values="baseline"
    )
    assert (baseline["ridge"] == baseline["posneg-uniform"]).all()
    means = rows.groupby("stage")["baseline"].mean()
    assert means[1] <= means[0]  # confusers answer nothing
    table = drift_table(rows, n_resamples=200)
    unmoved = table["moved"] == 0
    assert (
        set(table.loc[unmoved, "system"]) == {DOCUMENTED_MODE}
        and table.loc[unmoved, "gain"].isna().all()
    )
    table = table[~unmoved]
    assert (table["lowest"] <= table["gain"]).all() and (table["gain"] <= table["highest"]).all()
    assert (table["n"] == 320).all() and (table["seeds"] == 2).all()
    still = drift_table(rows.assign(moved=False), n_resamples=200)
    assert still[["gain", "gain low", "lowest"]].isna().all(axis=None)
    assert set(still["reason"]) == {"every fold chose scale 0, so no question was moved"}


def test_resamples_and_seed_reach_every_draw_of_the_chapter(monkeypatch, tmp_path):
    seen = []

    def recorded(function, count):
        def call(*arguments, **options):
            # ratio_draws takes both by position, sign_flips by name.
            seen.append(
                (function.__name__, *(arguments[2:] or (options.get(count), options.get("seed"))))
            )
            return function(*arguments, **options)

        return call

    monkeypatch.setattr(frames, "sign_flips", recorded(frames.sign_flips, "n_resamples"))
    monkeypatch.setattr(intervals, "ratio_draws", recorded(intervals.ratio_draws, "n_resamples"))
    settings = {"draws": 2, "drift_seeds": [1337], "seed": 7, "n_resamples": 120}
    names = execute(monkeypatch, tmp_path, encoder=Simulated("semantic-hash"), **settings)
    assert {function for function, *_ in seen} == {"sign_flips", "ratio_draws"}
    assert {(count, seed) for _, count, seed in seen} == {(120, 7)}
    gained, numbers = names["gained"].set_index("system"), names["gain_numbers"]
    for system, row in gained.iterrows():  # one interval of one gain, wherever it stands
        found = numbers[system]["nDCG@10 gain"]
        written = pd.Series([found["value"], *found["ci"]], dtype=float)
        assert written.equals(
            pd.Series([row["gain"], row["gain low"], row["gain high"]], dtype=float)
        )
    protocols = names["protocols"].set_index(["protocol", "system"])
    first = protocols.loc["groups held out: questions of new groups"]  # one verdict of one protocol
    columns = ["gain low", "gain high", "verdict"]
    assert first[columns].equals(gained.loc[first.index, columns])
    for headline, row in zip(names["chapter"].headlines, first.itertuples(), strict=True):
        assert (headline.decision, headline.value) == (
            row.verdict,
            None if np.isnan(row.gain) else row.gain,
        )
