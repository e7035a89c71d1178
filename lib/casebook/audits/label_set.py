"""Relevance labels of one dataset, in the order in which they are stored."""

from dataclasses import dataclass, field

import pandas as pd


@dataclass(frozen=True, eq=False)
class Labels:
    """Which documents are relevant to which questions, and how they were found."""

    name: str
    splits: dict
    documents: list
    whole: bool = True
    links: pd.DataFrame | None = None
    query_texts: dict = field(default_factory=dict)
    document_texts: dict = field(default_factory=dict)
    query_years: dict = field(default_factory=dict)
    document_years: dict = field(default_factory=dict)
    groups: dict = field(default_factory=dict)
    candidates: dict = field(default_factory=dict)
    repeated: tuple = ()
    copies: tuple = ()

    @property
    def relevant(self):
        """Question to relevant documents of all splits; without any it is left out."""
        return {
            query: documents
            for questions in self.splits.values()
            for query, documents in questions.items()
            if documents
        }

    def group(self, query):
        """Give the label of a question's group: its own id without one."""
        return self.groups.get(query, query)


def labels_of(datasets, name=None):
    """Take the labels of one or more splits of a dataset."""
    first = datasets[0]
    ids, texts = first.documents["doc_id"], first.documents["text"]
    queries = pd.concat([dataset.queries for dataset in datasets], ignore_index=True)
    return Labels(
        name or first.key,
        {
            dataset.split: {
                query: [doc for doc, grade in judged.items() if grade >= 1 and doc not in dataset.lacking]
                for query, judged in dataset.qrels.items()
            }
            for dataset in datasets
        },
        list(ids),
        query_texts=dict(zip(queries["query_id"], queries["text"], strict=True)),
        document_texts=dict(zip(ids, texts, strict=True)),
        query_years=_years(queries, "query_id"),
        document_years=_years(first.documents, "doc_id"),
        groups={q: g for d in datasets for q, g in (d.groups or {}).items()},
        copies=tuple(first.documents.attrs.get("copies", ())),
        candidates={q: c for d in datasets for q, c in (d.candidates or {}).items()},
    )


def _years(frame, key):
    if "year" not in frame:
        return {}
    years = pd.to_numeric(frame["year"], errors="coerce")
    known = years.notna()
    return dict(zip(frame.loc[known, key], years[known].astype(int), strict=True))
