"""A page per chapter that shows its single items: questions, edits, votes, claims, answers.

One page kind shows them all: an item has an id, a text, tags to filter by, keys to sort by, whether it is wrong, and
the content of the page's parts, in the order of its layout: facts, a marked change, tables. A cell is text; a number,
which is a place in the page's documents; None, which is undefined; or a list of one of these, a mark before it and a
note below it. ``assets/items.js`` draws them. Each kind says below what of its items goes into which part.
"""

import html
import json
from functools import lru_cache
from itertools import combinations, zip_longest

from casebook.batch.run_folder import same_data
from casebook.book.titles import raw, titles
from casebook.data.cards import cards
from casebook.paths import ROOT, run_dir
from casebook.readers import read_json, read_yaml
from casebook.runs.outputs import item_page_address
from casebook.tables import FACTS, reason_text


@lru_cache(maxsize=1)
def words():
    """Read the words of each kind of page."""
    return read_yaml(ROOT / "book" / "items.yml", "file of items")


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
    return found and words()[found["kind"]]["title"]


def item_links(run, cell):
    """Give the addresses of a cell's items, from a page of ``generated``."""
    kept = kept_items(run, cell) or {"items": []}
    return {item["id"]: item_page_address(cell, q=item["id"]) for item in kept["items"]}


def item_pages(run, cells, compare=None):
    """Write the pages of all cells that kept items, and the data that they load."""
    files, named = {}, titles(run, cells)
    for cell in cells:
        found = kept_items(run, cell)
        if not found:
            continue
        shown = view(found | {"cell": cell})
        beside = _put_beside(shown, found, run, compare) if compare else None
        # A script, because a page that was opened from disk may not fetch JSON.
        script = json.dumps(shown, separators=(",", ":"))
        files[f"items/{cell}.js"] = f"window.casebookItems = {script};\n"
        files[f"items/{cell}.md"] = _markdown(found, cell, beside, named[cell])
    return files


def view(found):
    """Turn what a chapter kept of its items into a page."""
    tested = [
        place
        for place, name in enumerate(found["systems"])
        if name not in found.get("controls", ())
    ]
    kind = found["kind"]
    return page(
        found["cell"],
        words()[kind]["noun"],
        found["documents"],
        **VIEWS[kind](found | {"tested": tested}),
    )


def _markdown(found, cell, beside, title):
    """Write the page around the viewer: what is shown, what was left out and why, the data."""
    kind, kept = words()[found["kind"]], len(found["items"])
    notes = [
        f"The page shows all {kept} {kind['noun']}s.",
        found.get("remark"),
        kind["shown"],
        beside,
    ]
    if kept != found["asked"]:
        notes[0] = (
            f"The page shows the {kept} of {found['asked']} {kind['noun']}s {kind['left_out']}; "
            "the others are left out to keep the page small."
        )
    if found["texts"] is not None and "documents" not in found["texts"]:
        who = (
            "Documents"
            if "items" in found["texts"]
            else f"{kind['noun']}s and documents".capitalize()
        )
        rule = "by our rule, a report repeats no texts whose licence is non-commercial or unknown"
        notes[2] = f"{who} are shown by their ids only: {rule}."
    if card := cards().get(found["card"]):
        link = f"[{card.title}](../cards/{card.key}.md)"
        notes.append(f"Data: {link}, {card.licence.name}; {' '.join(card.citation.split())}")
    viewer = (
        f'<div class="items"><p>This page needs JavaScript to show single {kind["noun"]}s. '
        "The rows of the chapter hold the same results.</p></div>\n"
        f'<script defer src="{html.escape(cell)}.js"></script>\n'
        '<script defer src="../../_static/items.js"></script>'
    )
    return (
        f"# {title}, {kind['title'].lower()}\n\n"
        f"The single results behind the means of [the chapter](../../run/notebooks/{cell}.ipynb): {kind['about']}\n\n"
        f"{' '.join(filter(None, notes))}\n\n{raw(viewer)}"
    )


# --- what any page is made of


def facts():
    """Describe a part of named values: content is a list of name and cell."""
    return {"part": "facts"}


