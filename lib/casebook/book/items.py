"""A page per chapter that shows its single items: questions, edits, votes, claims.

One page kind shows them all: an item has an id, a text, tags to filter by, keys to sort by, whether it is wrong, and
the content of the page's parts, in the order of its layout: facts, a marked change, tables. A cell is text; a number,
which is a place in the page's documents; None, which is undefined; or a list of one of these, a mark before it and a
note below it. ``assets/items.js`` draws them. Each kind says below what of its items goes into which part.
"""

import html
import json
from itertools import combinations, zip_longest

from casebook.book.markup import raw
from casebook.book.titles import titles
from casebook.data.cards import cards
from casebook.paths import run_dir
from casebook.readers import read_json
from casebook.run import same_data
from casebook.runs.outputs import page_address


def items_file(run, cell):
    """Give the file in which a cell keeps its items."""
    return run_dir(run) / "items" / f"{cell}.json"


def kept_items(run, cell):
    """Read what a cell kept of its items."""
    path = items_file(run, cell)
    return read_json(path) if path.is_file() else None


def items_title(run, cell):
    """Name the page of a cell's items, such as "Claim by claim"."""
    found = kept_items(run, cell)
    return found and KINDS[found["kind"]]["title"]


def item_links(run, cell):
    """Give the addresses of a cell's items, from a page of ``generated``."""
    kept = kept_items(run, cell) or {"items": []}
    return {item["id"]: page_address(cell, q=item["id"]) for item in kept["items"]}


def item_pages(run, cells, compare=None):
    """Write the pages of all cells that kept items, and the data that they load."""
    files, named = {}, titles(run, cells)
    for cell in cells:
        found = kept_items(run, cell)
        if not found:
            continue
        kind = KINDS[found["kind"]]
        notes = [_count(found, kind), found.get("remark"), _texts(found, kind)]
        found["tested"] = [place for place, name in enumerate(found["systems"]) if name not in found["controls"]]
        if compare:
            notes.append(_put_beside(found, kind, cell, run, compare))
        # A script, because a page that was opened from disk may not fetch JSON.
        script = json.dumps(view(found | {"cell": cell}), separators=(",", ":"))
        files[f"items/{cell}.js"] = f"window.casebookItems = {script};\n"
        files[f"items/{cell}.md"] = _markdown(found, kind, cell, notes, named[cell])
    return files


def view(found):
    """Turn what a chapter kept of its items into a page."""
    kind = KINDS[found["kind"]]
    return page(found["cell"], kind["noun"], found["documents"], **kind["view"](found))


def _count(found, kind):
    kept, asked, noun = len(found["items"]), found["asked"], kind["noun"]
    if kept == asked:
        return f"The page shows all {asked} {noun}s."
    left_out = "the others are left out to keep the page small"
    return f"The page shows the {kept} of {asked} {noun}s {kind['left_out']}; {left_out}."


def _texts(found, kind):
    """Say which texts the licence lets be shown."""
    if found["texts"] is None or "documents" in found["texts"]:
        return kind["shown"]
    who = "Documents" if "items" in found["texts"] else f"{kind['noun']}s and documents".capitalize()
    none = "" if found["card"] else ", or none is known"
    return (
        f"{who} are shown by their ids only: the licence of the data does not allow their texts to be passed on{none}."
    )


def _markdown(found, kind, cell, notes, title):
    card, source = cards().get(found["card"]), ""
    if card:
        citation = " ".join(card.citation.split())
        source = f" Data: [{card.title}](../cards/{card.key}.md), {card.licence.name}; {citation}"
    viewer = (
        f'<div class="items"><p>This page needs JavaScript to show single {kind["noun"]}s. '
        "The rows of the chapter hold the same results.</p></div>\n"
        f'<script defer src="{html.escape(cell)}.js"></script>\n'
        '<script defer src="../../_static/items.js"></script>'
    )
    return (
        f"# {title}, {kind['title'].lower()}\n\n"
        f"The single results behind the means of [the chapter](../../run/notebooks/{cell}.ipynb): {kind['about']}\n\n"
        f"{' '.join(filter(None, notes))}{source}\n\n{raw(viewer)}"
    )


# --- what any page is made of


def facts():
    """Describe a part of named values: content is a list of name and cell."""
    return {"part": "facts"}


def change(caption):
    """Describe a part of a text before and after, see `casebook.runs.outputs.changed`."""
    return {"part": "change", "caption": caption}


def table(caption, heads, missing="undefined", cards=False):
    """Describe a table: content is a list of rows of cells."""
    return {"part": "table", "caption": caption, "heads": list(heads), "missing": missing, "cards": cards}


