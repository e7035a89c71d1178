"""What the methods page says of extraction, against sheets that somebody wrote."""

import pandas as pd
import pytest
from annotated_texts import read_gold
from extraction import TABLE, measured, read_passages, table_of

from casebook.readers import read_jsonl


def test_the_table_is_of_these_patterns():
    table = table_of(read_gold())
    pd.testing.assert_frame_equal(pd.read_csv(TABLE), table, check_dtype=False)
    pooled = table[table["kind of fact"] == "all"]
    assert (pooled["low"] > 5 * pooled["baseline"]).all()


@pytest.mark.data
def test_passages_of_real_judgments_are_harder_than_our_texts(mirror):
    path = mirror / "fire2017_irled" / "prior_cases.jsonl.xz"
    texts = {row["id"]: row["text"] for _, row in read_jsonl(path, ["id", "text"])}
    real = measured([p for p in read_passages(texts) if p.split == "real_heldout"], "all")
    ours = pd.read_csv(TABLE).set_index(["texts", "kind of fact"])
    assert real["F1"] == pytest.approx(0.773, abs=5e-4)
    assert 5 * real["baseline"] < real["low"]
    assert real["F1"] < ours.loc[("ours, held out", "all"), "F1"]
