"""The factorial against other ways to compute it, planted noise, the simulator."""

import itertools
from math import factorial

import numpy as np
import pandas as pd
import pytest
from casebook.factcheck.ablation_configs import documented_configs, factorial_configs
from casebook.factcheck.ablation_documented import (
    CONFIGS,
    REPORTED_IMPACTS,
    chance_of_reversal,
    significance_label,
    simulate,
    simulated_accuracy,
    simulated_seconds,
)
from casebook.factcheck.factorial import CELL_NAMES, CELLS, FACTORS, FULL, cell_name, contrasts, effects
from casebook.factcheck.model import NOT_SUPPORTED, SUPPORTED
from casebook.factcheck.noise import contradict, plant_noise
from casebook.factcheck.stance_models import ModelStance

from casebook.errors import InputError
from casebook.factcheck.ablation import AblationReport, NoiseStudy, noise_study, run_configs


@pytest.fixture(scope="module")
def values():
    """Random worths of the 16 cells."""
    return np.random.default_rng(5).random(16)


def test_shapley_by_all_orders(values):
    worth = dict(zip(CELLS, values, strict=True))
    found = contrasts().T @ values
    for place, name in enumerate(FACTORS):
        total = 0.0
        for order in itertools.permutations(range(4)):
            before = set(order[: order.index(place)])
            without = tuple(n in before for n in range(4))
            with_it = tuple(n in before or n == place for n in range(4))
            total += worth[with_it] - worth[without]
        assert found[f"shapley: {name}"] == pytest.approx(total / factorial(4))
    shares = sum(found[f"shapley: {name}"] for name in FACTORS)
    assert shares == pytest.approx(values[-1] - values[0])


@pytest.mark.parametrize("names", [list("abcdefgh"), list(range(8))])
def test_names_of_clusters_do_not_matter(names):
    right = np.random.default_rng(6).integers(0, 2, (16, 16)).astype(float)
    right = pd.DataFrame(right, columns=list(CELL_NAMES))
    found = effects(right, np.repeat(names, 2), n_resamples=200)
    known = effects(right, np.repeat(list("stuvwxyz"), 2), n_resamples=200)
    pd.testing.assert_frame_equal(found, known)


def test_main_effects_and_interactions_by_least_squares(values):
    signs = np.where(np.array(CELLS), 1.0, -1.0)
    columns = [np.prod(signs[:, subset], axis=1) for subset in _subsets()]
    fitted = np.linalg.lstsq(np.column_stack(columns), values, rcond=None)[0]
    by_subset = dict(zip(map(tuple, _subsets()), fitted, strict=True))
    found = contrasts().T @ values
    for place, name in enumerate(FACTORS):
        # A change from -1 to 1 is twice the coefficient.
        assert found[f"main: {name}"] == pytest.approx(2 * by_subset[(place,)])
    for pair in itertools.combinations(range(4), 2):
        name = f"interaction: {FACTORS[pair[0]]} x {FACTORS[pair[1]]}"
        assert found[name] == pytest.approx(2 * by_subset[pair])


def _subsets():
    return [list(c) for size in range(5) for c in itertools.combinations(range(4), size)]


def test_an_effect_that_is_there_is_found_and_the_others_are_not():
    rng = np.random.default_rng(0)
    base = rng.random((80, 1)) < 0.5
    on = np.array([cell[1] for cell in CELLS])
    right = np.where(on, base | (rng.random((80, 1)) < 0.6), base).astype(float)
    table = effects(pd.DataFrame(right, columns=list(CELL_NAMES)), n_resamples=2_000)
    main = table[table["kind"] == "main"].set_index("effect")
    assert main.loc["diversity", "low"] > 0.1
    assert main.loc["diversity", "p_adjusted"] < 0.01
    assert main.drop("diversity")["value"].eq(0).all()
    assert main.loc["weighting", "reason"] == "no_variation"


def test_resamples_reach_the_tests_of_the_report():
    """199 sign patterns and the one observed give p in two-hundredths."""
    right = np.random.default_rng(3).integers(0, 2, (40, 16)).astype(float)
    noise = NoiseStudy({0.0: pd.DataFrame(right, columns=list(CELL_NAMES))}, None, ())
    report = AblationReport(None, None, noise, seed=1, resamples=199)
    p = report.effects()["p"].to_numpy() * 200
    assert np.allclose(p, p.round())
    reported = report.reported().set_index("configuration")
    without = report.effects().query("kind == 'without'").set_index("effect")
    assert reported.loc["k=1", "p_adjusted"] == without.loc["diversity", "p_adjusted"]
    assert reported.loc["k=1", "ours"] == pytest.approx(-100 * without.loc["diversity", "value"])


def test_bad_tables_are_refused():
    with pytest.raises(InputError, match="16 cells"):
        effects(pd.DataFrame({"a": [1.0]}))
    with pytest.raises(InputError, match="no claims"):
        effects(pd.DataFrame(columns=list(CELL_NAMES), dtype=float))


@pytest.fixture(scope="module")
def some(claims):
    """Test claims of every kind."""
    test = [claim for claim in claims if claim.split == "test"]
    return test[:8] + test[64:70] + test[-6:]