def cell(value, mark=None, note=None):
    """Give a cell with a mark before it or a note below it."""
    if note:
        return [value, mark, note]
    return [value, mark] if mark else value


def item(name, text, parts, *, tags=(), keys=(), wrong=False):
    """Give one item of a page."""
    keys = [round(key, 3) for key in keys]
    return {"id": name, "text": text, "parts": list(parts), "tags": list(tags), "keys": keys, "wrong": wrong}


def page(cell, noun, documents, layout, items, orders=(), wrong=None):
    """Put a page together; tags become places in its list of tags."""
    tags = sorted({tag for one in items for tag in one["tags"]})
    number = {tag: place for place, tag in enumerate(tags)}
    return {
        "cell": cell,
        "noun": noun,
        "layout": list(layout),
        "documents": documents,
        "tags": tags,
        "orders": list(orders),
        "wrong": wrong,
        "items": [one | {"tags": [number[tag] for tag in one["tags"]]} for one in items],
    }


def decimal(value):
    """Write a number of three decimals, None as it is."""
    return None if value is None else f"{value:.3f}"


def whole(value):
    """Write a whole number, None as it is."""
    return None if value is None else str(value)


# --- the systems of another run next to those of this one


def _put_beside(found, kind, cell, run, other):
    """Add the other run's systems to the items of a page, or say why not."""
    noun, parts, before = kind["noun"], kind["by_system"], kept_items(other, cell)
    if not parts:
        return f"The {noun}s of the run {other} are not shown here."
    if before is None or before["kind"] != found["kind"]:
        return f"The run {other} kept no {noun}s of this chapter."
    if not same_data(run, other, cell):
        return f"The run {other} used other data and is not shown here."
    places = {name: place for place, (name, _) in enumerate(found["documents"])}

    def place(past):
        """Turn a place in the other run's documents into one of this run's."""
        name, opening = before["documents"][past]
        if name not in places:
            places[name] = len(places)
            found["documents"].append([name, opening])
        return places[name]

    # Each system of the other run stands next to its namesake of this run.
    names = [*found["systems"], *before["systems"]]
    order = sorted(range(len(names)), key=[names.index(name) for name in names].__getitem__)
    shown = found["systems"] + [f"{system}, {other}" for system in before["systems"]]
    found["systems"] = [shown[n] for n in order]
    found["tested"] = [order.index(n) for n in found["tested"]]
    past = {one["id"]: one for one in before["items"]}
    for one in found["items"]:
        added = kind["past"](past.get(one["id"]), found, before, place)
        for part in parts:
            both = one[part] + added[part]
            one[part] = [both[n] for n in order]
    missing = sum(one["id"] not in past for one in found["items"])
    lost = f"; it did not keep {missing} of the {noun}s" if missing else ""
    return f"The systems of the run {other} are shown next to those of this run{lost}."


# --- questions of a retrieval chapter


def _questions(found):
    systems, depth, tested = found["systems"], found["depth"], found["tested"]
    first = systems[tested[0]] if tested else systems[0]
    items = []
    for one in found["items"]:
        relevant, tops = set(one["relevant"]), one["top"]
        scores = [[name, *map(decimal, values)] for name, values in zip(systems, one["scores"], strict=True)]
        ranks = [
            [cell(place, "relevant"), *(str(top.index(place) + 1) if place in top else None for top in tops)]
            for place in one["relevant"]
        ]
        lists = [
            [str(rank), *(None if d is None else cell(d, "relevant" if d in relevant else None) for d in documents)]
            for rank, documents in enumerate(zip_longest(*tops), 1)
        ]
        means = [one["scores"][place][0] or 0.0 for place in tested] or [0.0]
        missed = bool(tested) and not relevant & set(tops[tested[0]])
        keys = [min(means) - max(means), means[0]]
        items.append(item(one["id"], one["text"], [scores, ranks, lists], keys=keys, wrong=missed))
    return {
        "layout": [
            table("Scores of this question", ["Measure", *found["systems"]]),
            table(
                f"Relevant documents, and their rank in the first {depth}",
                ["Document", *systems],
                missing=f"not in the first {depth}",
            ),
            table(f"First {depth} documents of each system; ✓ is relevant", ["Rank", *systems], missing="none"),
        ],
        "items": items,
        "orders": ("systems differ most", f"{first} worst"),
        "wrong": f"only where {first} has nothing relevant in the first {depth}",
    }


