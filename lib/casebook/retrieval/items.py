"""Single questions of an ablation: what is relevant, and what every system returned."""

import pandas as pd

from casebook.runs.items import item_page

ITEM_MEASURES = ("nDCG@10", "RR@10", "AP", "R@10")
ITEM_DEPTH = 10
MOST_BYTES = 900_000  # every system is kept
FIRST = f"first {ITEM_DEPTH} documents"
NOTHING = f"nothing relevant in the first {ITEM_DEPTH}"
LOST_UNLISTED = "lost: in no list"
LOST_BY_CUT = "lost: by the last cut"


def question_items(
    study, *, focus=None, against=None, tags=None, scope=None, ready=(), most_bytes=MOST_BYTES
):
    """Collect the questions of an ablation, those first on which its systems differ most.

    Parameters
    ----------
    study : Ablation
        All its systems are kept.
    focus, against : str, optional
        The system under study, and what a reader compares it with at first.
    tags : dict of str to list of str, optional
        Ids of the questions of each tag.
    scope : str, optional
        The tag of those questions that the chapter's tables are about.
    ready : sequence of (str, str, str)
        What a reader may want to see: text, system, and the system that is better there.
    """
    data = study.dataset
    questions = data.queries[["query_id", "text"]].rename(columns={"query_id": "id"})
    relevant = {query: _relevant(data, query) for query in questions["id"]}
    systems = sorted(study.results, key=lambda name: name != focus)
    tested = [name for name in systems if name not in study.controls]
    results = pd.concat([_results(study, system, relevant) for system in systems])
    opened = set().union(*relevant.values(), *results[results["system"].isin(tested)][FIRST])
    texts = data.documents[data.documents["doc_id"].isin(opened)].set_index("doc_id")["text"]
    scores = study.scores["nDCG@10"].reindex(questions["id"])[tested]
    spread = (scores.max(axis=1) - scores.min(axis=1)).fillna(0).reset_index(drop=True)
    for tag, ids in (tags or {}).items():
        questions[tag] = questions["id"].isin(ids)
    questions["marked"] = questions["relevant documents"] = list(relevant.values())
    nothing = [(NOTHING, system, None) for system in tested[:1]]
    return item_page(
        questions.iloc[spread.sort_values(ascending=False, kind="stable").index],
        results,
        against=against,
        ready=[*ready, *nothing],
        scope=scope,
        card=data.card,
        documents=texts.to_dict(),
        most_bytes=most_bytes,
    )


def lost_documents(study, system, depth=ITEM_DEPTH):
    """Give the questions of which a system loses a relevant document, by where it loses it."""
    query_ids = study.dataset.queries["query_id"].tolist()
    result = study.results[system]
    returned = result.run(query_ids)
    listed = result.run(query_ids, "fused")
    lost = {LOST_UNLISTED: [], LOST_BY_CUT: []}
    for query in query_ids:
        relevant = set(_relevant(study.dataset, query))
        if relevant - set(listed[query]):
            lost[LOST_UNLISTED].append(query)
        if relevant & set(listed[query]) - set(list(returned[query])[:depth]):
            lost[LOST_BY_CUT].append(query)
    return {tag: ids for tag, ids in lost.items() if ids}


def _relevant(data, query):
    return [document for document, grade in data.qrels.get(query, {}).items() if grade > 0]


def _results(study, system, relevant):
    """Give scores and first documents of one system, a row a question."""
    run = study.results[system].run(list(relevant))
    measures = [name for name in ITEM_MEASURES if name in study.scores]
    rows = pd.DataFrame({name: study.scores[name][system] for name in measures})
    rows = rows.reindex(list(relevant)).rename_axis("id").reset_index().assign(system=system)
    rows[FIRST] = [list(run[query])[:ITEM_DEPTH] for query in relevant]
    pairs = zip(relevant.values(), rows[FIRST], strict=True)
    rows[NOTHING] = [set(wanted).isdisjoint(first) for wanted, first in pairs]
    return rows
