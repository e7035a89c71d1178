"""Single questions to assistants: answers, contexts and scores of every system."""

from casebook.assistant.study import ANSWER_MEASURES
from casebook.data.cards import card_of, may_show
from casebook.runs.items import ALL_TEXTS, item_page, one_line


def answer_items(log, rows, measures, focus, *, data=None):
    """Questions of a log, those first on which the systems differ most by the first measure.

    ``data`` names the data set that the texts are from, which decides what is shown.
    """
    card = card_of(data)
    answers = log[["id", "system", "answer", "contexts"]].merge(rows)
    answers = answers.sort_values(
        "system", key=lambda names: names != focus, kind="stable"
    )
    results = answers[["id", "system", *measures]].rename(columns=ANSWER_MEASURES)
    results["answer"] = answers["answer"].map(one_line)
    results["abstained"] = answers["abstained"].astype(bool)
    results["contexts"] = answers["contexts"].map(
        lambda texts: [one_line(text, 120) for text in texts or ()]
    )
    by_question = rows.groupby("id", sort=False)[measures[0]]
    gap = (by_question.max() - by_question.min()).fillna(0)
    ids = gap.sort_values(ascending=False, kind="stable").index
    items = (
        log.drop_duplicates("id").set_index("id").loc[ids, ["question", "reference"]]
    )
    items["text"] = items.pop("question").map(one_line)
    return item_page(
        items.reset_index(),
        results,
        ready=[("abstained", focus, None)],
        card=card,
        shown=may_show(card) if card else ALL_TEXTS,
        item_texts=["reference"],
        document_texts=["contexts"],
    )