def _past_question(one, found, before, place):
    measures, count = found["measures"], len(before["systems"])
    if one is None:
        return {"scores": [[None] * len(measures)] * count, "top": [[]] * count}
    known = [dict(zip(before["measures"], scores, strict=True)) for scores in one["scores"]]
    return {
        "scores": [[row.get(measure) for measure in measures] for row in known],
        "top": [[place(document) for document in top] for top in one["top"]],
    }


# --- edits of a sensitivity chapter

_DECIDES = {True: "decides", False: "does not decide", None: "not annotated"}


def _edits(found):
    depth, systems, tested = found["depth"], found["systems"], found["tested"]
    layout = [
        facts(),
        change("The query, before and after the edit"),
        change("A placebo of the same size, before and after"),
        table(
            f"What moved (normalised footrule: 0 nothing, 1 everything), and how many of {depth} cases are new",
            ["System", "Edit moved", "Placebos moved", "Cases new after the edit", "After each placebo"],
            missing="not tried or without placebo",
        ),
        table(
            f"Cases that should be found: how many are in the first {depth}, and the best rank",
            ["System", "Before the edit", "After the edit", "After placebos"],
            missing="not tried",
        ),
        table(
            f"Cases that left and entered the first {depth}, with their rank there; ✓ should be found",
            [f"{systems[place]}: {what}" for place in tested for what in ("left", "entered")],
            missing="none",
        ),
    ]
    items = [_edit(one, found) for one in found["items"]]
    return {"layout": layout, "items": items, "orders": ("moved most beyond its placebos",)}


def _edit(one, found):
    results, systems = one["results"], found["systems"]
    first = results[found["tested"][0]] if found["tested"] else None
    known = first if first and not first["error"] else {}
    depth = "edit of the case" if one["depth"] == 1 else "edit of an edited case"
    rows = [
        ["Case", one["case"]],
        ["Kind of fact", f"{one['fact_type']}, which {_DECIDES[one['decides']]}"],
        ["Edited", depth.removeprefix("edit of ")],
    ]
    parts = [
        rows,
        one["change"],
        one["placebo"],
        [[name, *_moved(result)] for name, result in zip(systems, results, strict=True)],
        [[name, *_precedents(result)] for name, result in zip(systems, results, strict=True)]
        if found["precedents"]
        else None,
        _lists([results[place] for place in found["tested"]]) or None,
    ]
    what = {"add": "{new} added", "remove": "{old} removed"}.get(one["operation"], "{old} becomes {new}")
    text = f"{one['fact_type']}: {what.format(old=one['old'], new=one['new'])}"
    excess = 0.0
    if known and known["placebo_moved"] is not None:
        excess = (known["moved"] or 0.0) - known["placebo_moved"]
    tags = [one["fact_type"], _DECIDES[one["decides"]], depth]
    if known.get("found") and known["found"][1] and not known["still_found"][1]:
        tags.append(f"{systems[found['tested'][0]]} lost every precedent")
    return item(one["id"], text, parts, tags=tags, keys=[-excess])


def _moved(result):
    """Give the cells of one system on what moved."""
    if result is None or result["error"]:
        return [result and f"failed: {result['error']}", None, None, None]
    new = ", ".join(map(str, result["placebo_new"])) or None
    return [decimal(result["moved"]), decimal(result["placebo_moved"]), whole(result["new"]), new]


def _precedents(result):
    """Give the cells of one system on the cases that ought to be found."""
    if result is None or result["error"]:
        return [None, None, None]
    placebos = "; ".join(map(_best_and_count, result["placebo_found"]))
    return [_best_and_count(result["found"]), _best_and_count(result["still_found"]), placebos or None]


def _best_and_count(found):
    if found is None:
        return "none known"
    best, count = found
    return f"{count}, best at rank {best}" if count else "none"


def _lists(results):
    """Give the rows of cases that left and entered, a pair of columns a system."""
    columns = [
        [cell(place, "relevant" if wanted else None, f"rank {rank} {word}") for place, rank, wanted in listed]
        for result in results
        for name, word in (("left", "before"), ("entered", "after"))
        for listed in [(result or {}).get(name) or []]
    ]
    return [list(row) for row in zip_longest(*columns)]


def _past_edit(one, found, before, place):
    if one is None:
        return {"results": [None] * len(before["systems"])}

    def placed(result):
        lists = {n: [[place(case), *rest] for case, *rest in result[n]] for n in ("left", "entered") if result.get(n)}
        return result | lists

    return {"results": [result and placed(result) for result in one["results"]]}


# --- items of a double-blind comparison


