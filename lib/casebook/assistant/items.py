"""Single questions to assistants: answers, contexts and scores of every system."""

import pandas as pd

from casebook.assistant.study import (
    ANSWER_MEASURES,
    defined_measures,
    tool_measures,
    without_references,
)
from casebook.data.cards import may_show
from casebook.measures.faithfulness import THRESHOLD, faithfulness
from casebook.runs.items import ALL_TEXTS, item_page, one_line

UNGROUNDED = "sentence not grounded"
NOT_GROUNDED = "not grounded"
ABSTAINED = "abstained"
LONGEST_ANSWER = 400
LONGEST_SENTENCE = 120


def answer_items(
    log,
    rows,
    *,
    card,
    measure,
    focus=None,
    against=None,
    outcomes=None,
    missed=None,
    is_quotation=False,
):
    """Collect the questions of a log, those first on which the systems differ most by a measure.

    ``outcomes`` has measure and least value of what an answer may reach, by name; ``missed`` are
    those of `missed_defects`. Answers that are quotations (``is_quotation``) repeat documents.
    """
    measures = defined_measures(rows, [*ANSWER_MEASURES, *tool_measures(rows)])
    measures.sort(key=lambda name: name != measure)  # the compared one leads
    answers = log[["id", "system", "answer", "contexts", "context_ids"]].merge(rows)
    answers = answers.sort_values("system", key=lambda names: names != focus, kind="stable")
    results = answers[["id", "system", *measures]].rename(columns=ANSWER_MEASURES)
    results["answer"] = [one_line(text, LONGEST_ANSWER) for text in answers["answer"]]
    results[NOT_GROUNDED] = list(map(_ungrounded, answers.to_dict("records")))
    results[UNGROUNDED] = results[NOT_GROUNDED].map(len) > 0
    results[ABSTAINED] = answers["abstained"].astype(bool)
    results["answered"] = ~results[ABSTAINED]
    for outcome, (name, least) in (outcomes or {}).items():
        results[outcome] = answers[name] >= least
    documents = {}
    results["contexts"] = [_contexts(row, documents) for row in answers.to_dict("records")]
    table = rows.pivot_table(measure, "id", "system")
    gap = (table.max(axis=1) - table.min(axis=1)).reindex(log["id"].unique()).fillna(0)
    questions = log.drop_duplicates("id").set_index("id")
    items = questions.loc[gap.sort_values(ascending=False, kind="stable").index, ["reference"]]
    items["text"] = questions["question"].map(one_line)
    tags = {name: dict.fromkeys(_copy_tags(found), 1) for name, found in (missed or {}).items()}
    tags = pd.DataFrame.from_dict(tags, orient="index").reindex(items.index).notna()
    return item_page(
        items.join(tags).reset_index(),
        results,
        against=against,
        ready=[(tag, focus, None) for tag in (ABSTAINED, UNGROUNDED) if focus],
        card=card,
        shown=may_show(card) if card else ALL_TEXTS,
        documents=documents,
        item_texts=["reference"],
        document_texts=["answer", NOT_GROUNDED] if is_quotation else [],
    )


def _copy_tags(copies):
    tags = [f"copy: {defect}" for defect in copies]
    return tags + [f"{defect}: missed by {name}" for defect in copies for name in copies[defect]]


def _ungrounded(row):
    """Give the sentences of an answer that its contexts do not support."""
    if row["abstained"]:
        return []
    scored = faithfulness(without_references(row["answer"]), row["contexts"] or [])
    weak = [s for s in scored.sentences if s.share is not None and s.share < THRESHOLD]
    return [one_line(sentence.text, LONGEST_SENTENCE) for sentence in weak]


def _contexts(row, documents):
    """Name the contexts of an answer, by their ids if no other text has these."""
    names = []
    for place, text in enumerate(row["contexts"] or []):
        name = f"passage {place + 1} of {row['id']}, {row['system']}"
        if row["context_ids"] and documents.get(row["context_ids"][place], text) == text:
            name = row["context_ids"][place]
        documents[name] = text
        names.append(name)
    return names