def change(caption):
    """Describe a part of a text before and after, see `casebook.runs.outputs.word_changes`."""
    return {"part": "change", "caption": caption}


def table(caption, heads, missing="undefined", cards=False, folded=False):
    """Describe a table, which a reader opens if it is folded: content is a list of rows of cells."""
    shape = {"heads": list(heads), "missing": missing, "cards": cards, "folded": folded}
    return {"part": "table", "caption": caption} | shape


def cell(value, mark=None, note=None):
    """Give a cell with a mark before it or a note below it."""
    if note:
        return [value, mark, note]
    return [value, mark] if mark else value


def item(name, text, parts, *, tags=(), keys=(), wrong=False):
    """Give one item of a page; a part without content is left out."""
    parts = [part or None for part in parts]
    keys = [round(key, 3) for key in keys]
    return {
        "id": name,
        "text": text,
        "parts": parts,
        "tags": list(tags),
        "keys": keys,
        "wrong": wrong,
    }


def page(cell, noun, documents, layout, items, orders=(), wrong=None):
    """Put a page together; tags become places in its list of tags."""
    tags = sorted({tag for one in items for tag in one["tags"]})
    number = {tag: place for place, tag in enumerate(tags)}
    return {
        "cell": cell,
        "noun": noun,
        "layout": layout,
        "documents": documents,
        "tags": tags,
        "orders": orders,
        "wrong": wrong,
        "items": [one | {"tags": [number[tag] for tag in one["tags"]]} for one in items],
    }


def decimal(value):
    """Write a number of three decimals, None as it is."""
    return None if value is None else f"{value:.3f}"


# --- the systems of another run next to those of this one


def _put_beside(shown, found, run, other):
    """Add the rows and columns of the other run's systems to a page, or say why not."""
    noun, before = shown["noun"], kept_items(other, shown["cell"])
    if before is None or before["kind"] != found["kind"]:
        return f"The run {other} kept no {noun}s of this chapter."
    if not same_data(run, other, shown["cell"]):
        return f"The run {other} used other data and is not shown here."
    past = view(before | {"cell": shown["cell"]})
    old = {one["id"]: one["parts"] for one in past["items"]}
    nothing = [None] * len(past["layout"])
    places = {name: place for place, (name, _) in enumerate(shown["documents"])}

    def here(value):
        """Turn a place in the other run's documents into one in this page's."""
        if isinstance(value, list):
            return [here(value[0]), *value[1:]]
        if not isinstance(value, int):
            return value
        name, opening = past["documents"][value]
        if name not in places:
            places[name] = len(places)
            shown["documents"].append([name, opening])
        return places[name]

    systems, more = found["systems"], before["systems"]
    for place, (part, then) in enumerate(zip(shown["layout"], past["layout"], strict=False)):
        heads = part.get("heads", [""])
        by_row, by_column = heads[0] == "System" and heads == then["heads"], heads[1:] == systems
        for one in shown["items"] if by_row or by_column else ():
            rows, added = one["parts"][place] or [], old.get(one["id"], nothing)[place] or []
            added = [[here(value) for value in row] for row in added]
            joined = (
                _rows_beside(rows, added, other)
                if by_row
                else _columns_beside(rows, added, systems, more)
            )
            one["parts"][place] = joined
        if by_column:
            every = [*systems, *(f"{name}, {other}" for name in more)]
            part["heads"] = [heads[0], *(every[n] for n in _by_name([*systems, *more]))]
    missing = sum(one["id"] not in old for one in shown["items"])
    lost = f"; it did not keep {missing} of the {noun}s" if missing else ""
    return f"The systems of the run {other} are shown next to those of this run{lost}."


def _by_name(names):
    """Order places so that equal names stand next to each other."""
    return sorted(range(len(names)), key=[names.index(name) for name in names].__getitem__)


def _rows_beside(rows, added, other):
    both = [*rows, *([f"{name}, {other}", *rest] for name, *rest in added)]
    return [both[n] for n in _by_name([row[0] for row in (*rows, *added)])]


