import numpy as np
import pandas as pd
import pytest

from casebook.data.splits import RetrievalDataset
from casebook.errors import InputError
from casebook.sensitivity.study import PARAPHRASE, STRANGER, invariance, invariance_table, wording_pairs


class Words:
    """Encoder by hashed words, enough to tell near from far."""

    def encode_queries(self, texts):
        table = np.zeros((len(texts), 64))
        for row, text in zip(table, texts, strict=True):
            for word in text.split():
                row[sum(map(ord, word)) % 64] += 1
        return table / np.linalg.norm(table, axis=1, keepdims=True)


@pytest.fixture
def dataset():
    rows = [
        ("can i end the lease early", True, "lease"),
        ("may a tenant end the lease early", True, "lease"),
        ("who pays for a broken window", True, "lease"),
        ("is the deposit returned", False, "deposit"),
        ("is the deposit returned to a tenant", False, "deposit"),
        ("can a loan be repaid early", True, "loan"),
        ("does the lender own the pledged ship", True, "loan"),
    ]
    names = [f"q{n}" for n in range(len(rows))]
    queries = pd.DataFrame({"query_id": names, "text": [r[0] for r in rows], "answer": [r[1] for r in rows]})
    documents = pd.DataFrame(
        {
            "doc_id": [f"d{n:02d}" for n in range(12)],
            "title": "",
            "text": [f"{r[0]} clause {n}" for n in range(2) for r in rows[:6]],
        }
    )
    groups = dict(zip(names, (r[2] for r in rows), strict=True))
    return RetrievalDataset("toy", "test", documents, queries, {}, groups=groups)


def test_only_near_mutual_neighbours_with_one_answer_pair(dataset):
    pairs = wording_pairs(dataset, Words())
    assert pairs["group"].tolist() == ["lease", "deposit"]
    assert (pairs["cosine"] >= 0.45).all()
    ungrouped = RetrievalDataset("toy", "test", dataset.documents, dataset.queries, {}, groups=None)
    with pytest.raises(InputError, match="no groups"):
        wording_pairs(ungrouped, Words())


def test_wordings_move_results_less_than_other_questions(dataset):
    pairs = wording_pairs(dataset, Words())
    rows = invariance(pairs, dataset.documents, ["bm25"], k=5)
    table = invariance_table(rows, n_boot=200).iloc[0]
    assert table["pairs"] == 2
    assert table[PARAPHRASE] < table[STRANGER]
    own = rows[rows["kind"] == PARAPHRASE]
    assert table[PARAPHRASE] == pytest.approx(own["footrule"].mean())
    with pytest.raises(InputError, match="two groups"):
        invariance(pairs.head(1), dataset.documents, ["bm25"], k=5)
