"""Answers of assistants."""

from casebook.book.item_parts import OTHER_NOT, UNGROUNDED, cell, facts, item, score_table, table

_IN_FULL = "grounded in full"
_WHOLE_NUMBERS = {"Answered": 0, "Words": 0}  # decimals of these measures


def content(collection):
    """Give layout, items, measures and ready-made questions of the page."""
    systems = collection["systems"]
    contexts = "Contexts that each system was given"
    copies = f"Copies of the answer of {collection.get('focus')} with one defect each"
    measures = collection["measures"]
    return {
        "layout": [
            table("Answers", ["System", "Answer", "Abstained"], missing="none", cards=True),
            facts(),
            score_table("Scores of this question"),
            table(contexts, ["System", "Context"], missing="none", cards=True),
            table(copies, ["Defect", "Measures that miss it"], missing="none"),
        ],
        "items": [
            _answered_question(question, systems, len(measures)) for question in collection["items"]
        ],
        "measures": [(measure, _WHOLE_NUMBERS.get(measure, 3)) for measure in measures],
        "wrong": (UNGROUNDED, "only where {system} has a sentence that is not grounded"),
        "questions": _answer_questions(systems, collection["pair"]),
    }


def _answer_questions(systems, pair):
    """Offer what the two systems do not do alike."""
    if pair is None:
        return []
    ready = []
    first, second = (systems[k] for k in pair)
    for system, against in ((first, second), (second, first)):
        choice = {"system": system, "against": against}
        flipped = {"only": f"{_IN_FULL}{OTHER_NOT}"}
        ready.append(
            (f"questions where {system} is worse than {against}", choice | {"change": "worse"})
        )
        ready.append((f"answered {_IN_FULL} by {system}, not by {against}", choice | flipped))
    return ready


def _answered_question(question, systems, n_measures):
    answers = question["given"]
    by_system = {name: answer for name, answer in zip(systems, answers, strict=True) if answer}
    undefined = [None] * n_measures
    missed = question.get("missed", {})
    contexts = [row for name, answer in by_system.items() for row in _context_rows(name, answer)]
    return item(
        question["id"],
        question["text"],
        [
            [_answer_row(name, answer) for name, answer in by_system.items()],
            [["Reference", question["reference"]]] if question["reference"] else [],
            None,
            contexts,
            [[defect, ", ".join(names) or None] for defect, names in missed.items()],
        ],
        tags=[tag for defect, names in missed.items() for tag in _copy_tags(defect, names)],
        by_system=[_answer_tags(answer) for answer in answers],
        scores=[answer["values"] if answer else undefined for answer in answers],
    )


def _copy_tags(defect, names):
    return [f"copy: {defect}", *(f"{defect}: missed by {name}" for name in names)]


def _answer_tags(answer):
    if not answer:
        return []
    tags = ["abstained" if answer["abstained"] else "answered", *answer.get("outcomes", ())]
    if answer["weak"]:
        tags.append(UNGROUNDED)
    return list(dict.fromkeys(tags))


def _answer_row(system, answer):
    note = None
    if answer.get("weak"):
        note = "Not grounded: " + " | ".join(answer["weak"])
    abstained = "yes" if answer["abstained"] else "no"
    return [system, cell(answer["answer"] or None, None, note), abstained]


def _context_rows(system, answer):
    for k, text in enumerate(answer["contexts"]):
        name = answer["ids"][k] if answer["ids"] else f"passage {k + 1}"
        yield [system, cell(text, None, name) if text else name]
