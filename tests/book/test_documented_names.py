"""The pages of the documents know every number that a documented system prints under a name."""

import pandas as pd

from casebook.book.concordance import documents, read_concordance
from casebook.factcheck.explain import documented_quality
from casebook.factcheck.score import performance
from casebook.measures.classification import documented_metrics
from casebook.raters.documented import (
    documented_analysis,
    documented_preference,
    example_votes,
)
from casebook.sensitivity.evaluation import documented_evaluation
from casebook.shift.gate import EVALUATORS

ANNOTATED = pd.DataFrame(
    {"case_id": ["a"], "fact_type": "Section", "dispositive": True, "importance": 1.0}
)
AGREEMENT, RATINGS = "Inter-rater agreement", "Mean ratings (aggregate"
NOT_MEASURES = {"n", "tp", "tn", "fp", "fn", "ties", "n_items", "n_raters_expected"}
SPELT = {
    "rag_wins": "win",
    "rag_losses": "loss",
    "mean_spearman": "Spearman",
    "total_processing_time": "processing time",
}


def _documented_names():
    analysis = documented_analysis(example_votes())
    chosen = [v for k, v in analysis.items() if k.startswith(AGREEMENT)]
    chosen += [v["RAG"] for k, v in analysis.items() if k.startswith(RATINGS)]
    found = {*EVALUATORS, "map@1", "ndcg@3", "mean rank displacement", "faithfulness"}
    for numbers in (
        *chosen,
        documented_metrics([], []),
        documented_preference([[1]]),
        documented_quality([], [], ""),
        performance([])["measure"],
        documented_evaluation(pd.DataFrame({"Section": [2.0]}, ["a"]), ANNOTATED),
    ):
        found |= set(numbers)
    return sorted(found - NOT_MEASURES)


def test_every_documented_number_is_explained():
    rows = [row for document in documents() for row in read_concordance(document)["rows"]]
    terms = " ".join(
        " ".join([str(row["term"]), *map(str, row["aliases"])]) for row in rows
    ).lower()
    lost = []
    for name in _documented_names():
        spelt = SPELT.get(name, name).lower()
        if spelt not in terms and spelt.replace("_", " ") not in terms:
            lost.append(name)
    assert lost == []