def _columns_beside(rows, added, systems, more):
    """Join rows on their first cell; what one side lacks is undefined."""
    left, right = ({json.dumps(row[0]): row[1:] for row in side} for side in (rows, added))
    order = _by_name([*systems, *more])
    joined = []
    for key in left | right:
        cells = [*left.get(key, [None] * len(systems)), *right.get(key, [None] * len(more))]
        joined.append([json.loads(key), *(cells[n] for n in order)])
    return joined


# --- questions of a retrieval chapter


def _questions(found):
    systems, depth, tested = found["systems"], found["depth"], found["tested"]
    first = systems[tested[0]] if tested else systems[0]
    items = []
    for one in found["items"]:
        relevant, tops = set(one["relevant"]), one["top"]
        scores = [
            [name, *map(decimal, values)]
            for name, values in zip(systems, one["scores"], strict=True)
        ]
        ranks = [
            [
                cell(place, "relevant"),
                *(str(top.index(place) + 1) if place in top else None for top in tops),
            ]
            for place in one["relevant"]
        ]
        lists = [
            [
                str(rank),
                *(
                    None if d is None else cell(d, "relevant" if d in relevant else None)
                    for d in documents
                ),
            ]
            for rank, documents in enumerate(zip_longest(*tops), 1)
        ]
        means = [one["scores"][place][0] or 0.0 for place in tested] or [0.0]
        missed = bool(tested) and not relevant & set(tops[tested[0]])
        keys = [min(means) - max(means), means[0]]
        items.append(item(one["id"], one["text"], [scores, ranks, lists], keys=keys, wrong=missed))
    ranked = f"Relevant documents, and their rank in the first {depth}"
    return {
        "layout": [
            table("Scores of this question", ["System", *found["measures"]]),
            table(ranked, ["Document", *systems], missing=f"not in the first {depth}"),
            table(
                f"First {depth} documents of each system; ✓ is relevant",
                ["Rank", *systems],
                missing="none",
            ),
        ],
        "items": items,
        "orders": ("systems differ most", f"{first} worst"),
        "wrong": f"only where {first} has nothing relevant in the first {depth}",
    }


# --- edits of a sensitivity chapter

_DECIDES = {True: "decides", False: "does not decide", None: "not annotated"}


def _edits(found):
    depth, systems, tested = found["depth"], found["systems"], found["tested"]
    moved = f"What moved (normalised footrule: 0 nothing, 1 everything), and how many of {depth} cases are new"
    heads = [
        "System",
        "Edit moved",
        "Placebos moved",
        "Cases new after the edit",
        "After each placebo",
    ]
    cases = f"Cases that should be found: how many are in the first {depth}, and the best rank"
    lists = (
        f"cases that left and entered the first {depth}, with their rank there; ✓ should be found"
    )
    layout = [
        facts(),
        change("The query, before and after the edit"),
        change("A placebo of the same size, before and after"),
        table(moved, heads, missing="not tried or without placebo"),
        table(
            cases,
            ["System", "Before the edit", "After the edit", "After placebos"],
            missing="not tried",
        ),
    ]
    for count, place in enumerate(tested):  # two columns a system, the first one open
        layout.append(
            table(
                f"{systems[place]}: {lists}", ["Left", "Entered"], missing="none", folded=count > 0
            )
        )
    items = [_edit(one, found) for one in found["items"]]
    return {"layout": layout, "items": items, "orders": ("moved most beyond its placebos",)}


