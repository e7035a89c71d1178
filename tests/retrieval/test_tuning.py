import pandas as pd
import pytest

from casebook.datasets import load
from casebook.errors import InputError
from casebook.retrieval import ablation, report
from casebook.retrieval import ablation as tuning
from casebook.retrieval.index import CorpusIndex


@pytest.fixture(scope="module")
def smoke():
    return load("smoke")


@pytest.fixture(scope="module")
def index(smoke):
    return CorpusIndex(smoke.documents, remember_scores=True)


@pytest.fixture(scope="module")
def study(smoke, index):
    return ablation.run_ablation(smoke, ["bm25", "no_mmr"], index)


def test_halves_share_no_group_and_make_the_whole(smoke):
    first, second = tuning.halves(smoke)
    assert sorted([*first.qrels, *second.qrels]) == sorted(smoke.qrels)
    groups = [{smoke.groups[query] for query in part.qrels} for part in (first, second)]
    assert not groups[0] & groups[1]
    assert len({first.name, second.name, smoke.name}) == 3
    assert set(first.queries["query_id"]) == set(first.qrels)


def test_one_query_cannot_be_halved(smoke):
    query = next(iter(smoke.qrels))
    one = smoke.subset([query], "one")
    with pytest.raises(InputError, match="too few"):
        tuning.halves(one)


def test_best_is_the_highest_and_of_equals_the_nearest_to_the_default():
    frame = pd.DataFrame({"value": [1, 20, 40, 60], "mean": [0.1, 0.2, 0.5, 0.5]})
    assert tuning._best(frame, 20) == 40
    assert tuning._best(frame, 100) == 60


def test_sweep_of_one_value_is_the_system_itself(smoke, index, study):
    frame = tuning.sweep(smoke, index, "rrf_k", [20])
    assert frame["mean"][0] == pytest.approx(study.scores["nDCG@10"]["full"].mean())
    assert frame["n"][0] == len(smoke.qrels)


def test_milliseconds_per_query_are_processor_time(study):
    times = study.times("full")
    n = len(study.results["full"].queries)
    assert times["milliseconds"].tolist() == (1000 * times["cpu_s"] / n).tolist()
    assert (times["cpu_s"] != times["wall_s"]).any()


def test_control_is_always_there_and_every_number_is_whole(study):
    numbers = study.numbers(n_boot=200)
    assert set(numbers) == {"full", "bm25", "no_mmr", "random"}
    for system, measures in numbers.items():
        for number in measures.values():
            low, high = number["ci"]
            assert 0 <= low <= number["value"] <= high <= 1
            assert number["n"] == 34
        control = numbers["random"]["nDCG@10"]["value"]
        assert measures["nDCG@10"]["control"] == pytest.approx(control), system


def test_rows_hold_every_query_system_and_measure(study, smoke):
    rows = study.rows()
    assert len(rows) == 34 * 4
    assert set(ablation.MEASURES) <= set(rows.columns)
    kept = rows.set_index(["query_id", "system"])["AP"]
    for system, scores in study.scores["AP"].items():
        for query, value in scores.items():
            assert kept[query, system] == value


def test_attrition_never_grows_after_fusion(study, smoke):
    frame = study.attrition()
    relevant = sum(grade > 0 for row in smoke.qrels.values() for grade in row.values())
    assert frame["relevant"][0] == relevant
    later = frame["share"].tolist()[-3:]  # fused, kept by MMR, returned
    assert later == sorted(later, reverse=True)


def test_answer_and_tables_quote_the_numbers(study):
    comparison = study.compare("nDCG@10", "full", n_boot=200)
    assert set(comparison.systems["system"]) == {"full", "bm25", "no_mmr"}
    numbers = study.numbers(n_boot=200)
    text = report.answer(study, comparison, numbers)
    full = numbers["full"]["nDCG@10"]
    assert f"Full: {full['value']:.3f} [{full['ci'][0]:.3f}" in text
    assert "34 queries in 27 groups of dependent ones" in text
    table = report.system_table(numbers, comparison)
    assert table["system"].tolist()[-1] == "random"
    assert table["tie class"].tolist()[-1] == "control"
    assert report.cost_answer(study).count(" ms of processor time") == 1


def test_parity_keys_stand_beside_the_standard_measure(study):
    table = report.parity_table(study).set_index("documented")
    assert table.loc["original:map@1", "standard"] == "RR"
    assert table.loc["original:map@1", "value"] == table.loc["original:map@1", "standard value"]
    random = study.scores["nDCG@10"]["random"].mean()
    assert table.loc["original:NDCG@10", "control"] == pytest.approx(random)
    assert (table["n"] == 34).all()
    for name in ("value", "standard value"):
        assert (table[f"{name} low"] <= table[name]).all()
        assert (table[name] <= table[f"{name} high"]).all()


def test_a_dataset_without_judgements_is_refused(smoke):
    with pytest.raises(InputError, match="no judgements"):
        ablation.run_ablation(smoke.subset([], "none"))
