"""The page of single claims of a fact-checking chapter."""

from casebook.book.item_parts import cell, decimal, facts, item, page, table, whole

NOUN, TITLE = "claim", "Claim by claim"
BY_SYSTEM = ("verdicts", "right", "stated")
ABOUT = (
    "each claim with its gold label, what every system and control says of it, and for "
    "the first system the sub-claims that it judged and the passages that it read, "
    "beside the evidence that decides. One claim has no interval; the chapter has the "
    "means with theirs. Stance, support and credibility are defined "
    "[here](../../methods/factcheck.md)."
)
SHOWN = "Of passages the beginning is shown."
LEFT_OUT = "that the first system has wrong or whose evidence it missed, and some more"
_NAMES = {True: "right", False: "wrong", None: None}


def view(found):
    """Turn kept claims into a page."""
    main = found["systems"][0]
    layout = [
        facts(),
        table(
            "Verdicts; ✓ is right, ✗ wrong",
            ["System", "Verdict", "Stated probability that it is right"],
            missing="none",
        ),
        table(
            f"Sub-claims that {main} judged",
            ["Part", "Sub-claim", "Verdict", "Share of support", "Passages"],
            missing="none: nothing takes a side",
            cards=True,
        ),
        table(_decisive_caption(found, main), ["Passage", "Decides", "Gold label"], missing="none", cards=True),
        table(
            f"Evidence that {main} found; ✓ holds words that decide",
            ["Passage", "For", "Stance", "Probability of support", "Credibility"],
            missing="none",
            cards=True,
        ),
    ]
    items = [_item(claim, found) for claim in found["items"]]
    orders, wrong = ("least certain first",), f"only where {main} is wrong"
    return page(found, NOUN, layout, items, orders=orders, wrong=wrong)


def _decisive_caption(found, main):
    if not found["searched"]:
        return "Evidence that decides"
    return f"Evidence that decides; ✓ was found by {main}, ✗ was not"


def _item(claim, found):
    main = found["tested"][0] if found["tested"] else 0
    wrong, stated = claim["right"][main] is False, claim["stated"][main]
    problems = _problems(claim, wrong)
    parts = [
        _facts(claim, problems),
        _verdicts(claim, found),
        _parts(claim) or None,
        [_decisive(one, found) for one in claim["decisive"]] or None,
        [_cited(one, found) for one in claim["cited"]] or None,
    ]
    tags = [f"label: {claim['label']}", *problems]
    tags += ["evidence found"] if claim["missed"] is False else []
    tags += [f"{name}: {value}" for name, value in claim["slices"].items()]
    keys = [0.0 if stated is None else stated]
    return item(claim["id"], claim["text"], parts, tags=tags, keys=keys, wrong=wrong)


def _problems(claim, wrong):
    problems = {"wrong verdict": wrong, "evidence not found": claim["missed"]}
    return [name for name, there in problems.items() if there]


def _facts(claim, problems):
    rows = [["Gold label", claim["label"]]]
    rows += [[name.capitalize(), value] for name, value in claim["slices"].items()]
    rows.append(["What is wrong", ", ".join(problems) or "nothing"])
    if claim["reason"]:
        rows.append(["Why no evidence decided", claim["reason"].replace("_", " ")])
    return rows


def _verdicts(claim, found):
    given = (claim[part] for part in BY_SYSTEM)
    return [
        [system, cell(verdict, _NAMES[right]), decimal(stated)]
        for system, verdict, right, stated in zip(found["systems"], *given, strict=True)
    ]


def _parts(claim):
    return [
        [part["id"], part["text"], part["verdict"], decimal(part["score"]), whole(part["evidence"])]
        for part in claim["parts"]
    ]


def _decisive(one, found):
    mark = None
    if found["searched"]:
        mark = "found" if one["met"] else "missed"
    return [_passage(one, found, mark), one["about"] or "the claim", one["stance"]]


def _cited(one, found):
    return [
        _passage(one, found, "decides" if one["met"] else None),
        one["about"] or None,
        one["stance"],
        decimal(one["probability"]),
        one["level"],
    ]


def _passage(one, found, mark):
    """Give a passage, its document and characters below."""
    document, start, end, text = found["passages"][one["passage"]]
    doc_id, name = found["documents"][document]
    place = f"{doc_id}, characters {start} to {end}" if end else doc_id
    place = f"{name} ({place})" if name else place
    return cell(text, mark, place) if text else cell(place, mark)


def past(claim, found, before, place):
    """Give the verdicts of another run on one claim."""
    nothing = [None] * len(before["systems"])
    return {part: claim[part] if claim else nothing for part in BY_SYSTEM}
