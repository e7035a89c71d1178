"""The glossary knows every number that a documented system prints under a name."""

import pandas as pd

from casebook.factcheck.explain import documented_quality
from casebook.factcheck.score import documented_performance
from casebook.measures.classification import documented_metrics
from casebook.paths import ROOT
from casebook.raters.documented import documented_analysis, documented_preference
from casebook.sensitivity.evaluation import documented_evaluation
from casebook.shift.gate import EVALUATORS

METHODS = ROOT / "book/methods"
TEXT = (METHODS / "glossary.md").read_text(encoding="utf-8")
ROWS = [line for line in TEXT.splitlines() if line.startswith("| ")][1:]
FORM = [{"prompt_text": "q", "side": "S1", "preferred": "S1"}]
ANNOTATED = pd.DataFrame(
    {"case_id": ["a"], "fact_type": "Section", "dispositive": True, "importance": 1.0}
)
AGREEMENT, RATINGS = "Inter-rater agreement", "Mean ratings (aggregate"
NOT_MEASURES = {"n", "tp", "tn", "fp", "fn", "ties", "n_items", "n_raters_expected"}
SPELT = {
    "f1": "F1",
    "rag_wins": "win",
    "rag_losses": "loss",
    "llm_accept_rate": "LLM accept rate",
    "mean_spearman": "Spearman's rho",
    "total_processing_time": "mean processing time",
    "high_credibility_ratio": "high-credibility ratio",
    "overall": "overall quality",
    "non_dispositive_accuracy": "non-dispositive accuracy",
}


def _documented_names():
    analysis = documented_analysis([("r1", FORM), ("r2", FORM)])
    chosen = [v for k, v in analysis.items() if k.startswith(AGREEMENT)]
    chosen += [v["RAG"] for k, v in analysis.items() if k.startswith(RATINGS)]
    found = {*EVALUATORS, "map@1", "ndcg@3", "mean rank displacement", "faithfulness"}
    for numbers in (
        *chosen,
        documented_metrics([], []),
        documented_preference([[1]]),
        documented_quality([], [], [], ""),
        documented_performance([]),
        documented_evaluation(pd.DataFrame({"Section": [2.0]}, ["a"]), ANNOTATED),
    ):
        found |= set(numbers)
    return sorted(found - NOT_MEASURES)


def test_every_documented_number_is_explained():
    terms = " ".join(row.split("|")[1] for row in ROWS).lower()
    lost = []
    for name in _documented_names():
        spelt = SPELT.get(name, name).lower()
        if spelt not in terms and spelt.replace("_", " ") not in terms:
            lost.append(name)
    assert lost == []