def _votes(found):
    systems = found["systems"]
    heads = ["Rater", "Vote", "On the left", "Place in the form"]
    heads += [f"{scale.capitalize()} of {system}" for scale in found["scales"] for system in systems]
    layout = [facts(), table("Votes and ratings", heads, "left blank", cards=True)]
    return {
        "layout": layout,
        "items": [_item(one, systems) for one in found["items"]],
        "orders": ("least agreed first",),
    }


def _item(one, systems):
    names = {1: systems[0], -1: systems[1], 0: "tie", None: None}
    cast = [vote["vote"] for vote in one["votes"] if vote["vote"] is not None]
    wins, losses, ties = cast.count(1), cast.count(-1), cast.count(0)
    majority = systems[wins < losses] if wins != losses else "none"
    pairs = list(combinations(cast, 2))
    agreeing = sum(a == b for a, b in pairs)
    lefts = sum(vote["left"] for vote in one["votes"])
    rows = [
        ["More votes", majority],
        ["Raters who agree", f"{agreeing} of {len(pairs)} pairs"],
        [f"{systems[0]} on the left", f"{lefts} of {len(one['votes'])} raters"],
    ]
    votes = []
    for vote in one["votes"]:
        left = systems[0] if vote["left"] else systems[1]
        ratings = [whole(rating) for scale in vote["ratings"] for rating in scale]
        votes.append([vote["rater"], names[vote["vote"]], left, whole(vote["place"]), *ratings])
    tags = [f"more votes: {majority}"]
    if len(cast) > 1:
        tags.append("unanimous" if agreeing == len(pairs) else "not unanimous")
    text = f"{systems[0]} {wins}, {systems[1]} {losses}, tied {ties}"
    agreed = abs(wins - losses) / len(cast) if cast else 0.0
    return item(one["id"], text, [rows, votes], tags=tags, keys=[agreed])


# --- claims of a fact-checking chapter


def _claims(found):
    main = found["systems"][0]
    decides = f"Decisive evidence; ✓ was found by {main}, ✗ was not" if found["searched"] else "Decisive evidence"
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
            missing="none: no passage takes a side",
            cards=True,
        ),
        table(decides, ["Passage", "Decides", "Gold label"], missing="none", cards=True),
        table(
            f"Evidence that {main} found; ✓ contains decisive words",
            ["Passage", "For", "Stance", "Probability of support", "Credibility"],
            missing="none",
            cards=True,
        ),
    ]
    items = [_claim(one, found) for one in found["items"]]
    return {
        "layout": layout,
        "items": items,
        "orders": ("least certain first",),
        "wrong": f"only where {main} is wrong",
    }


def _claim(one, found):
    main = found["tested"][0] if found["tested"] else 0
    wrong, stated = one["right"][main] is False, one["stated"][main]
    problems = [n for n, there in (("wrong verdict", wrong), ("evidence not found", one["missed"])) if there]
    rows = [["Gold label", one["label"]], *([name.capitalize(), value] for name, value in one["slices"].items())]
    rows.append(["What is wrong", ", ".join(problems) or "nothing"])
    if one["reason"]:
        rows.append(["Why no evidence decided", one["reason"].replace("_", " ")])
    names = {True: "right", False: "wrong", None: None}
    given = zip(found["systems"], one["verdicts"], one["right"], one["stated"], strict=True)
    verdicts = [[system, cell(verdict, names[right]), decimal(share)] for system, verdict, right, share in given]
    parts = [[p["id"], p["text"], p["verdict"], decimal(p["score"]), whole(p["evidence"])] for p in one["parts"]]
    decisive = []
    for role in one["decisive"]:
        mark = ("found" if role["met"] else "missed") if found["searched"] else None
        decisive.append([_passage(role, found, mark), role["about"] or "the claim", role["stance"]])
    cited = []
    for role in one["cited"]:
        place = _passage(role, found, "decides" if role["met"] else None)
        cited.append([place, role["about"] or None, role["stance"], decimal(role["probability"]), role["level"]])
    tags = [f"label: {one['label']}", *problems]
    tags += ["evidence found"] if one["missed"] is False else []
    tags += [f"{name}: {value}" for name, value in one["slices"].items()]
    content = [rows, verdicts, parts or None, decisive or None, cited or None]
    return item(one["id"], one["text"], content, tags=tags, keys=[stated or 0.0], wrong=wrong)


def _passage(role, found, mark):
    """Give a passage, its document and characters below."""
    document, start, end, text = found["passages"][role["passage"]]
    doc_id, name = found["documents"][document]
    place = f"{doc_id}, characters {start} to {end}" if end else doc_id
    place = f"{name} ({place})" if name else place
    return cell(text, mark, place) if text else cell(place, mark)


