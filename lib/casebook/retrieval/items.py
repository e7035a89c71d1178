"""Single questions of an ablation: what is relevant, and what every system returned."""

import pandas as pd

from casebook.runs.items import item_page

MOST_MEASURES = 5
ITEM_DEPTH = 10
MOST_BYTES = 900_000  # every system is kept
FIRST = f"first {ITEM_DEPTH} documents"
NOTHING = f"nothing relevant in the first {ITEM_DEPTH}"
LOST_UNLISTED = "lost: in no list"
LOST_BY_CUT = "lost: by the last cut"


def ablation_items(study, focus, against=None, part_of=()):
    """The questions of an ablation, by part and by where a system loses documents.

    ``part_of`` gives the part of a question by its id. Those on which the system is worse than
    ``against`` are offered first.
    """
    tags = lost_documents(study, focus)
    for query, part in dict(part_of).items():
        tags.setdefault(f"part: {part}", []).append(query)
    ready = []
    if against:
        phrase = [study.phrases.get(system, system) for system in (focus, against)]
        ready.append((f"questions where {phrase[0]} is worse than {phrase[1]}", focus, against))
    if against and {"full", "fused"} <= set(study.results):
        ready.append(("questions where the reranker makes it worse", "full", "fused"))
    page = question_items(study, focus=focus, against=against, tags=tags, ready=ready)
    # Under readers' names, by which marks of figures find them.
    page["systems"] = [study.names.get(system, system) for system in page["systems"]]
    return page


def question_items(study, *, focus=None, against=None, tags=None, ready=(), most_bytes=MOST_BYTES):
    """Collect the questions of an ablation, those first on which its systems differ most.

    Parameters
    ----------
    study : Ablation
        All its systems are kept.
    focus, against : str, optional
        The system under study, and what a reader compares it with at first.
    tags : dict of str to list of str, optional
        Ids of the questions of each tag.
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
    first = next(iter(study.scores.values()))
    scores = first.reindex(questions["id"])[tested]
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
    measures = list(study.scores)[:MOST_MEASURES]
    rows = pd.DataFrame({name: study.scores[name][system] for name in measures})
    rows = rows.reindex(list(relevant)).rename_axis("id").reset_index().assign(system=system)
    rows[FIRST] = [list(run[query])[:ITEM_DEPTH] for query in relevant]
    pairs = zip(relevant.values(), rows[FIRST], strict=True)
    rows[NOTHING] = [set(wanted).isdisjoint(first) for wanted, first in pairs]
    return rows
