"""Generate planted truth: cases whose relevance is known, because it was computed.

A document is a fact sheet: one value for each fact type, drawn uniformly. A query asks
for some values. The relevance of a document is the sum of the weights of the fact types
in which it has the value asked for, cut into grades. Types of weight 0 are noise: they
stand in the text and decide nothing. So it is known which facts matter and how much,
and a method that claims to find out can be marked.

Time and memory are linear in the number of documents times queries and in the number
of documents; `documents_in_chunks` renders a million documents in bounded memory.

    python data/make/planted.py   # writes data/planted: 2,000 documents, 100 queries, seed 0
"""

import gzip
import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

WEIGHTS = {"section": 8, "evidence": 4, "party": 2, "amount": 1, "court": 0, "month": 0, "clerk": 0}
GRADES = (0.6, 0.8, 0.99)  # share of the total weight from which a grade is earned
PER_SECTION = 50  # documents that share a section, so that hits do not grow with size
_PHRASES = {
    "section": "Section {} was applied.",
    "evidence": "The court relied on {}.",
    "party": "The claim was brought by {}.",
    "amount": "The sum in dispute was {} crowns.",
    "court": "It was heard at {}.",
    "month": "It was filed in {}.",
    "clerk": "The clerk was {}.",
}
_WORDS = {
    "evidence": "a medical report, an eyewitness, a confession, a site inspection, "
    "an expert opinion, a recovery memo, an electronic record, a signed document, "
    "a post-mortem report, circumstantial evidence",
    "party": "a tenant, a minor, an employee, a contractor, a partnership, a carrier, "
    "an insurer, a policyholder, a public body, a foreign national, a licensee, "
    "a lender",
    "court": "Northgate, Easton, Westbury, Southmoor, Midvale, Harbourside",
    "month": "January, February, March, April, May, June, July, August, September, October, November, December",
    "clerk": "Adeyemi, Brandt, Castellano, Dufour, Eriksen, Fontaine, Goh",
}
_THOUSANDS = (2, 3, 5, 8, 12, 20, 35, 50, 75, 90)


@dataclass(frozen=True, eq=False)
class PlantedTruth:
    """What decides relevance in a planted dataset."""

    weights: dict
    values: dict = field(repr=False)
    documents: np.ndarray = field(repr=False)
    queries: np.ndarray = field(repr=False)

    def scores(self, query):
        """Give the true relevance of every document for one query."""
        total = np.zeros(len(self.documents))
        for column, weight in enumerate(self.weights.values()):
            if weight:
                asked = self.queries[query, column]
                total += weight * (self.documents[:, column] == asked)
        return total / sum(self.weights.values())


def plant(n_documents=2000, n_queries=100, seed=0, weights=None):
    """Documents, queries, judgements and truth of a collection whose relevance is known."""
    truth = plant_truth(n_documents, n_queries, seed, weights)
    documents = pd.concat(documents_in_chunks(truth), ignore_index=True)
    matters = np.flatnonzero(list(truth.weights.values()))
    asked = {name: v for name, v in truth.values.items() if truth.weights[name]}
    texts = render(asked, truth.queries[:, matters])
    queries = pd.DataFrame({"query_id": _ids("q", 0, n_queries, n_queries), "text": texts})
    ids = documents["doc_id"].to_numpy()
    qrels = {name: _grades(truth, row, ids) for row, name in enumerate(queries["query_id"])}
    return documents, queries, qrels, truth


def plant_truth(n_documents, n_queries, seed=0, weights=None):
    """Draw the fact tables only, which costs a few bytes per fact."""
    if n_documents < 1 or n_queries < 1 or seed < 0:
        raise ValueError("planted: sizes must be at least 1 and the seed at least 0")
    chosen = _checked(WEIGHTS if weights is None else weights)
    words = vocabulary(n_documents)
    values = {name: words[name] for name in chosen}
    sizes = [len(value) for value in values.values()]
    documents = np.random.default_rng([seed, 1]).integers(
        sizes, size=(n_documents, len(sizes)), dtype=np.int32
    )
    asked = np.random.default_rng([seed, 2]).integers(n_documents, size=n_queries)
    return PlantedTruth(chosen, values, documents, documents[asked])


def documents_in_chunks(truth, rows=50_000):
    """Render the documents, some at a time."""
    n = len(truth.documents)
    for start in range(0, n, rows):
        codes = truth.documents[start : start + rows]
        facts = {
            name: np.array(values, dtype=object)[codes[:, column]]
            for column, (name, values) in enumerate(truth.values.items())
        }
        ids = _ids("d", start, start + len(codes), n)
        texts = render(truth.values, codes)
        yield pd.DataFrame({"doc_id": ids, "title": "", "text": texts, **facts})


def _checked(weights):
    unknown = weights.keys() - WEIGHTS.keys()
    if unknown:
        raise ValueError(f"planted: unknown fact type {min(unknown)!r}")
    chosen = {name: float(weights.get(name, 0)) for name in WEIGHTS}
    if min(chosen.values()) < 0 or not 0 < sum(chosen.values()) < np.inf:
        raise ValueError("planted: weights must not be negative, nor all 0")
    return chosen


def _ids(prefix, start, stop, n):
    """Count from 1 with the digits that n needs, so that ids sort as numbers do."""
    width = len(str(n))
    return [f"{prefix}{number:0{width}d}" for number in range(start + 1, stop + 1)]


def _grades(truth, row, ids):
    """Give {doc_id: grade} of the documents that earn one."""
    grades = np.digitize(truth.scores(row), GRADES)
    return {ids[at]: int(grades[at]) for at in np.flatnonzero(grades)}


def vocabulary(n_documents):
    """List the values that each fact type can take."""
    sections = max(20, n_documents // PER_SECTION)
    words = {name: tuple(text.split(", ")) for name, text in _WORDS.items()}
    return {
        "section": tuple(str(number) for number in range(1, sections + 1)),
        "amount": tuple(f"{1000 * n:,}" for n in _THOUSANDS),
        **words,
    }


def render(values, codes):
    """Write each row of a fact table as sentences."""
    columns = []
    for column, (name, words) in enumerate(values.items()):
        sentences = [_PHRASES[name].format(word) for word in words]
        columns.append([sentences[code] for code in codes[:, column].tolist()])
    return [" ".join(row) for row in zip(*columns, strict=True)]


def main():
    """Write the collection in the BEIR layout, the same bytes every time."""
    folder = Path(__file__).parents[1] / "planted"
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    documents, queries, qrels, _ = plant()
    lines = []
    for row in documents.to_dict("records"):
        metadata = {name: row[name] for name in WEIGHTS}
        lines.append(
            json.dumps(
                {"_id": row["doc_id"], "title": "", "text": row["text"], "metadata": metadata}
            )
            + "\n"
        )
    (folder / "corpus.jsonl.gz").write_bytes(gzip.compress("".join(lines).encode(), mtime=0))
    rows = [
        json.dumps({"_id": row.query_id, "text": row.text}) + "\n" for row in queries.itertuples()
    ]
    (folder / "queries.jsonl").write_text("".join(rows), encoding="utf-8")
    rows = [
        f"{query}\t{doc}\t{grade}\n" for query, row in qrels.items() for doc, grade in row.items()
    ]
    text = "query-id\tcorpus-id\tscore\n" + "".join(rows)
    (folder / "qrels" / "all.tsv").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
