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
    documents = {}
    reached = [name for name, _ in (outcomes or {}).values()]
    scores = rows[list(dict.fromkeys(["id", "system", "abstained", *measures, *reached]))]
    answers = log[["id", "system", "answer", "contexts", "context_ids"]].merge(scores)
    answers = answers.sort_values("system", key=lambda names: names != focus, kind="stable")
    fields = [_answer(row, outcomes or {}, documents) for row in answers.to_dict("records")]
    titles = {name: _title(name) for name in measures}
    values = answers[["id", "system", *measures]].rename(columns=titles)
    results = values.reset_index(drop=True).join(pd.DataFrame(fields))
    items = log.drop_duplicates("id")[["id", "question", "reference"]]
    items = items.assign(text=items["question"].map(one_line)).drop(columns="question")
    of_copies = [(missed or {}).get(name, {}) for name in items["id"]]
    items[f"copies of the answer of {focus}"] = [
        [
            (defect, f"missed by {', '.join(names) or 'no measure'}")
            for defect, names in copies.items()
        ]
        for copies in of_copies
    ]
    items["tags"] = list(map(_copy_tags, of_copies))
    table = rows.pivot_table(measure, "id", "system")
    gap = (table.max(axis=1) - table.min(axis=1)).reindex(items["id"]).fillna(0)
    order = gap.reset_index(drop=True).sort_values(ascending=False, kind="stable").index
    return item_page(
        items.iloc[order],
        results,
        against=against,
        ready=[(tag, focus, None) for tag in ("abstained", UNGROUNDED) if focus],
        card=card,
        shown=may_show(card) if card else ALL_TEXTS,
        documents=documents,
        item_texts=["reference"],
        document_texts=["answer", NOT_GROUNDED] if is_quotation else [],
    )


def _copy_tags(copies):
    tags = [f"copy: {defect}" for defect in copies]
    return tags + [f"{defect}: missed by {name}" for defect in copies for name in copies[defect]]


def _answer(row, outcomes, documents):
    """Give the fields of one answer; its contexts are added to the documents."""
    contexts = row["contexts"] or []
    weak = []
    if not row["abstained"]:
        for sentence in faithfulness(without_references(row["answer"]), contexts).sentences:
            if sentence.share is not None and sentence.share < THRESHOLD:
                weak.append(one_line(sentence.text, LONGEST_SENTENCE))
    reached = [outcome for outcome, (name, least) in outcomes.items() if row[name] >= least]
    tags = ["abstained" if row["abstained"] else "answered", *reached]
    return {
        "answer": one_line(row["answer"], LONGEST_ANSWER),
        NOT_GROUNDED: weak,
        "contexts": [_context(row, place, text, documents) for place, text in enumerate(contexts)],
        "tags": list(dict.fromkeys(tags + [UNGROUNDED] * bool(weak))),
    }


def _context(row, place, text, documents):
    """Name a context, by its id if no other text has that."""
    name = f"passage {place + 1} of {row['id']}, {row['system']}"
    if row["context_ids"] and documents.get(row["context_ids"][place], text) == text:
        name = row["context_ids"][place]
    documents[name] = text
    return name


def _title(measure):
    title = measure.replace("original:", "COUNTERCASE's ")
    return title if title.startswith("nDCG") else title[0].upper() + title[1:]