def _edit(one, found):
    results, systems, tested = one["results"], found["systems"], found["tested"]
    depth = "the case" if one["depth"] == 1 else "an edited case"
    fact = FACTS.get(one["fact_type"], one["fact_type"])
    known = [
        ["Case", one["case"]],
        ["Kind of fact", f"{fact} ({_DECIDES[one['decides']]})"],
        ["Edited", depth],
    ]
    moved, precedents, lists, excess = [], [], [], 0.0
    tags = [fact, _DECIDES[one["decides"]], f"edit of {depth}"]
    for place, (name, result) in enumerate(zip(systems, results, strict=True)):
        if result is None or result["error"]:
            moved.append([name, result and f"failed: {result['error']}", None, None, None])
            precedents.append([name, None, None, None])
            result = {"left": [], "entered": []}
        else:
            new = ", ".join(map(str, result["placebo_new"])) or None
            moved.append(
                [
                    name,
                    decimal(result["moved"]),
                    decimal(result["placebo_moved"]),
                    str(result["new"]),
                    new,
                ]
            )
            placebos = "; ".join(map(_best_and_count, result["placebo_found"])) or None
            shown = [_best_and_count(result["found"]), _best_and_count(result["still_found"])]
            precedents.append([name, *shown, placebos])
            if place == tested[0]:
                if result["placebo_moved"] is not None:
                    excess = (result["moved"] or 0.0) - result["placebo_moved"]
                if result["found"] and result["found"][1] and not result["still_found"][1]:
                    tags.append(f"{name} lost every precedent")
        if place in tested:
            columns = [
                [
                    cell(case, "relevant" if wanted else None, f"rank {rank} {word}")
                    for case, rank, wanted in listed
                ]
                for listed, word in ((result["left"], "before"), (result["entered"], "after"))
            ]
            lists.append([list(row) for row in zip_longest(*columns)])
    what = {"add": "{new} added", "remove": "{old} removed"}.get(
        one["operation"], "{old} becomes {new}"
    )
    text = f"{fact}: {what.format(old=one['old'], new=one['new'])}"
    parts = [
        known,
        one["change"],
        one["placebo"],
        moved,
        precedents if found["precedents"] else None,
        *lists,
    ]
    return item(one["id"], text, parts, tags=tags, keys=[-excess])


def _best_and_count(found):
    if found is None:
        return "none known"
    best, count = found
    return f"{count}, best at rank {best}" if count else "none"


# --- items of a double-blind comparison


def _votes(found):
    one, other = systems = found["systems"]
    scales = [
        f"{scale.capitalize()} of {system}" for scale in found["scales"] for system in systems
    ]
    heads = ["Rater", "Vote", "On the left", "Place in the form", *scales]
    names = {1: one, -1: other, 0: "tie", None: None}
    items = []
    for each in found["items"]:
        cast = [vote["vote"] for vote in each["votes"] if vote["vote"] is not None]
        wins, losses = cast.count(1), cast.count(-1)
        majority = "none" if wins == losses else one if wins > losses else other
        pairs = list(combinations(cast, 2))
        agreeing = sum(a == b for a, b in pairs)
        known = [
            ["More votes", majority],
            ["Raters who agree", f"{agreeing} of {len(pairs)} pairs"],
            [
                f"{one} on the left",
                f"{sum(vote['left'] for vote in each['votes'])} of {len(each['votes'])} raters",
            ],
        ]
        votes = []
        for vote in each["votes"]:
            numbers = [vote["place"], *(rating for scale in vote["ratings"] for rating in scale)]
            shown = [None if number is None else str(number) for number in numbers]
            votes.append(
                [vote["rater"], names[vote["vote"]], one if vote["left"] else other, *shown]
            )
        tags = [f"more votes: {majority}"]
        if len(cast) > 1:
            tags.append("unanimous" if agreeing == len(pairs) else "not unanimous")
        agreed = abs(wins - losses) / len(cast) if cast else 0.0
        text = f"{one} {wins}, {other} {losses}, tied {cast.count(0)}"
        items.append(item(each["id"], text, [known, votes], tags=tags, keys=[agreed]))
    layout = [facts(), table("Votes and ratings", heads, "left blank", cards=True)]
    return {"layout": layout, "items": items, "orders": ("least agreed first",)}


# --- claims of a fact-checking chapter


def _claims(found):
    main, sought = found["systems"][0], found["searched"]
    parts = ["Part", "Sub-claim", "Verdict", "Share of support", "Passages"]
    decisive = (
        f"Decisive evidence; ✓ was found by {main}, ✗ was not" if sought else "Decisive evidence"
    )
    cited = ["Passage", "For", "Stance", "Probability of support", "Credibility"]
    nothing = "none: no passage takes a side"
    return {
        "layout": [
            facts(),
            table(
                "Verdicts; ✓ is right, ✗ wrong",
                ["System", "Verdict", "Stated probability that it is right"],
                "none",
            ),
            table(f"Sub-claims that {main} judged", parts, nothing, cards=True),
            table(decisive, ["Passage", "Decides", "Gold label"], "none", cards=True),
            table(
                f"Evidence that {main} found; ✓ contains decisive words", cited, "none", cards=True
            ),
        ],
        "items": [_claim(one, found) for one in found["items"]],
        "orders": ("least certain first",),
        "wrong": f"only where {main} is wrong",
    }


