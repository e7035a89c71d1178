"""The experiment as a whole: gains, controls, bounds."""

from dataclasses import replace
from unittest.mock import Mock

import pytest
from simulated import Simulated

from casebook.data import load
from casebook.errors import InputError
from casebook.scores import Scores
from casebook.shift.embedded import embed
from casebook.shift.learn import (
    AS_DOCUMENTED,
    DOCUMENTED_MODE,
    RIDGE,
    SELECTION_MEASURE,
    cross_fit,
)
from casebook.shift.study import (
    BASELINE,
    CHANCE,
    MAIN_SYSTEMS,
    RANDOM,
    run_shift_study,
    scores_by_scale,
)
from casebook.verdicts import NOT_MEASURED

FEW = {"n_resamples": 300}


@pytest.fixture(scope="module")
def study():
    return run_shift_study(load("smoke"), Simulated("semantic-hash"), draws=3)


@pytest.mark.parametrize(("n", "reached"), [(2, InputError), (3, ZeroDivisionError)])
def test_three_groups_are_enough_and_two_are_not(n, reached, monkeypatch):
    monkeypatch.setattr("casebook.shift.study.cross_fit", Mock(side_effect=ZeroDivisionError))
    smoke = load("smoke")
    groups = {name: str(at % n) for at, name in enumerate(smoke.queries["query_id"])}
    with pytest.raises(reached, match=r"linked to 2 groups: at least 3 are needed|^$"):
        run_shift_study(replace(smoke, groups=groups), Simulated("semantic-hash"))


def gains_of(study):
    """Contrasts of every learned shift with no shift, by system."""
    plan = [(name, BASELINE) for name in study.fits]
    return Scores.of(study, SELECTION_MEASURE, **FEW).contrasts(plan).set_index("system")


def test_the_documented_setting_is_measured_at_scale_1_and_first(study):
    assert next(iter(study.fits)) == AS_DOCUMENTED
    fit = study.fits[AS_DOCUMENTED]
    assert {selection.scale for selection in fit.selections} == {1.0}
    assert fit.unmoved() is None
    assert (fit.shifted() == study.fits[DOCUMENTED_MODE].shifted(scale=1.0)).all()
    scores = study.data.score(fit.shifted())[SELECTION_MEASURE]
    expected = study.scores[SELECTION_MEASURE]
    assert scores.to_numpy() == pytest.approx(expected[AS_DOCUMENTED].to_numpy())
    by_scale = scores_by_scale(study, DOCUMENTED_MODE)
    assert by_scale["1"].tolist() == expected[AS_DOCUMENTED].tolist()
    assert by_scale[BASELINE].tolist() == expected[BASELINE].tolist()


def test_a_shift_of_scale_0_was_not_measured(study):
    fit = study.fits[DOCUMENTED_MODE]
    selections = [selection._replace(scale=0.0) for selection in fit.selections]
    fits = study.fits | {DOCUMENTED_MODE: replace(fit, selections=selections)}
    still = replace(study, fits=fits)
    rows = gains_of(still)
    assert rows.loc[DOCUMENTED_MODE, "verdict"] == NOT_MEASURED
    reason = "every fold chose scale 0, so no question was moved"
    assert rows.loc[DOCUMENTED_MODE, "reason"] == reason
    assert rows.loc[AS_DOCUMENTED, "verdict"] != NOT_MEASURED
    random = RANDOM.format(DOCUMENTED_MODE)
    pairs = [(random, BASELINE), (random, DOCUMENTED_MODE), (random, RIDGE)]
    assert still.same_inputs(pairs) == dict.fromkeys(pairs[:2], reason)
    alone = replace(still, main=(), fits={DOCUMENTED_MODE: fits[DOCUMENTED_MODE]}, others={})
    assert alone.same_inputs([(DOCUMENTED_MODE, BASELINE)]) != {}


def test_a_choice_at_the_end_of_what_was_tried_is_said(study):
    fit = study.fits[RIDGE]
    ends = [selection._replace(scale=4.0) for selection in fit.selections]
    note = replace(study, fits={RIDGE: replace(fit, selections=ends)}).notes[RIDGE]
    assert note.startswith("ridge map: scale 4 in 5 of 5 folds, the largest tried; penalty 1 in ")
    assert note.endswith(", of 1 and 10 tried.")
    assert AS_DOCUMENTED not in study.notes  # which chooses nothing


@pytest.mark.slow
def test_insurance_as_documented_is_no_zero():
    """Scale 0, which our selection chooses there, is no result; scale 1 and 2 are."""
    data = embed(load("insurance"))
    fit = cross_fit(data, AS_DOCUMENTED)
    base = data.score(data.queries, [SELECTION_MEASURE])[SELECTION_MEASURE]
    for scale, gain in {1.0: -0.012, 2.0: -0.045}.items():
        scores = data.score(fit.shifted(scale=scale), [SELECTION_MEASURE])[SELECTION_MEASURE]
        assert (scores - base).mean() == pytest.approx(gain, abs=0.0015)


def test_controls_and_bounds(study):
    means = study.scores[SELECTION_MEASURE].mean()
    for name in (DOCUMENTED_MODE, RIDGE):
        assert means[f"{name}-in-sample"] >= means[BASELINE]
    assert means[CHANCE] < means[BASELINE]
    assert set(study.controls) == {CHANCE, *map(RANDOM.format, MAIN_SYSTEMS)}
    assert set(study.bounds) > {f"{name}-leaking" for name in MAIN_SYSTEMS}
    assert not {BASELINE, *study.fits, *study.controls} & set(study.bounds)
