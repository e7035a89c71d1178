import matplotlib.pyplot as plt
import pytest

from casebook import plots
from casebook.data import load
from casebook.shift import analyses, gains, report
from casebook.shift.study import BASELINE, CHANCE, MEASURE, run_study


@pytest.fixture(scope="module")
def study():
    return run_study(load("smoke"), "semantic-hash", draws=3)


@pytest.fixture(scope="module")
def gained(study):
    return gains.gains(study, n_resamples=500)


def test_gains_are_the_differences_of_the_means(study, gained):
    means = study.scores[MEASURE].mean()
    expected = means.drop(BASELINE) - means[BASELINE]
    found = gained.set_index("system")["gain"]
    assert found.to_dict() == pytest.approx(expected.to_dict())
    assert (gained[["better", "equal", "worse"]].sum(axis=1) == gained["n"]).all()
    tested = gained["p_adjusted"].notna()
    assert set(gained.loc[tested, "system"]) == set(study.fits)


def test_bounds_lie_above_what_they_bound(study):
    means = study.scores[MEASURE].mean()
    for name in ("posneg-uniform", "ridge"):
        assert means[f"{name}-oracle-scale"] >= means[name]
        assert means[f"{name}-in-sample"] >= means[BASELINE]
    assert means[CHANCE] < means[BASELINE]


def test_numbers_carry_interval_n_control_and_reason(study, gained):
    numbers = study.numbers(gained, n_boot=200, seed=0)
    assert set(numbers) == set(study.scores[MEASURE])
    number = numbers["ridge"][f"{MEASURE} gain"]
    assert set(number) == {"value", "ci", "n", "control", "reason"}
    assert numbers["ridge"]["original:map@1"]["value"] == numbers["ridge"]["RR"]["value"]
    assert number["n"] == len(study.data)


def test_sentences_and_tables(study, gained):
    numbers = study.numbers(gained, n_boot=200, seed=0)
    table = report.system_table(study, numbers)
    assert table["kind"].iloc[0] == "no shift" and table["kind"].iloc[-1] == "bound"
    assert "effective, in 5 folds" in report.account(study)
    text = report.answer(study, gained)
    assert "posneg-uniform, learned and scaled on other groups" in text
    row = gained.set_index("system").loc["posneg-uniform"]
    assert f"[{row['gain low']:+z.4f}, {row['gain high']:+z.4f}] over" in text
    assert (gained["verdict"] == "not tested").sum() == gained["p_adjusted"].isna().sum()
    assert f"{(gained['verdict'] == 'undecided').sum()} undecided" in text
    assert len(report.choices(study)) == 5 * len(study.fits)
    assert report.learning(study)["resultant length"].between(0, 1).all()
    assert len(report.forest_rows(gained, table)) == len(study.fits) + 2


def test_queries_segments_gate_and_parity(study):
    ranks = analyses.ranks(study)
    assert len(ranks) == len(study.data)
    assert "unchanged" in analyses.rank_counts(ranks)
    parts = analyses.segmented(study, n_boot=200).set_index("answers")
    best = parts["ndcg@3"]
    assert best["oracle"] >= max(best["baseline"], best["shifted"], best["segmented"])
    assert (parts["shifted"] + parts["skipped"] == len(study.data)).all()
    verdicts = analyses.gate_table(study, 200)
    assert set(verdicts["verdict"]) <= {"pass", "fail", "undecided"}
    parity = analyses.parity_table(study).set_index("documented")
    same = parity.loc["original:map@1", ["baseline", "standard baseline"]]
    assert same.iloc[0] == same.iloc[1]


def test_leakage_and_sweep(study, gained):
    table = gains.leakage(study, gained, 200)
    assert len(table) == 6
    sweep = gains.sweep(study, 200)
    assert (sweep.loc[sweep["value"] == 0, "mean"] == 0).all()


def test_figures(study, gained):
    table = report.system_table(study, study.numbers(gained, n_boot=200, seed=0))
    vectors, agreement = report.shift_vectors(study)
    assert vectors.shape == (5, 1536)
    assert agreement is None or -1 <= agreement <= 1
    ranks = analyses.changed_ranks(analyses.ranks(study), most=6)
    figures = [
        plots.shift_vector(vectors),
        plots.rank_changes(ranks),
        plots.forest(report.forest_rows(gained, table), "gain", limits=None),
        plots.sweeps(gains.sweep(study, 200), "gain", ("one", "two")),
    ]
    for figure in figures:
        assert figure.axes and all(axes.has_data() for axes in figure.axes)
        plt.close(figure)


def test_the_same_seed_gives_the_same_scores(study):
    again = run_study(load("smoke"), "semantic-hash", draws=3)
    for measure, frame in study.scores.items():
        assert frame.equals(again.scores[measure])
