"""The experiment as a whole: gains, controls, bounds, drift, and the chapter's draws."""

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest
from simulated import Simulated

from casebook import frames, paths
from casebook.data import load
from casebook.shift.learn import LEARNERS, SELECTION
from casebook.shift.study import BASELINE, CHANCE, drift_table, gains, run_drift, run_study
from casebook.stats import intervals, tests


@pytest.fixture(scope="module")
def study():
    return run_study(load("smoke"), Simulated("semantic-hash"), draws=3)


def test_gains_are_the_differences_of_the_means(study):
    gained = gains(study, n_resamples=500)
    means = study.scores[SELECTION].mean()
    expected = means.drop(BASELINE) - means[BASELINE]
    assert gained.set_index("system")["gain"].to_dict() == pytest.approx(expected.to_dict())
    assert (gained[["better", "equal", "worse"]].sum(axis=1) == gained["n"]).all()
    tested = gained["p_adjusted"].notna()
    assert set(gained.loc[tested, "system"]) == set(LEARNERS) == set(study.fits)
    assert (gained.loc[~tested, "verdict"] == "not tested").all()


def test_bounds_lie_above_what_they_bound(study):
    means = study.scores[SELECTION].mean()
    for name in ("posneg-uniform", "ridge"):
        assert means[f"{name}-oracle-scale"] >= means[name]
        assert means[f"{name}-in-sample"] >= means[BASELINE]
        assert study.draws[name][SELECTION].mean() == pytest.approx(means[f"{name}-random"])
    assert means[CHANCE] < means[BASELINE]
    assert set(study.controls) == set(means.index) - {BASELINE, *study.fits}


def test_numbers_and_choices_are_whole(study):
    numbers = study.numbers(n_boot=200, seed=0)
    assert set(numbers) == set(study.scores[SELECTION])
    assert numbers["ridge"]["original:map@1"]["value"] == numbers["ridge"]["RR"]["value"]
    assert numbers["ridge"]["RR"]["control"] == numbers[CHANCE]["RR"]["value"]
    for fit in study.fits.values():
        assert sorted(row for fold in fit.folds for row in fold) == list(range(len(study.data)))
        assert fit.choices()["held out"].sum() == len(study.data)


def test_the_same_seed_gives_the_same_scores(study):
    again = run_study(load("smoke"), Simulated("semantic-hash"), draws=3)
    assert all(frame.equals(again.scores[measure]) for measure, frame in study.scores.items())


def test_drift_scores_every_question_at_every_stage():
    rows = run_drift([1337, 1338], Simulated("semantic-hash"), k=3)
    counts = rows.groupby(["seed", "stage", "system"]).size()
    assert (counts == 160).all() and len(counts) == 2 * 3 * 2
    assert np.isfinite(rows[["baseline", "shifted"]].to_numpy()).all()
    baseline = rows.pivot_table(index=["seed", "stage", "query_id"], columns="system", values="baseline")
    assert (baseline["ridge"] == baseline["posneg-uniform"]).all()
    means = rows.groupby("stage")["baseline"].mean()
    assert means[1] <= means[0]  # confusers answer nothing
    table = drift_table(rows, n_resamples=200)
    assert (table["lowest"] <= table["gain"]).all() and (table["gain"] <= table["highest"]).all()
    assert (table["n"] == 320).all() and (table["seeds"] == 2).all()
    nothing = run_drift([])
    assert nothing.empty and drift_table(nothing).empty


def test_resamples_and_seed_reach_every_draw_of_the_chapter(monkeypatch, tmp_path):
    monkeypatch.setattr(paths, "RESULTS", tmp_path / "results")
    seen = []

    def recorded(function, count):
        def call(*arguments, **options):
            # ratio_draws takes both by position, sign_flips by name.
            seen.append((function.__name__, *(arguments[2:] or (options.get(count), options.get("seed")))))
            return function(*arguments, **options)

        return call

    flips = recorded(tests.sign_flips, "n_resamples")
    for module in (tests, frames):
        monkeypatch.setattr(module, "sign_flips", flips)
    monkeypatch.setattr(intervals, "ratio_draws", recorded(intervals.ratio_draws, "n_boot"))
    names = {}
    for cell in nbformat.read(paths.NOTEBOOKS / "02_embedding_shift.ipynb", 4).cells:
        if cell.cell_type == "code":
            exec(cell.source, names)
            if "parameters" in cell.metadata.get("tags", ()):
                names.update(encoder=Simulated("semantic-hash"), draws=2, drift_seeds=[1337], seed=7, resamples=120)
    plt.close("all")
    assert {function for function, *_ in seen} == {"sign_flips", "ratio_draws"}
    assert {(count, seed) for _, count, seed in seen} == {(120, 7)}
    gained, numbers = names["gained"].set_index("system"), names["numbers"]
    for system, row in gained.iterrows():  # one interval of one gain, wherever it stands
        found = numbers[system]["nDCG@10 gain"]
        assert (found["value"], *found["ci"]) == (row["gain"], row["gain low"], row["gain high"])
    for row in names["protocols"].query("protocol == 'groups held out'").itertuples():
        assert row[4:6] == tuple(gained.loc[row.system, ["gain low", "gain high"]])
    drift = names["found"]["drift_stage_2"]["ridge"]["nDCG@10 gain"]
    last = names["stages"].query("system == 'ridge' and stage == 2").iloc[0]
    assert (drift["value"], drift["n"], drift["control"]) == (last["gain"], last["n"], 0.0)