def test_shared_work_changes_nothing(base, stance, some):
    shared = run_configs(factorial_configs(), base, stance, some).rows
    alone = run_configs(factorial_configs(), base, stance, some, share=False).rows
    pd.testing.assert_frame_equal(shared.drop(columns="seconds"), alone.drop(columns="seconds"))


def test_weights_cannot_matter_without_a_second_level(base, stance, some):
    run = run_configs(factorial_configs(), base, stance, some)
    right = run.right()
    assert list(right.columns) == list(CELL_NAMES)
    for cell in CELLS:
        twin = (*cell[:2], not cell[2], cell[3])
        assert (right[cell_name(cell)] == right[cell_name(twin)]).all()


def test_under_planted_noise_weights_decide(documents, stance, some):
    study = noise_study(documents, stance, some, rates=(1.0,), seeds=(0,))
    right = study.right[1.0].mean()
    assert right[cell_name(FULL)] > right["decomposition+diversity+three-stage"] + 0.2
    table = study.effects(n_resamples=1_000)
    weighting = table[(table["kind"] == "main") & (table["effect"] == "weighting")]
    assert weighting["low"].item() > 0


def test_documented_configurations_are_run_with_costs_and_tests(base, stance, some):
    run = run_configs(documented_configs(), base, stance, some)
    costs = run.costs().set_index("config")
    assert len(costs) == 9
    assert costs.loc["k=1", "queries"] < costs.loc["full", "queries"]
    assert costs["n"].eq(len(some)).all()
    table = run.comparisons("full").set_index("rival")
    assert table.loc["minimal", "n"] == len(some)
    assert table.loc["binary credibility", "system_only"] == 0


def test_crashes_count_as_wrong_and_are_shown(base, some):
    class Silent:
        def complete_json(self, prompt, schema):
            raise InputError("cannot be reached")

    configs = {"full": documented_configs()["full"]}
    run = run_configs(configs, base, ModelStance(Silent()), some)
    costs = run.costs()
    assert costs["crashed"].item() > 0
    assert not run.rows.loc[run.rows["verdict"].isna(), "right"].any()


def test_claims_of_an_ablation_are_checked(base, stance, some):
    for wrong in ([], [some[0], some[0]]):
        with pytest.raises(InputError, match="distinct ids"):
            run_configs(documented_configs(), base, stance, wrong)


def test_contradictions():
    rng = np.random.default_rng(0)
    assert contradict("The excess is 250.", rng) != "The excess is 250."
    assert contradict("Hail is not covered.", rng) == "Hail is covered."
    assert contradict("Frost is covered.", rng) == "Frost is not covered."
    assert contradict("Cover lasts seven days.", rng) == "Cover lasts four days."
    assert contradict("Hail.", rng) == "Hail."


def test_planted_notes_are_as_many_as_asked_and_marked(documents):
    noisy = plant_noise(documents, 0.25, seed=3)
    notes = noisy.iloc[len(documents) :]
    assert len(notes) == round(0.25 * len(documents))
    assert set(notes["kind"]) == {"forum"}
    assert notes["doc_id"].str.endswith("~note").all()
    originals = documents.set_index("doc_id")["text"]
    for doc_id, text in zip(notes["doc_id"], notes["text"], strict=True):
        assert text != originals[doc_id.removesuffix("~note")]
    again = plant_noise(documents, 0.25, seed=3)
    pd.testing.assert_frame_equal(noisy, again)
    assert len(plant_noise(documents, 0.0)) == len(documents)
    with pytest.raises(InputError, match=r"in \[0, 1\], got 1.5"):
        plant_noise(documents, 1.5)


def test_the_reported_impacts_are_the_simulators_inputs():
    full = simulated_accuracy(CONFIGS["full"])
    for name, points in REPORTED_IMPACTS.items():
        assert 100 * (simulated_accuracy(CONFIGS[name]) - full) == pytest.approx(points)


def test_simulated_times_are_the_documented_constants():
    times = [round(simulated_seconds(config), 10) for config in CONFIGS.values()]
    assert times == [5.75, 5.0, 4.25, 5.75, 4.75, 5.75, 5.75, 5.75, 2.5]


def test_at_ten_claims_the_ablated_system_often_wins():
    expected = {"no FOL": 0.36, "k=1": 0.44, "no credibility": 0.30, "no 3-stage": 0.40, "lenient threshold": 0.54}
    found = {name: round(chance_of_reversal(CONFIGS[name], 10), 2) for name in expected}
    assert found == expected
    assert round(chance_of_reversal(CONFIGS["k=1"], 100), 2) == 0.11


def test_simulated_predictions_follow_their_probability():
    labels = [SUPPORTED, NOT_SUPPORTED] * 5_000
    drawn = simulate(labels, CONFIGS["minimal"], seed=1)
    share = np.mean([a == b for a, b in zip(labels, drawn, strict=True)])
    assert share == pytest.approx(0.35, abs=0.02)
    assert drawn == simulate(labels, CONFIGS["minimal"], seed=1)
    with pytest.raises(InputError, match="no label 'MAYBE'"):
        simulate(["MAYBE"], CONFIGS["full"])


def test_one_flipped_claim_of_ten_is_labelled_high():
    assert [significance_label(d) for d in (0.06, -0.06, 0.03, 0.01)] == ["HIGH", "HIGH", "MEDIUM", "LOW"]
