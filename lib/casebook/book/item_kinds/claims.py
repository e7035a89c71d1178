"""Claims of a fact-checking chapter."""

from collections import Counter

from casebook.book.item_parts import cell, decimal, facts, item, table, text_or_none
from casebook.tables import reason_text

_WRONG = "wrong verdict"
_MISSED = "evidence not found"
_CONFUSION = "gold {}, verdict {}"
_MISJUDGED = "judge wrong: {}"
_MOST_CELLS = 4  # of the confusion matrix, that the page offers


def content(collection):
    """Give layout, items, measures and ready-made questions of the page."""
    main = collection["systems"][0]
    sub_claims = ["Part", "Sub-claim", "Verdict", "Share of support", "Passages"]
    decisive = "Decisive evidence"
    if collection["searched"]:
        decisive += f"; ✓ was found by {main}, ✗ was not"
    verdicts = ["System", "Verdict", "Stated probability that it is right"]
    cited = ["Passage", "For", "Stance", "Probability of support", "Credibility"]
    cited_caption = f"Evidence that {main} found; ✓ contains decisive words"
    no_side = "none: no passage takes a side"
    without = "Verdicts of the pipeline without a part, where they are other ones"
    items = []
    for claim in collection["items"]:
        items.append(_misjudged(claim) if "set" in claim else _claim(claim, collection))
    return {
        "layout": [
            facts(),
            table("Verdicts; ✓ is right, ✗ wrong", verdicts, "none"),
            table(without, ["Pipeline", "Verdict"], "none"),
            table(f"Sub-claims that {main} judged", sub_claims, no_side, cards=True),
            table(decisive, ["Passage", "Decides", "Gold label"], "none", cards=True),
            table(cited_caption, cited, "none", cards=True),
        ],
        "items": items,
        "measures": [("right verdict", 0), ("stated probability", 3)],
        "words": ("right where the other is wrong", "as right", "wrong where the other is right"),
        "orders": ("least certain first",),
        "wrong": (_WRONG, "only where {system} is wrong"),
        "questions": _claim_questions(main, collection["items"]),
    }


def _claim_questions(main, claims):
    """Offer the cells of the confusion matrix off its diagonal, and what the search missed."""
    sets = dict.fromkeys(claim["set"] for claim in claims if "set" in claim)
    claims = [claim for claim in claims if "set" not in claim]
    cells = Counter(
        _CONFUSION.format(claim["label"], claim["verdicts"][0] or "none")
        for claim in claims
        if claim["right"][0] is False
    )
    ready = [
        (f"claims, {main}: {tag}", {"system": main, "only": tag})
        for tag, _ in cells.most_common(_MOST_CELLS)
    ]
    if any(claim["missed"] for claim in claims):
        ready.append(("claims whose evidence was not found", {"only": _MISSED}))
    for name in sets:
        text = f"claims of {name} that the judge has wrong, given the gold evidence"
        ready.append((text, {"only": _MISJUDGED.format(name)}))
    return ready


def _claim(claim, collection):
    main = collection["tested"][0] if collection["tested"] else 0
    problems = []
    if claim["right"][main] is False:
        problems.append(_WRONG)
    tags = [f"label: {claim['label']}"]
    if claim["missed"]:
        problems.append(_MISSED)
    if claim["missed"] is not None:
        tags.append(_MISSED if claim["missed"] else "evidence found")
    tags += [f"{name}: {value}" for name, value in claim["slices"].items()]
    tags += claim.get("decided", ())
    return item(
        claim["id"],
        claim["text"],
        [
            _claim_facts(claim, problems),
            _verdict_rows(claim, collection["systems"]),
            [_without_part(claim, part) for part in claim.get("without", ())],
            [_sub_claim_row(sub_claim) for sub_claim in claim["parts"]],
            [_decisive_row(role, collection) for role in claim["decisive"]],
            [_cited_row(role, collection) for role in claim["cited"]],
        ],
        tags=tags,
        by_system=[
            _verdict_tags(claim["label"], verdict, right)
            for verdict, right in zip(claim["verdicts"], claim["right"], strict=True)
        ],
        scores=[
            [None if right is None else int(right), stated]
            for right, stated in zip(claim["right"], claim["stated"], strict=True)
        ],
        keys=[claim["stated"][main] or 0.0],
    )


def _misjudged(claim):
    """Give a claim of another set that the judge has wrong, given its gold evidence."""
    named_values = [
        ["Claims of", claim["set"]],
        ["Gold label", claim["label"]],
        ["Verdict of the judge, given the gold evidence", cell(claim["verdict"], "wrong")],
        ["Gold evidence", claim["evidence"] or "not shown: the licence does not let us"],
    ]
    tags = [_MISJUDGED.format(claim["set"])]
    parts = [named_values, *[None] * 5]
    return item(claim["id"], claim["text"], parts, tags=tags, keys=[1.0])


def _without_part(claim, part):
    """Give the verdict of the pipeline without a part."""
    verdict = claim["without"][part]
    mark = "right" if verdict == claim["label"] else "wrong"
    return [part, cell(verdict, mark)]


def _verdict_tags(label, verdict, right):
    """Give the cell of the confusion matrix, and whether the verdict is wrong."""
    cell_tag = _CONFUSION.format(label, verdict or "none")
    return [cell_tag, _WRONG] if right is False else [cell_tag]


def _claim_facts(claim, problems):
    named_values = [
        ["Gold label", claim["label"]],
        *([name.capitalize(), value] for name, value in claim["slices"].items()),
        ["What is wrong", ", ".join(problems) or "nothing"],
    ]
    if claim["reason"]:
        named_values.append(["Why no evidence decided", reason_text(claim["reason"])])
    return named_values


def _verdict_rows(claim, systems):
    marks = {True: "right", False: "wrong", None: None}
    columns = zip(systems, claim["verdicts"], claim["right"], claim["stated"], strict=True)
    return [
        [system, cell(verdict, marks[right]), decimal(probability)]
        for system, verdict, right, probability in columns
    ]


def _sub_claim_row(sub_claim):
    return [
        sub_claim["id"],
        sub_claim["text"],
        sub_claim["verdict"],
        decimal(sub_claim["score"]),
        text_or_none(sub_claim["evidence"]),
    ]


def _decisive_row(role, collection):
    mark = None
    if collection["searched"]:
        mark = "found" if role["met"] else "missed"
    passage = _passage(role, collection, mark)
    return [passage, role["about"] or "the claim", role["stance"]]


def _cited_row(role, collection):
    passage = _passage(role, collection, "decides" if role["met"] else None)
    probability = decimal(role["probability"])
    return [passage, role["about"] or None, role["stance"], probability, role["level"]]


def _passage(role, collection, mark):
    """Give a passage, its document and characters below."""
    document, start, end, text = collection["passages"][role["passage"]]
    doc_id, title = collection["documents"][document]
    source = f"{doc_id}, characters {start} to {end}" if end else doc_id
    if title:
        source = f"{title} ({source})"
    return cell(text, mark, source) if text else cell(source, mark)
