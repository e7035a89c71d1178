"""Single questions to assistants: answers, contexts and scores of every system."""

from casebook.assistant.study import (
    ANSWER_MEASURES,
    defined_measures,
    measure_name,
    tool_measures,
    without_references,
)
from casebook.data.cards import card_of, may_show
from casebook.measures.faithfulness import THRESHOLD, faithfulness
from casebook.runs.items import ALL_TEXTS, item_page, one_line

UNGROUNDED = "sentence not grounded"
NOT_GROUNDED = "not grounded"
ABSTAINED = "abstained"
LONGEST_ANSWER = 400
LONGEST_SENTENCE = 120


def answer_items(log, rows, measure, focus, against=None, *, data=None, is_quotation=False):
    """Questions of a log, those first on which the systems differ most by a measure.

    ``data`` names the data set that the texts are from, which decides what is shown. Answers that
    are quotations (``is_quotation``) repeat documents.
    """
    measures = defined_measures(rows, [*ANSWER_MEASURES, *tool_measures(rows)])
    measures.sort(key=lambda name: name != measure)  # the compared one leads
    answers = log[["id", "system", "answer", "contexts", "context_ids"]].merge(rows)
    answers = answers.sort_values("system", key=lambda names: names != focus, kind="stable")
    results = answers[["id", "system", *measures]].rename(columns=measure_name)
    results["answer"] = [one_line(text, LONGEST_ANSWER) for text in answers["answer"]]
    results[NOT_GROUNDED] = list(map(_ungrounded, answers.to_dict("records")))
    results[UNGROUNDED] = results[NOT_GROUNDED].map(len) > 0
    results[ABSTAINED] = answers["abstained"].astype(bool)
    documents = {}
    results["contexts"] = [_contexts(row, documents) for row in answers.to_dict("records")]
    by_question = rows.groupby("id")[measure]
    gap = (by_question.max() - by_question.min()).reindex(log["id"].unique()).fillna(0)
    gap = gap.sort_values(ascending=False, kind="stable")
    items = log.drop_duplicates("id").set_index("id").loc[gap.index, ["reference", "question"]]
    items["text"] = items.pop("question").map(one_line)
    card = card_of(data) if data else None
    return item_page(
        items.reset_index(),
        results,
        against=against,
        ready=[(ABSTAINED, focus, None), (UNGROUNDED, focus, None)],
        card=card,
        shown=may_show(card) if card else ALL_TEXTS,
        documents=documents,
        item_texts=["reference"],
        document_texts=["answer", NOT_GROUNDED] if is_quotation else [],
    )


def _ungrounded(row):
    """Sentences of an answer that its contexts do not support."""
    if row["abstained"]:
        return []
    scored = faithfulness(without_references(row["answer"]), row["contexts"] or [])
    weak = [s for s in scored.sentences if s.share is not None and s.share < THRESHOLD]
    return [one_line(sentence.text, LONGEST_SENTENCE) for sentence in weak]


def _contexts(row, documents):
    """Names of the contexts of an answer: their ids if no other text has these."""
    names = []
    for place, text in enumerate(row["contexts"] or []):
        name = f"passage {place + 1} of {row['id']}, {row['system']}"
        if row["context_ids"] and documents.get(row["context_ids"][place], text) == text:
            name = row["context_ids"][place]
        documents[name] = text
        names.append(name)
    return names
