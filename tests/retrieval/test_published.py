"""Every published figure that should be reproduced is, to the digits printed."""

import pytest

from casebook.datasets import load
from casebook.retrieval.ablation import FIGURES, published_table
from casebook.retrieval.index import CorpusIndex

# Half a unit of the last digit that each source prints.
PRINTED = {"consumer_contracts_qa": 5e-4, "pdpabench": 5e-7}


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("key", FIGURES)
def test_published_figures_are_reproduced(key, mirror, monkeypatch, require):
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", str(mirror))
    require(key)
    table = published_table(key, CorpusIndex(load(key).documents))
    ours = table[table["kind"] == "reproduced"]
    assert len(ours) >= 5
    assert (table["ours low"] <= table["ours"]).all()
    assert (table["ours"] <= table["ours high"]).all()
    assert (table["n"] > 0).all()
    assert (ours["difference"].abs() <= PRINTED[key]).all(), ours.to_string()


def test_a_dataset_without_published_figures_has_an_empty_table():
    assert published_table("smoke", CorpusIndex(load("smoke").documents)).empty
