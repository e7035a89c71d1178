"""Agreement with pytrec_eval and ir_measures, and laws that every measure obeys."""

import ir_measures
import pytest
import pytrec_eval
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from casebook.measures.ranking import evaluate
from casebook.trec import write_run

# Quarters are exact in single precision, in which pytrec_eval compares scores.
tied_scores = st.integers(-3, 6).map(lambda n: n / 4)
documents = st.sampled_from([f"d{i}" for i in range(25)])


def tables(numbers, min_size=1):
    return st.dictionaries(documents, numbers, min_size=min_size, max_size=25)


# Judgements and runs of up to five queries, not all in common. Each query has a judgement above 0:
# pytrec_eval's nDCG does not come back when all are negative.
def collections(scores):
    judgements = tables(st.integers(-2, 3)).filter(lambda row: max(row.values()) > 0)
    queries = st.sampled_from([f"q{i}" for i in range(5)])
    return st.tuples(
        st.dictionaries(queries, judgements, min_size=1),
        st.dictionaries(queries, tables(scores), min_size=1),
    ).filter(lambda pair: pair[0].keys() & pair[1].keys())


PYTREC = {
    "map": "AP",
    "map_cut_5": "AP@5",
    "P_1": "P@1",
    "P_10": "P@10",
    "recall_5": "R@5",
    "recip_rank": "RR",
    "success_1": "Success@1",
    "success_5": "Success@5",
}
UNLEVELLED = {"ndcg": "nDCG", "ndcg_cut_1": "nDCG@1", "ndcg_cut_5": "nDCG@5"}
REQUESTED = {"map", "map_cut.5", "P.1,10", "recall.5", "recip_rank", "success.1,5"}
REQUESTED |= {"ndcg", "ndcg_cut.1,5"}


def with_level(name, level):
    family, at, cutoff = name.partition("@")
    return name if level == 1 else f"{family}(rel={level}){at}{cutoff}"


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([1, 2]), collections(tied_scores))
def test_equal_to_pytrec_eval(tmp_path_factory, level, pair):
    qrels, run = pair
    peer = pytrec_eval.RelevanceEvaluator(qrels, REQUESTED, relevance_level=level).evaluate(run)
    names = {key: with_level(name, level) for key, name in PYTREC.items()} | UNLEVELLED
    folder = tmp_path_factory.getbasetemp()
    files = folder / "qrels", folder / "run"
    files[0].write_text(
        "".join(f"{q} 0 {d} {n}\n" for q, row in qrels.items() for d, n in row.items())
    )
    write_run(files[1], run)
    for inputs in (pair, files):
        result = evaluate(*inputs, names.values())
        assert {*result.accounting.judged} - {*result.accounting.missing} == peer.keys()
        for query, row in result.per_query.items():
            expected = dict.fromkeys(names.values(), 0.0)
            if query in peer:
                expected = {name: peer[query][key] for key, name in names.items()}
            assert row == pytest.approx(expected, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(pair=collections(st.integers(0, 10**6)), rel=st.integers(1, 3))
def test_equal_to_ir_measures_without_ties(pair, rel):
    qrels, run = pair
    assume(all(len(set(row.values())) == len(row) for row in run.values()))
    run = {query: {d: float(s) for d, s in row.items()} for query, row in run.items()}
    names = ["nDCG@5", f"AP(rel={rel})@5", f"RR(rel={rel})@3", f"P(rel={rel})@5", "Judged@5"]
    names += [f"R(rel={rel})@5", f"Success(rel={rel})@5"]
    ours = evaluate(qrels, run, names).per_query
    parsed = [ir_measures.parse_measure(name) for name in names]
    for metric in ir_measures.iter_calc(parsed, qrels, run):
        name = names[parsed.index(metric.measure)]
        assert ours[metric.query_id][name] == pytest.approx(metric.value, abs=1e-12), name
