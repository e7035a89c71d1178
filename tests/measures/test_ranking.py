"""Ranking measures by hand, by their names, under ties."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from cases import misnamed, table
from hypothesis import given, settings
from hypothesis import strategies as st

from casebook.errors import InputError
from casebook.measures.ranking import evaluate, random_order
from casebook.measures.ranking_measures import INFO, parse_measure
from casebook.trec import write_run

QRELS = {"q1": {"a": 3, "b": 0, "c": 1, "e": 2}, "q2": {"a": 1}, "q3": {"x": 0}, "q4": {"a": 1}}
RUN = {
    "q1": {"a": 0.5, "b": 0.9, "c": 0.4, "d": 0.6},
    "q2": {"b": 2.0, "c": 1.0, "a": 0.5, "d": 0.1},
    "q3": {"x": 1.0},
    "q9": {"x": 1.0},
}
LOG3, LOG4, LOG5 = math.log2(3), 2.0, math.log2(5)


def value(name, query="q1"):
    return evaluate(QRELS, RUN, [name]).per_query[query][name]


@table(
    [
        # q1 is ranked b (0), d (unjudged), a (3), c (1); e (2) is not retrieved.
        ("nDCG@3", (3 / LOG4) / (3 + 2 / LOG3 + 1 / LOG4)),
        ("AP(rel=2)", (1 / 3) / 2),
        ("P@4", 2 / 4),
        ("Judged@2", 1 / 2),
        ("Judged@10", 3 / 4),
        ("original:MRR@10", 1 / 3),
        ("original:MRR@2", 0.0),
        ("original:NDCG@3", (1 / LOG4) / (1 + 1 / LOG3 + 1 / LOG4)),
        ("original:NDCG@4", (1 / LOG4 + 1 / LOG5) / (1 + 1 / LOG3 + 1 / LOG4)),
        ("original:Recall@3", 1 / 3),
        ("original:Recall@4", 2 / 3),
        ("original:map@1", 1 / 3),
        ("original:ndcg@3", 1 / LOG4),
    ]
)
def test_values_that_no_peer_gives_by_hand(name, expected):
    assert value(name) == pytest.approx(expected, abs=1e-15)


# Ranks 1 to 5: mean(1 / rank), and the discount only within three.
def test_embedding_shift_keys_on_one_relevant_document():
    run = {f"q{r}": {f"d{i}": -float(i) for i in range(1, 6)} for r in range(1, 6)}
    qrels = {f"q{r}": {f"d{r}": 1} for r in range(1, 6)}
    found = evaluate(qrels, run, ["original:map@1", "original:ndcg@3"]).mean.values()
    assert tuple(found) == pytest.approx(
        (np.mean(1 / np.arange(1, 6)), (1 + 1 / LOG3 + 1 / LOG4) / 5)
    )


def test_ties_are_broken_by_document_id_descending_for_every_measure():
    run = {"q": {"d1": 1.0, "d2": 1.0, "d3": 1.0, "é": 1.0, "z": 1.0}}
    names = ["RR", "RR@10", "AP", "original:map@1"]
    for relevant, rank in [("é", 1), ("z", 2), ("d3", 3), ("d1", 5)]:
        mean = evaluate({"q": {relevant: 1}}, run, names).mean
        assert set(mean.values()) == {1 / rank}


def test_missing_and_irrelevant_queries_score_zero():
    ap = {"q1": value("AP"), "q2": 1 / 3, "q3": 0.0, "q4": 0.0}
    result = evaluate(QRELS, RUN, "AP")
    assert result.frame()["AP"].to_dict() == pytest.approx(ap)
    assert (result.accounting.missing, result.accounting.no_relevant) == (("q4",), ("q3",))
    accounting = evaluate(QRELS, RUN | {"q4": {}}).accounting
    assert {name: len(ids) for name, ids in accounting._asdict().items()} == {
        "judged": 4,
        "retrieved": 5,
        "evaluated": 4,
        "missing": 0,
        "extra": 1,
        "empty": 1,
        "no_relevant": 1,
    }


def test_every_form_of_input_gives_the_same(tmp_path):
    expected = evaluate(QRELS, RUN)
    frames = (
        pd.DataFrame(table)
        .melt(var_name="query_id", value_name=name, ignore_index=False)
        .dropna()
        .reset_index(names="doc_id")
        for table, name in ((QRELS, "relevance"), (RUN, "score"))
    )
    qrels, run = tmp_path / "qrels.txt", tmp_path / "run.gz"
    qrels.write_text(
        "".join(f"{q} 0 {d} {n}\n" for q, row in QRELS.items() for d, n in row.items())
    )
    write_run(run, RUN)
    commented = tmp_path / "commented.txt"
    commented.write_text("# pool\n" + qrels.read_text())
    for inputs in (frames, (qrels, run), (QRELS, run), (str(qrels), RUN), (commented, run)):
        result = evaluate(*inputs)
        assert result.frame().equals(expected.frame())
        assert result.accounting == expected.accounting


def test_a_bad_measure_is_refused():
    cases = [
        ("nDCG@0", "did you mean 'nDCG'., k an integer from 1"),
        ("P@1.5", "k an integer from 1"),
        ("P", "did you mean 'P@k'|choose from nDCG, AP, RR, P@k"),
        ("P@k", "unknown measure"),
        ("ndgc@10", "did you mean 'nDCG'"),
        ("loudness", "choose from nDCG, AP"),
        ("original:mrr@10", "did you mean 'original:MRR@k'"),
        ("original:map@2", "did you mean 'original:map@1'"),
        ("original:ndcg@3@5", "unknown measure"),
        ("nDCG(rel=2)@10", "takes no rel: AP, RR"),
        ("P(rel=0)@5", "unknown measure"),
    ]
    rows = [((QRELS, RUN, name), problem) for name, problem in cases]
    assert misnamed(evaluate, rows, InputError) == []


CLOSED = [
    *("nDCG", "nDCG@2", "RR", "RR@2", "P@2", "P(rel=2)@1", "R@3", "Success@2"),
    *("Judged@2", "original:MRR@3", "original:NDCG@2", "original:Recall@1"),
    *("original:map@1", "original:ndcg@3"),
]

grades = st.dictionaries(st.sampled_from("abcdef"), st.integers(-1, 3), min_size=1)
retrieved = st.sets(st.sampled_from("abcdefgh"), min_size=1, max_size=6)


@settings(max_examples=25, deadline=None)
@given(judged=grades, documents=retrieved)
def test_values_of_a_random_order_equal_the_mean_over_all_orders(judged, documents):
    orders = list(itertools.permutations(sorted(documents)))
    qrels = {f"q{i}": judged for i in range(len(orders))}
    runs = {
        f"q{i}": {name: -float(rank) for rank, name in enumerate(order)}
        for i, order in enumerate(orders)
    }
    values = evaluate(qrels, runs, CLOSED).frame().to_numpy()
    run = {"q": dict.fromkeys(documents, 0.5)}
    assert np.allclose(
        random_order({"q": judged}, run, CLOSED).iloc[0], values.mean(axis=0), atol=1e-12
    )


def test_every_measure_is_described():
    for info in INFO.values():
        name = info.name.replace("@k", "@5")
        assert parse_measure(name).info == info
        assert info.definition and info.source and info.parity_note
        assert name in evaluate(QRELS, RUN, name).mean