def _past_claim(one, found, before, place):
    nothing = [None] * len(before["systems"])
    return {part: one[part] if one else nothing for part in ("verdicts", "right", "stated")}


# --- answers of assistants


def _answers(found):
    layout = [
        table("Answers", ["System", "Answer", "Abstained"], missing="none", cards=True),
        facts(),
        table("Scores of this question", ["Measure", *found["systems"]]),
        table("Contexts that each system was given", ["System", "Context"], missing="none", cards=True),
    ]
    items = []
    for one in found["items"]:
        given = [(name, part) for name, part in zip(found["systems"], one["given"], strict=True) if part]
        answers = []
        for name, part in given:
            weak = "Not grounded: " + " | ".join(part["weak"]) if part.get("weak") else None
            answers.append([name, cell(part["answer"] or None, None, weak), "yes" if part["abstained"] else "no"])
        values = [part["values"] if part else [None] * len(found["measures"]) for part in one["given"]]
        scores = [[name, *map(decimal, row)] for name, *row in zip(found["measures"], *values, strict=True)]
        contexts = []
        for name, part in given:
            for place, text in enumerate(part["contexts"]):
                known = part["ids"][place] if part["ids"] else f"passage {place + 1}"
                contexts.append([name, cell(text, None, known) if text else known])
        tags = [f"{name} abstained" for name, part in given if part["abstained"]]
        reference = [["Reference", one["reference"]]] if one["reference"] else []
        items.append(item(one["id"], one["text"], [answers, reference or None, scores, contexts or None], tags=tags))
    return {"layout": layout, "items": items}


def _past_answer(one, found, before, place):
    if one is None or before["measures"] != found["measures"]:
        return {"given": [None] * len(before["systems"])}
    return {"given": one["given"]}


KINDS = {
    "questions": {
        "noun": "question",
        "title": "Question by question",
        "view": _questions,
        "by_system": ("scores", "top"),
        "past": _past_question,
        "about": (
            "each question, its relevant documents, and the first documents that each system returned. "
            "A single question has a score but no interval; the chapter has means with intervals. "
            "The measures are defined [here](../../methods/measures.md)."
        ),
        "shown": "Documents are shown by their beginning, except those that only the random baseline returned.",
        "left_out": "on which the systems' nDCG@10 differs most",
    },
    "edits": {
        "noun": "edit",
        "title": "Edit by edit",
        "view": _edits,
        "by_system": ("results",),
        "past": _past_edit,
        "about": (
            "each edit of one fact, the query before and after it, the cases that entered and left the list, and "
            "the effect of placebos: edits of as many words without legal meaning. "
            "A single edit has no interval; the chapter has means with intervals. The "
            "measures are defined [here](../../methods/counterfactual_sensitivity.md)."
        ),
        "shown": "Documents are shown by their beginning or their facts.",
        "left_out": (
            "that change an original case, and for each case the edits of an edited case that "
            "moved the first system most beyond their placebos"
        ),
    },
    "votes": {
        "noun": "item",
        "title": "Item by item",
        "view": _votes,
        "by_system": (),
        "about": (
            "each item with the vote of every rater, the side of each system, the position in the rater's form "
            "and the ratings of both systems. A single item has no interval; the "
            "chapter has win rate and agreement with intervals, defined "
            "[here](../../methods/rater_agreement.md)."
        ),
        "shown": "The rated texts and the comments are not kept.",
        "left_out": "on which the raters agree least",
    },
    "claims": {
        "noun": "claim",
        "title": "Claim by claim",
        "view": _claims,
        "by_system": ("verdicts", "right", "stated"),
        "past": _past_claim,
        "about": (
            "each claim with its gold label, the verdict of every system and baseline, and for "
            "the first system the sub-claims that it judged, the passages that it read and "
            "the decisive evidence. A single claim has no interval; the chapter has "
            "means with intervals. Stance, support and credibility are defined "
            "[here](../../methods/factcheck.md)."
        ),
        "shown": "Passages are shown by their beginning.",
        "left_out": "that the first system got wrong or whose evidence it missed, and some more",
    },
    "answers": {
        "noun": "question",
        "title": "Answer by answer",
        "view": _answers,
        "by_system": ("given",),
        "past": _past_answer,
        "about": (
            "each question with the answer of every system, the reference, the scores and the contexts that the system "
            "was given. Sentences that the contexts do not support are listed below an answer. One answer has no "
            "interval; the chapter has the means with theirs. The measures are defined "
            "[here](../../methods/assistant.md)."
        ),
        "shown": "Of answers and contexts the beginning is shown.",
        "left_out": "on which the systems differ most",
    },
}
"""Names of each kind of items, and the parts of its page."""
