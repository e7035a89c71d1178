"""Equality with the files that trec_eval's own test suite expects."""

import numpy as np
import pytest

from casebook.errors import InputError
from casebook.measures.ranking import evaluate, parse_measure
from casebook.trec import read_qrels, read_run

pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def golden(mirror):
    return mirror / "trec_eval"


def expectations(path):
    """Rows (query, measure, printed value) of the measures that are supported."""
    rows = []
    for line in path.read_text().splitlines():
        name, query, value = line.split()[:3]
        name = "RBP(p=0.9)" if name == "rbp" else name  # all grades are 0 and 1 here
        if supported(name):
            rows.append((query, name, value))
    return rows


def supported(name):
    try:
        parse_measure(name)
    except InputError:
        return False
    return True


def assert_prints(expected, values):
    for (query, name, printed), value in zip(expected, values, strict=True):
        digits = len(printed.partition(".")[2])
        assert f"{value:.{digits}f}" == printed, (query, name)


@pytest.mark.parametrize("qrels", ["qrels.test", "qrels.test.with-comments"])
@pytest.mark.parametrize(("expected", "count"), [("out.test", 12), ("out.test.a", 44)])
def test_summaries(golden, qrels, expected, count):
    rows = expectations(golden / expected)
    assert len(rows) == count
    names = [name for _, name, _ in rows]
    means = evaluate(golden / qrels, golden / "results.test", names).mean
    assert_prints(rows, [means[name] for name in names])


def test_every_query(golden):
    rows = expectations(golden / "out.test.aq")
    single = [row for row in rows if row[0] != "all"]
    assert len({query for query, _, _ in single}) == 3
    names = {name for _, name, _ in rows}
    result = evaluate(golden / "qrels.test", golden / "results.test", names)
    values = [
        result.mean[name] if query == "all" else result.per_query[query][name]
        for query, name, _ in rows
    ]
    assert len(rows) == 4 * 44
    assert_prints(rows, values)


def test_unjudged_share(golden):
    """trec_eval's unj_k is what Judged@k leaves of 1 when k are retrieved."""
    printed = {
        (query, name): value
        for name, query, value in (
            line.split()[:3] for line in (golden / "out.test.aq").read_text().splitlines()
        )
    }
    result = evaluate(golden / "qrels.test", golden / "results.test", ["Judged@5", "Judged@20"])
    for query, row in result.per_query.items():
        for k in (5, 20):
            assert f"{1 - row[f'Judged@{k}']:.4f}" == printed[query, f"unj_{k}"]


def test_truncated_run_is_accepted_and_a_missing_query_counts_zero(golden):
    run = golden / "results.trunc"
    result = evaluate(golden / "qrels.test", run, "map")
    assert result.accounting.missing == ("302",)
    assert f"{result.mean['map']:.4f}" == "0.1016"
    assert result.per_query["302"]["map"] == 0.0
    skipped = evaluate(golden / "qrels.test", run, "map", missing="skip")
    assert skipped.accounting.evaluated == 2
    assert np.isclose(skipped.mean["map"] * 2, result.mean["map"] * 3)


def test_comments_change_nothing(golden):
    """Only a first character starts a comment: '#' inside an id is part of it."""
    plain = read_qrels(golden / "qrels.test")
    commented = read_qrels(golden / "qrels.test.with-comments")
    assert {len(docs) for docs in plain.values()} == {len(docs) for docs in commented.values()}
    assert any("#" in name for docs in commented.values() for name in docs)


def test_junk_after_the_sixth_field_is_ignored(golden):
    run = read_run(golden / "results.trunc")
    assert sum(map(len, run.values())) == 584
    assert run["301"]["FBIS3-27619"] == 2.138276
