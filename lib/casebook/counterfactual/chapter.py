"""The runs of the sensitivity chapter: studies, budgets, annotated cases, wordings."""

from dataclasses import replace

import pandas as pd

from casebook.counterfactual.collections import PLANTED, annotated_collection, planted_collection
from casebook.counterfactual.edges import OK, PRIMARY, edge_frame
from casebook.counterfactual.evaluation import documented_evaluation, evaluate
from casebook.counterfactual.facts import FACT_TYPES
from casebook.counterfactual.paraphrase import PARAPHRASE, STRANGER, invariance, invariance_table, wording_pairs
from casebook.counterfactual.placebo import MONTHS, inert_words
from casebook.counterfactual.report import retriever_table
from casebook.counterfactual.searching import CaseSearch
from casebook.counterfactual.sensitivity import case_scores, documented_scores
from casebook.counterfactual.study import run_study
from casebook.counterfactual.tree import TreeSettings, grow_trees
from casebook.data.registry import load
from casebook.inference.samples import check_choice
from casebook.models.encoders import load_encoder
from casebook.retrieval.pipeline import HybridRetriever


def run(cases, systems, settings, encoder=None, context="all", n_boot=10_000):
    """Run the study of a collection of cases."""
    check_choice("context", context, ("all", "month"))
    inert = None
    if context == "month":
        inert = inert_words(cases.documents["text"], (MONTHS, (), ()), 1)
        settings = replace(settings, context_words=1)
    return run_study(
        cases.name,
        cases.sheets,
        cases.documents,
        systems,
        annotations=cases.annotations,
        neighbours=cases.neighbours,
        settings=settings,
        inert=inert,
        encoder=encoder,
        n_boot=n_boot,
        chunking=False,
    )


def budget_table(cases, settings, n_boot=10_000):
    """Compare budgets under BM25 by what they test and what scores come out."""
    depth = {"max_depth": settings.max_depth, "seed": settings.seed}
    budgets = {
        "documented, first 5": TreeSettings.documented(outcome=False, **depth),
        "stratified, 5": TreeSettings(placebo_draws=0, **depth),
        "all, level 1": TreeSettings(1, None, placebo_draws=0, seed=settings.seed),
    }
    retriever = HybridRetriever(cases.documents, mode="bm25")
    search = CaseSearch(retriever)
    rows = []
    for name, own in budgets.items():
        trees = grow_trees(cases.sheets, search, own, neighbours=cases.neighbours)
        options = {"n_boot": n_boot, "seed": settings.seed}
        rows.append({"budget": name} | _budget(edge_frame(trees), cases, options))
    return pd.DataFrame(rows)


def run_annotated(name, study, systems, settings, encoder=None):
    """Run the annotated cases against a collection."""
    if not name:
        return None
    documents = study.documents
    if study.name != name:
        planted = name == PLANTED
        documents = planted_collection().documents if planted else load(name).documents
    cases = annotated_collection(documents, name)
    # The annotations speak of the case as it is: every edit of it, and none beyond.
    first_level = replace(settings, max_depth=1, children=None)
    return run(cases, systems, first_level, encoder, n_boot=study.n_boot)


def agreement_table(study):
    """Give the agreement with annotations.

    Parameters
    ----------
    study : SensitivityStudy or None
        From `run_annotated`.

    Returns
    -------
    pandas.DataFrame
        As `casebook.counterfactual.report.retriever_table`; empty without a study.
    """
    if study is None:
        return pd.DataFrame(columns=["system", "pairs", "AUROC of excess"])
    return retriever_table(study)


def wordings(name, systems, encoder=None, n_boot=10_000, seed=0):
    """Measure wordings of one question against each other."""
    if not name:
        return pd.DataFrame(columns=["dataset", "system", "pairs"])
    data = load(name)
    pairs = wording_pairs(data, load_encoder(encoder or "minilm"))
    moved = invariance(pairs, data.documents, systems, encoder=encoder, seed=seed)
    table = invariance_table(moved, n_boot=n_boot, seed=seed)
    table.insert(0, "dataset", data.name)
    return table


def numbers(studies, wordings_table):
    """Collect the numbers of the chapter for ``numbers.json``."""
    found = {s.name: s.numbers() for s in studies if s is not None}
    for row in wordings_table.to_dict("records"):
        bounds = [row[f"{PARAPHRASE} low"], row[f"{PARAPHRASE} high"]]
        found.setdefault(row["dataset"], {})[row["system"]] = {
            f"{PRIMARY} between wordings": {
                "value": row[PARAPHRASE],
                "ci": bounds,
                "n": row["pairs"],
                "control": row[STRANGER],
                "reason": None,
            }
        }
    return found


def _budget(edges, cases, options):
    used = edges[edges["status"] == OK]
    assessed = case_scores(edges, "displacement", over_placebo=False)
    row = {
        "edges": len(used),
        "pairs assessed": int(assessed.notna().to_numpy().sum()),
        "pairs": len(cases.sheets) * len(FACT_TYPES),
    }
    row |= {name: int((used["fact_type"] == name).sum()) for name in FACT_TYPES}
    if not len(cases.annotations):
        return row
    scores = documented_scores(edges)
    accuracy = documented_evaluation(scores, cases.annotations)
    names = ("dispositive_accuracy", "non_dispositive_accuracy")
    area = evaluate(scores, cases.annotations, **options)["auroc"]
    low, high = (float("nan") if b is None else b for b in area["ci"])
    values = {"AUROC": area["value"], "AUROC low": low, "AUROC high": high}
    return row | {name.replace("_", " "): accuracy[name] for name in names} | values
