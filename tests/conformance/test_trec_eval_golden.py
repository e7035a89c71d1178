"""Equality with the files that trec_eval's own test suite expects."""

import numpy as np
import pandas as pd
import pytest

from casebook.measures.ranking import evaluate

pytestmark = pytest.mark.data

# All grades are 0 and 1 here; unj_k is what Judged@k leaves of 1 when k are retrieved.
NAMES = {
    "unj_(5|20)": r"Judged@\1",
    "map": "AP",
    r"map_cut_(\d+)": r"AP@\1",
    "recip_rank": "RR",
    "ndcg": "nDCG",
    r"ndcg_cut_(\d+)": r"nDCG@\1",
    r"P_(\d+)": r"P@\1",
    r"recall_(\d+)": r"R@\1",
    r"success_(\d+)": r"Success@\1",
}


@pytest.fixture(scope="module")
def golden(mirror):
    return mirror / "trec_eval"


# The supported measures among those that a file holds, for each query and for all.
def printed(path):
    names = ["measure", "query", "value"]
    table = pd.read_csv(path, sep=r"\s+", header=None, names=names, dtype=str)
    table = table[table["measure"].str.fullmatch("|".join(NAMES))]
    ours = {f"^{name}$": our_name for name, our_name in NAMES.items()}
    measure = table["measure"].replace(ours, regex=True)
    value = table["value"].astype(float)
    unjudged = measure.str.startswith("Judged")
    return table.assign(measure=measure, value=value.mask(unjudged, 1 - value))


@pytest.mark.parametrize("qrels", ["qrels.test", "qrels.test.with-comments"])
def test_every_printed_value(golden, qrels):
    for name, count in (("out.test", 11), ("out.test.a", 44), ("out.test.aq", 4 * 44)):
        expected = printed(golden / name)
        assert len(expected) == count
        result = evaluate(golden / qrels, golden / "results.test", expected["measure"])
        found = result.frame()
        found.loc["all"] = result.mean
        cells = zip(expected["query"], expected["measure"], strict=True)
        values = np.array([found.loc[cell] for cell in cells])
        wrong = np.abs(values - expected["value"]) > 5.001e-5
        assert not wrong.any(), expected[wrong]


def test_truncated_run_is_accepted_and_a_missing_query_counts_zero(golden):
    run = golden / "results.trunc"
    result = evaluate(golden / "qrels.test", run, "AP")
    assert result.accounting.missing == ("302",)
    assert f"{result.mean['AP']:.4f}" == "0.1016"