def _claim(one, found):
    main = found["tested"][0] if found["tested"] else 0
    wrong, stated = one["right"][main] is False, one["stated"][main]
    problems = ["wrong verdict"] * wrong + ["evidence not found"] * bool(one["missed"])
    known = [
        ["Gold label", one["label"]],
        *([name.capitalize(), value] for name, value in one["slices"].items()),
        ["What is wrong", ", ".join(problems) or "nothing"],
    ]
    if one["reason"]:
        known.append(["Why no evidence decided", reason_text(one["reason"])])
    names = {True: "right", False: "wrong", None: None}
    given = zip(found["systems"], one["verdicts"], one["right"], one["stated"], strict=True)
    verdicts = [
        [system, cell(verdict, names[right]), decimal(share)]
        for system, verdict, right, share in given
    ]
    parts = [
        [
            p["id"],
            p["text"],
            p["verdict"],
            decimal(p["score"]),
            None if p["evidence"] is None else str(p["evidence"]),
        ]
        for p in one["parts"]
    ]
    decisive, cited = [], []
    for role in one["decisive"]:
        mark = ("found" if role["met"] else "missed") if found["searched"] else None
        decisive.append([_passage(role, found, mark), role["about"] or "the claim", role["stance"]])
    for role in one["cited"]:
        place = _passage(role, found, "decides" if role["met"] else None)
        cited.append(
            [
                place,
                role["about"] or None,
                role["stance"],
                decimal(role["probability"]),
                role["level"],
            ]
        )
    tags = [f"label: {one['label']}", *problems]
    if one["missed"] is False:
        tags.append("evidence found")
    tags += [f"{name}: {value}" for name, value in one["slices"].items()]
    content = [known, verdicts, parts, decisive, cited]
    return item(one["id"], one["text"], content, tags=tags, keys=[stated or 0.0], wrong=wrong)


def _passage(role, found, mark):
    """Give a passage, its document and characters below."""
    document, start, end, text = found["passages"][role["passage"]]
    doc_id, name = found["documents"][document]
    place = f"{doc_id}, characters {start} to {end}" if end else doc_id
    place = f"{name} ({place})" if name else place
    return cell(text, mark, place) if text else cell(place, mark)


# --- answers of assistants


def _answers(found):
    items = []
    for one in found["items"]:
        given = [
            (name, part) for name, part in zip(found["systems"], one["given"], strict=True) if part
        ]
        answers, contexts = [], []
        for name, part in given:
            weak = "Not grounded: " + " | ".join(part["weak"]) if part.get("weak") else None
            answers.append(
                [
                    name,
                    cell(part["answer"] or None, None, weak),
                    "yes" if part["abstained"] else "no",
                ]
            )
            for place, text in enumerate(part["contexts"]):
                known = part["ids"][place] if part["ids"] else f"passage {place + 1}"
                contexts.append([name, cell(text, None, known) if text else known])
        values = [
            part["values"] if part else [None] * len(found["measures"]) for part in one["given"]
        ]
        scores = [
            [name, *map(decimal, row)]
            for name, *row in zip(found["measures"], *values, strict=True)
        ]
        tags = [f"{name} abstained" for name, part in given if part["abstained"]]
        reference = [["Reference", one["reference"]]] if one["reference"] else []
        items.append(
            item(one["id"], one["text"], [answers, reference, scores, contexts], tags=tags)
        )
    layout = [
        table("Answers", ["System", "Answer", "Abstained"], missing="none", cards=True),
        facts(),
        table("Scores of this question", ["Measure", *found["systems"]]),
        table(
            "Contexts that each system was given", ["System", "Context"], missing="none", cards=True
        ),
    ]
    return {"layout": layout, "items": items}


VIEWS = {
    "questions": _questions,
    "edits": _edits,
    "votes": _votes,
    "claims": _claims,
    "answers": _answers,
}
