"""The pages of single items: whole, linked, and beside another run's."""

import json
import shutil
from itertools import combinations

import pandas as pd
import pytest
from toy_records import rewrite_record, seal

from casebook import paths
from casebook.book import pages
from casebook.book.chapters import for_readers
from casebook.book.item_parts import FIRST_CODE
from casebook.book.item_script import as_script
from casebook.book.items import item_links, item_pages, view
from casebook.book.results import ChapterResults, read_chapters
from casebook.data import load
from casebook.data.cards import card_of
from casebook.explain import study as explain
from casebook.explain.items import explanation_items
from casebook.measures.faithfulness import inverse_frequency
from casebook.paths import run_dir
from casebook.retrieval.ablation import Ablation, planned_rows, run_ablation
from casebook.retrieval.items import (
    LOST_BY_CUT,
    LOST_UNLISTED,
    lost_documents,
    question_items,
)
from casebook.retrieval.pipeline import HybridRetriever
from casebook.tables import FACTS

CELL = "retrieval_ablation-smoke"
PAGE = f"items/{CELL}.md"


def kept(top):
    """Give what a cell keeps of two questions."""
    return {
        "kind": "questions",
        "dataset": "smoke",
        "card": "smoke",
        "texts": ["documents", "items"],
        "systems": ["full", "random"],
        "controls": ["random"],
        "measures": ["nDCG@10"],
        "depth": 10,
        "asked": 34,
        "documents": [["home-1", "Escape of water."], ["home-2", None]],
        "items": [
            {
                "id": name,
                "text": "</script><script>alert(1)</script>",
                "relevant": [0],
                "scores": [[1.0], [None]],
                "top": [top, [1]],
            }
            for name in ("sq01", "a&b #2")
        ],
    }


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Give two runs that kept questions, old and new."""
    for name, top in (("old", [1]), ("new", [0, 1])):
        shutil.copytree(run_dir("smoke"), tmp_path / name)
        write(tmp_path / name, kept(top))
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    return tmp_path


def write(folder, found):
    path = folder / "items" / f"{CELL}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(found))


def loaded(files, cell=CELL):
    script = files[f"items/{cell}.js"]
    assert script.startswith("window.casebookItems = ") and script.isascii()
    return unpacked(json.loads(script.removeprefix("window.casebookItems = ").rstrip(";\n")))


def unpacked(page):
    """Read a page as the viewer does, by another way than it was written."""
    digits = [chr(code) for code in (*range(35, 92), *range(93, 127))]

    def whole(value):
        if isinstance(value, list):
            return [whole(part) for part in value]
        if isinstance(value, str) and value[:2] != "~~" and value[:1] == "~":
            return page["strings"][int(value[1:])]
        return value[1:] if isinstance(value, str) and value[:1] == "~" else value

    def numbers(written, counted):
        width = 1 if counted < 91 else 2 if counted < 91**2 else 3
        parts = [written[k : k + width] for k in range(0, len(written), width)]
        sums = [
            sum(digits.index(digit) * 91**place for place, digit in enumerate(reversed(part)))
            for part in parts
        ]
        return [number - 1 if number else None for number in sums]

    items = []
    for row in page["items"]:
        item = dict(zip(page["columns"], map(whole, row), strict=True))
        scores = numbers(item["scores"], len(page["values"]))
        step = len(page["measures"])
        item["scores"] = [scores[k : k + step] for k in range(0, len(scores), step)] if step else []
        lists = numbers(item["by_system"], len(page["tag_lists"]))
        item["by_system"] = [page["tag_lists"][k] for k in lists]
        items.append(item)
    return page | {"items": items}


def test_the_page_names_data_and_licence_and_what_is_missing(runs):
    text = item_pages(read_chapters("new", [CELL]))[PAGE]
    assert "the 2 of 34 questions" in text
    assert "(../../data_cards.md#smoke-contract-and-insurance-clauses), MIT" in text
    assert "alert" not in text  # texts are data, never part of a page
    found = kept([0]) | {"texts": [], "card": None, "asked": 2}
    write(runs / "new", found)
    text = item_pages(read_chapters("new", [CELL]))[PAGE]
    assert "all 2 questions" in text and "by their ids" in text


@pytest.mark.parametrize("path", sorted((run_dir("smoke") / "items").glob("*.json")))
def test_the_script_says_all_that_the_page_has(path):
    collection = json.loads(path.read_text()) | {"cell": path.stem}
    page = json.loads(json.dumps(view(collection)))
    written = loaded({f"items/{path.stem}.js": as_script(page)}, path.stem)
    assert [item["parts"] for item in written["items"]] == [item["parts"] for item in page["items"]]
    for mine, item in zip(written["items"], page["items"], strict=True):
        assert {key: mine[key] for key in ("id", "text", "tags", "keys")} == {
            key: item[key] for key in ("id", "text", "tags", "keys")
        }
        assert mine["by_system"] == item["by_system"]
        rows = [row or [None] * len(page["measures"]) for row in item["scores"]]
        assert mine["scores"] == rows


def test_texts_that_look_like_references_stay_what_they_are():
    page = view(kept([0]) | {"cell": CELL})
    texts = ["~", "~0", "~~0", "~0 said twice", "~0 said twice"]
    for text, item in zip(texts, page["items"] * 3, strict=False):
        again = page | {"items": [item | {"text": text, "id": text}] * 2}
        assert [
            item["text"] for item in loaded({f"items/{CELL}.js": as_script(again)})["items"]
        ] == [
            text,
            text,
        ]


def scores(page, item):
    """Give the scores of an item, a row a system, as the viewer reads them."""
    values = [*page["values"], None]
    return [[values[-1 if k is None else k] for k in row] for row in item["scores"]]


def lists(page, item):
    """Give the documents that each system returned for a question."""
    documents, _, distinct, list_of_system = item["parts"][0]
    names = [page["documents"][k][0] for k in documents]
    codes = [[ord(character) - FIRST_CODE for character in ranking] for ranking in distinct]
    return [[names[k] for k in codes[position]] for position in list_of_system]


def tags(page, item, system=None):
    """Give the tags of an item, or what one system adds to them."""
    positions = item["tags"]
    if system is not None:
        positions = dict(zip(page["systems"], item["by_system"], strict=False)).get(system, ())
    return {page["tags"][k] for k in positions}


def test_claims_that_no_system_was_tried_on_stand_beside_another_run_as_they_are(runs):
    cell = "factcheck_confusion-smoke"
    misjudged = {"id": "other 1", "set": "other", "text": "A claim.", "label": "SUPPORTED"}
    misjudged |= {"verdict": "NOT_SUPPORTED", "evidence": None}
    for name in ("old", "new"):
        path = runs / name / "items" / f"{cell}.json"
        collection = json.loads(path.read_text())
        collection["items"].append(misjudged)
        path.write_text(json.dumps(collection))
    page = loaded(item_pages(read_chapters("new", [cell]), "old"), cell)
    item = page["items"][-1]
    assert any(system.endswith(", old") for system in page["systems"])
    assert ["Claims of", "other"] in item["parts"][0] and not item["by_system"]
    assert tags(page, item) == {"judge wrong: other"}


def test_systems_of_another_run_stand_beside(runs):
    page = loaded(item_pages(read_chapters("new", [CELL]), "old"))
    assert page["systems"] == ["full", "full, old", "random", "random, old"]
    assert page["tested"] == page["pair"] == [0, 1]
    first = page["items"][0]
    assert scores(page, first) == [[1.0], [1.0], [None], [None]]
    assert lists(page, first) == [["home-1", "home-2"], ["home-2"], ["home-2"], ["home-2"]]
    nothing = "nothing relevant in the first 10"
    assert [nothing in tags(page, first, name) for name in page["systems"]] == [False, *[True] * 3]
    before = kept([0])
    before["documents"] = [["home-9", "Another."]]
    before["items"] = [before["items"][0] | {"relevant": [], "top": [[0], []]}]
    write(runs / "old", before)
    files = item_pages(read_chapters("new", [CELL]), "old")
    page = loaded(files)
    assert page["documents"][2] == ["home-9", "Another."]
    first, second = page["items"]
    assert lists(page, first)[1] == ["home-9"] and lists(page, second)[1] == []
    assert scores(page, second)[1] == [None]
    assert "did not keep 1 of the questions" in files[PAGE]
    write(runs / "old", before | {"measures": ["AP"]})
    files = item_pages(read_chapters("new", [CELL]), "old")
    assert loaded(files)["systems"] == ["full", "random"]
    assert "kept other measures" in files[PAGE]


@pytest.fixture(scope="module")
def study():
    data = load("smoke")
    systems = {
        name: HybridRetriever(data.documents, encoder=None, mode=name)
        for name in ("bm25", "bm25_stemmed", "random")
    }
    return run_ablation(data, systems)


def test_a_pair_divides_the_questions_as_the_table_of_the_chapter_does(study):
    pairs = [("bm25_stemmed", "bm25"), ("bm25", "random"), ("random", "bm25_stemmed")]
    planned = planned_rows(study, pairs, n_resamples=200)
    half = study.dataset.queries["query_id"].tolist()[::2]
    halves = {query: ["half: held-out"] for query in half}
    page = view(question_items(study, focus="bm25_stemmed", tags=halves) | {"cell": CELL})
    assert page["systems"] == ["bm25_stemmed", "bm25", "random"] and page["pair"] == [0, 1]
    assert page["measures"][0] == ["nDCG@10", 3]

    def counts(items, pair):
        system, against = (page["systems"].index(name) for name in pair)
        differences = [
            scores(page, one)[system][0] - scores(page, one)[against][0] for one in items
        ]
        return [sum((d > 0) - (d < 0) == sign for d in differences) for sign in (1, 0, -1)]

    for pair, row in zip(pairs, planned.to_dict("records"), strict=True):
        assert counts(page["items"], pair) == [row["better"], row["equal"], row["worse"]]
        assert sum(counts(page["items"], pair)) == row["n"] == 34
    of_half = [one for one in page["items"] if "half: held-out" in tags(page, one)]
    part = Ablation(
        study.dataset,
        study.results,
        {measure: frame.loc[half] for measure, frame in study.scores.items()},
    )
    change = part.scores["nDCG@10"]["bm25"] - part.scores["nDCG@10"]["random"]
    assert counts(of_half, ("bm25", "random"))[0] == (change > 0).sum()
    nothing = "nothing relevant in the first 10"
    for name in page["systems"]:
        missed = {one["id"] for one in page["items"] if nothing in tags(page, one, name)}
        recall = study.scores["R@10"][name]
        assert missed == set(recall.index[recall == 0])


def test_ready_made_questions_lead_to_their_items(study):
    spoilt = [("questions that stemming spoils", "bm25_stemmed", "bm25")]
    collection = question_items(study, questions=spoilt, scope="half: held-out")
    page = view(collection | {"cell": CELL})
    text, choice = page["questions"][0]
    assert text == "questions that stemming spoils"
    assert choice == {
        "system": "bm25_stemmed",
        "against": "bm25",
        "change": "worse",
        "only": "half: held-out",
    }


def test_a_lost_document_is_tagged_by_where_it_was_lost(study):
    relevant = {
        query: {document for document, grade in grades.items() if grade}
        for query, grades in study.dataset.qrels.items()
    }
    lost = lost_documents(study, "bm25", 3)
    run = study.results["bm25"].run(study.dataset.queries["query_id"].tolist())
    for query, documents in relevant.items():
        by_cut = len(documents & set(list(run[query])[3:])) > 0
        assert (LOST_BY_CUT in lost[query]) is by_cut
        assert (LOST_UNLISTED in lost[query]) is bool(documents - set(run[query]))
    assert any(lost.values()) and not all(lost.values())


def test_other_data_or_nothing_kept_is_said(runs):
    path = runs / "old" / "runs" / CELL / "run.json"
    record = json.loads(path.read_text())
    record["Labels"]["Inputs"]["data"] = {"dataset": "another"}
    rewrite_record(path, **record)
    files = item_pages(read_chapters("new", [CELL]), "old")
    assert loaded(files)["systems"] == ["full", "random"]
    assert "used other data" in files[PAGE]
    (runs / "old" / "items" / f"{CELL}.json").unlink()
    assert "kept no questions" in item_pages(read_chapters("new", [CELL]), "old")[PAGE]


def test_chapter_and_changed_rows_link_to_the_questions(runs):
    path = runs / "new" / "notebooks" / f"{CELL}.ipynb"
    for_readers(path, *read_chapters("new", [CELL]))
    assert f"generated/items/{CELL}.md" in path.read_text()
    links = item_links(ChapterResults("new", CELL))
    assert links["a&b #2"] == f"items/{CELL}.html#q=a%26b+%232"
    path = runs / "new" / "rows" / f"{CELL}.csv.gz"
    rows = pd.read_csv(path)
    first = rows["query_id"].isin(["sq01", "sq03"]) & (rows["system"] == "full")
    rows.loc[first, "nDCG@10"] = 0.0
    rows.to_csv(path, index=False)
    for name in ("old", "new"):
        seal(runs / name)


def test_a_run_that_kept_nothing_has_no_page(runs):
    shutil.rmtree(runs / "new" / "items")
    assert item_pages(read_chapters("new", [CELL]), "old") == {}
    assert PAGE not in pages.generated("new", read_chapters("new", [CELL]))


def smoke(cell, run="smoke"):
    """Give what a cell of the reference run, or a copy of it, kept, and the page that is made of
    it."""
    kept = json.loads((run_dir(run) / "items" / f"{cell}.json").read_text())
    return kept, loaded(item_pages(read_chapters(run, [cell])), cell)


@pytest.mark.parametrize(
    "path", sorted((run_dir("smoke") / "items").glob("*.json")), ids=lambda path: path.stem
)
def test_every_kind_of_items_fills_the_parts_of_its_page(path):
    kept, page = smoke(path.stem)
    assert [one["id"] for one in page["items"]] == [one["id"] for one in kept["items"]]
    used = {tag for one in page["items"] for row in (one["tags"], *one["by_system"]) for tag in row}
    assert used == set(range(len(page["tags"]))) and page["tags"] == sorted(page["tags"])
    for one in page["items"]:
        assert len(one["parts"]) == len(page["layout"]) and len(one["keys"]) == len(page["orders"])
        for part, content in zip(page["layout"], one["parts"], strict=True):
            width = {"facts": 2, "table": len(part.get("heads", ()))}.get(part["part"])
            assert not content or width is None or {len(row) for row in content} == {width}
        for row in one["scores"]:
            assert len(row) == len(page["measures"])
        for by_system in (one["by_system"], one["scores"]):
            assert len(by_system) in (0, len(page["systems"]))
    assert page["values"] == sorted(set(page["values"]))
    assert page["pair"][0] != page["pair"][1] if page["systems"] else page["pair"] is None
    for _, choice in page["questions"]:
        assert {choice.get("system"), choice.get("against")} <= {*page["systems"], None}


def test_the_page_of_claims_says_what_is_wrong():
    kept, page = smoke("factcheck_confusion-smoke")
    names = {True: "right", False: "wrong"}
    for claim, one in zip(kept["items"], page["items"], strict=True):
        if "set" in claim:  # of another set: no system of this page was tried on it
            assert tags(page, one) == {f"judge wrong: {claim['set']}"} and not one["by_system"]
            continue
        facts, verdicts, _, parts, decisive, cited = one["parts"]
        for system, verdict, right in zip(
            kept["systems"], claim["verdicts"], claim["right"], strict=True
        ):
            of_system = tags(page, one, system)
            assert ("wrong verdict" in of_system) is (right is False)
            assert f"gold {claim['label']}, verdict {verdict or 'none'}" in of_system
        of_claim = tags(page, one)
        assert f"label: {claim['label']}" in of_claim
        assert ("evidence not found" in of_claim) is (claim["missed"] is True)
        assert ("evidence found" in of_claim) is (claim["missed"] is False)
        problems = of_claim | tags(page, one, kept["systems"][0])
        problems = sorted(problems & {"wrong verdict", "evidence not found"}, reverse=True)
        assert ["What is wrong", ", ".join(problems) or "nothing"] in facts
        assert [row[0] for row in verdicts] == kept["systems"]
        assert verdicts[0][1] == [claim["verdicts"][0], names[claim["right"][0]]]
        assert len(parts or ()) == len(claim["parts"]) and len(cited or ()) == len(claim["cited"])
        marks = [row[0][1] for row in decisive or ()]
        assert marks == ["found" if role["met"] else "missed" for role in claim["decisive"]]
        stances = [row[2] for row in cited or ()]
        assert stances == [role["stance"] for role in claim["cited"]]


def test_the_page_of_edits_shows_what_left_and_what_the_placebo_did(runs):
    cell = "counterfactual_sensitivity-smoke"
    kept, page = smoke(cell, "old")
    for edit, one in zip(kept["items"], page["items"], strict=True):
        _, change, placebo, moved, precedents, lists = (one["parts"] + [None] * 6)[:6]
        result = edit["results"][0]
        assert (change, placebo) == (edit["change"], edit["placebo"])
        assert moved[0][:2] == [kept["systems"][0], f"{result['moved']:.3f}"]
        assert moved[0][3] == str(result["new"])
        assert len(lists or ()) == max(len(result["left"]), len(result["entered"]))
        if result["left"]:
            place, rank, wanted = result["left"][0]
            assert lists[0][0] == [place, "relevant" if wanted else None, f"rank {rank} before"]
        if result["found"][1]:
            assert precedents[0][1] == f"{result['found'][1]}, best at rank {result['found'][0]}"
        fact = FACTS[edit["fact_type"]]
        assert fact in tags(page, one) and one["text"].startswith(fact)
        of_system = tags(page, one, page["systems"][0])
        assert ("lost every precedent" in of_system) is (
            bool(result["found"][1]) and not result["still_found"][1]
        )
        more = result["moved"] > result["placebo_moved"]
        assert ("moved more than its placebos" in of_system) is more
        assert ("moved no more than its placebos" in of_system) is not more
    kept["items"][0]["results"][0] = {"error": "no query"}
    path = runs / "new" / "items" / f"{cell}.json"
    path.write_text(json.dumps(kept | {"asked": 999, "texts": [], "card": None}))
    files = item_pages(read_chapters("new", [cell]), "old")
    assert (
        "of 999 edits" in files[f"items/{cell}.md"] and "by their ids" in files[f"items/{cell}.md"]
    )
    moved = loaded(files, cell)["items"][0]["parts"][3]
    assert moved[0][1] == "failed: no query" and moved[1][0].endswith(", old")


def test_an_edit_above_the_threshold_is_tagged_for_its_system():
    kept, _ = smoke("counterfactual_sensitivity-smoke")
    for edit, displacement in zip(kept["items"], (1.5, 1.500001, 4.0, None), strict=False):
        first, *others = edit["results"]
        first["displacement"] = displacement
        for result in others:
            result["displacement"] = 0.0
    page = view(kept | {"cell": CELL, "threshold": 1.5})
    above = ["above 1.5" in tags(page, one, page["systems"][0]) for one in page["items"][:4]]
    assert above == [False, True, True, False]
    assert not any("above 1.5" in tags(page, one, page["systems"][1]) for one in page["items"][:4])


def test_raters_who_disagree_are_named():
    kept, page = smoke("rater_agreement-smoke")
    for pair, one in zip(kept["items"], page["items"], strict=True):
        votes = {vote["rater"]: vote["vote"] for vote in pair["votes"] if vote["vote"] is not None}
        differing = {
            f"{first} and {second} disagree"
            for first, second in combinations(votes, 2)
            if votes[first] != votes[second]
        }
        assert {tag for tag in tags(page, one) if tag.endswith("disagree")} == differing
        assert ("not unanimous" in tags(page, one)) is bool(differing)
        preferred = [list(votes.values()).count(side) for side in (1, -1)]
        assert scores(page, one) == [[preferred[0]], [preferred[1]]]


def test_an_explanation_is_tagged_by_the_defects_that_a_detector_missed():
    data = load("smoke")
    explained = explain.explain_dataset(data, limit=12)
    weights = inverse_frequency(list(explained.sources.values()))
    copies = explain.scored_copies(explained, weights)
    scored = explain.score_explanations(explained, foreign=1, n_resamples=100)
    kept = explanation_items(explained, scored, copies, card=data.card)
    page = view(kept | {"cell": CELL})
    assert len(page["items"]) == kept["asked"] == 12
    versions = copies.set_index(["key", "defect", "original"]).sort_index()
    for one in page["items"]:
        for detector, name in explain.DETECTORS.items():
            for defect in explain.PLANTED_DEFECTS:
                is_copied = (one["id"], defect, False) in versions.index
                assert (defect in tags(page, one)) is is_copied
                if not is_copied:
                    continue
                version = versions.loc[(one["id"], defect), detector].to_dict()
                of_system = tags(page, one, name)
                assert (f"{defect}: noticed" in of_system) is (version[False] < version[True])
                assert (f"{defect}: missed" in of_system) is (version[False] >= version[True])
    hidden = explanation_items(explained, scored, copies, card=card_of("consumer_contracts_qa"))
    assert {one["text"] for one in hidden["items"]} == {None}
    assert {opening for _, opening in hidden["documents"]} == {None}
    assert not any(one["changes"] for one in hidden["items"])
