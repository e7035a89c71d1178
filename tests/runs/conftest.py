"""A registry of its own for every test, and runs to put into it."""

import datetime

import numpy as np
import pandas as pd
import pytest

from casebook import paths
from casebook.runs.record import RunRecord
from casebook.runs.registry import discover, locate, record_run

MOMENT = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
SETTINGS = ("ROOT", "TENANT", "RESULTS_DOMAIN", "DATA_ROOT")


@pytest.fixture(autouse=True)
def results(tmp_path, monkeypatch):
    for name in SETTINGS:
        monkeypatch.delenv(f"CASEBOOK_{name}", raising=False)
        monkeypatch.delenv(f"EMBEDDINGSHIFT_{name}", raising=False)
    monkeypatch.setenv("CASEBOOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(paths, "RESULTS", tmp_path / "results")
    (tmp_path / "results").mkdir()
    return tmp_path / "results"


def make_record(run_id, metrics, minutes=0, workflow="PosNeg", **fields):
    moment = MOMENT + datetime.timedelta(minutes=minutes)
    return RunRecord.model_construct(
        run_id=run_id,
        workflow=workflow,
        started=moment,
        completed=moment,
        metrics=metrics,
        labels=fields.pop("labels", {}),
        **fields,
    )


def per_query(ranks):
    ranks = np.asarray(ranks)
    ndcg = np.where(ranks <= 3, 1 / np.log2(ranks + 1), 0.0)
    return pd.DataFrame(
        {
            "QueryId": [f"q{number}" for number in range(len(ranks))],
            "RelevantDocId": "d",
            "Rank": ranks,
            "Ap1": 1 / ranks,
            "Ndcg3": ndcg,
            "TopDocId": "d",
            "TopScore": 0.5,
        }
    )


class Registry:
    """One registry to fill and read."""

    def __init__(self, **scope):
        self.layout = locate(**scope)

    def add(self, run_id, score=None, ranks=None, **options):
        metrics = {} if score is None else {"ndcg@3": score}
        rows = None if ranks is None else per_query(ranks)
        if rows is not None:
            metrics = {"ndcg@3": rows["Ndcg3"].mean(), "map@1": rows["Ap1"].mean()}
        metrics = options.pop("metrics", metrics)
        return record_run(self.layout, make_record(run_id, metrics, **options), rows)

    def read(self):
        return discover(self.layout)


@pytest.fixture
def registry_of():
    return Registry


@pytest.fixture
def registry():
    return Registry(domain="insurance")


@pytest.fixture
def rows_of():
    return per_query


@pytest.fixture
def record_of():
    return make_record
