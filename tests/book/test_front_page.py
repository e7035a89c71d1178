"""The front page shows what the chapters wrote, and nothing disagrees with it."""

import html
import json
import re
import shutil

import pytest
from bs4 import BeautifulSoup
from toy_records import seal

from casebook import paths
from casebook.book.answers import (
    answers,
    finding,
    questions,
)
from casebook.book.axis import effect_axis
from casebook.book.front import bibtex, masthead, preview, web_address
from casebook.book.results import read_chapters
from casebook.paths import ROOT, run_dir
from casebook.runs.headlines import Headline, read_headlines
from casebook.runs.outputs import RunOutputs, read_contrasts, read_numbers

CELL = "retrieval_ablation-smoke"
WORDS = {
    "helps": {"better"},
    "hurts": {"worse"},
    "no effect": {"equivalent", "better", "worse"},
    "no difference": {"no difference"},
    "undecided": {"undecided"},
    "cannot be measured": {"cannot be measured"},
}


def headline(question="Does it help?", **names):
    known = {"dataset": "smoke", "system": "Full pipeline", "against": "BM25", "measure": "nDCG@10"}
    known |= {
        "value": 0.05,
        "low": 0.02,
        "high": 0.08,
        "n": 34,
        "groups": 12,
        "cluster": "contracts",
    }
    return Headline(question, **(known | names))


def rows_of(markup):
    return BeautifulSoup(markup, "html.parser").select("li.answer-row")


def questions_of(markup):
    return BeautifulSoup(markup, "html.parser").select("li.question-row")


def verdicts_of(row):
    return [" ".join(verdict.text.split()) for verdict in row.select(".answer-verdict .verdict")]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Give a copy of the smoke run, and write headlines into it."""
    shutil.copytree(run_dir("smoke"), tmp_path / "mine")
    monkeypatch.setattr(paths, "RESULTS", tmp_path)

    def write(*headlines, cell=CELL):
        RunOutputs("mine", cell).headlines(*headlines)
        seal(tmp_path / "mine")

    return write


# --- a row for each question


ZERO = {"value": 0.0, "low": -0.1, "high": 0.1}
WORSE = {"value": -0.05, "low": -0.08, "high": -0.02}
MISSING = {"value": None, "low": None, "high": None}
OTHER = "embedding_shift-smoke"


def test_answers_of_one_topic_are_one_row_over_chapters(run):
    run(headline("A?", topic="shift", label="vector"), headline("B?", topic="pipeline"))
    run(headline("C?", topic="shift", label="map"), headline("Mine?"), cell=OTHER)
    rows = questions(read_chapters("mine", [OTHER, CELL]))
    texts = [row.question for row in rows]
    assert texts == ["Does the full pipeline find more?", "Does a learned shift help?", "Mine?"]
    assert [case.chapter.cell for case in rows[1].cases] == [OTHER, CELL]
    _, shift, _ = questions_of(answers(read_chapters("mine", [OTHER, CELL])))
    dots = shift.select("a.dot")
    assert [dot["href"] for dot in dots] == [f"run/notebooks/{c}.html" for c in (OTHER, CELL)]
    assert [dot.text.partition(":")[0] for dot in dots] == ["Smoke, map", "Smoke, vector"]
    assert len(shift.select("details.cases li.answer-row")) == 2


def test_no_number_of_a_row_is_bare(run):
    measured = {"topic": "t", "unit": "claims"}
    run(
        headline("A?", level=0.86, baseline=0.81, **measured),
        headline("B?", level=0.75, baseline=0.70, n=12, groups=None, **measured),
        headline("C?", measure="AUROC", **measured),
    )
    (row,) = questions_of(answers(read_chapters("mine", [CELL])))
    first, second, third = [dot.text for dot in row.select("a.dot")]
    assert "+0.050 [+0.020, +0.080] nDCG@10, 0.860 against 0.810 (34 claims in 12" in first
    assert "0.750 against 0.700 (12 claims)" in second and "(34 claims" in third
    together, alone = [text.text for text in row.select(".dots small")]
    assert together == "nDCG@10: 0.75–0.86 against 0.70–0.81 (12–34 claims)"
    assert alone == "+0.050 [+0.020, +0.080] AUROC (34 claims in 12 contracts)"


def test_unlike_measures_never_share_an_axis(run):
    run(
        headline("A?", topic="t"),
        headline("B?", topic="t", measure="AUROC", high=0.3),
        headline("C?", topic="t", value=0.1, low=-0.1, high=0.2, null=0.5),
    )
    (row,) = questions_of(answers(read_chapters("mine", [CELL])))
    ticks = [[tick.text for tick in axis.select("span")] for axis in row.select(".dots .ticks")]
    assert ticks == [["-0.08", "0", "0.08"], ["-0.3", "0", "0.3"], ["0.3", "0.5", "0.7"]]
    assert list(effect_axis(0.5, 0.9).ticks) == [-0.5, 0, pytest.approx(0.1)]
    assert list(effect_axis(2, 0.0).ticks) == [-2, 0, 2]
    (dot, *_) = row.select("a.dot")
    assert "--value:81.2%;--low:62.5%;--high:100.0%" in dot["style"]


def test_a_mixed_verdict_is_counted_and_the_worse_case_named(run):
    run(headline("A?", topic="t", label="first"), headline("B?", topic="t", label="bad", **WORSE))
    (row,) = questions_of(answers(read_chapters("mine", [CELL])))
    assert verdicts_of(row) == ["helps in 1 of 2: first", "hurts: bad"]
    names = ["a", "b", "c"]
    run(*[headline(f"{name}?", topic="t", label=name, **WORSE) for name in names], cell=OTHER)
    (row,) = questions_of(answers(read_chapters("mine", [CELL, OTHER])))
    assert verdicts_of(row) == ["helps in 1 of 5", "hurts in 4 of 5: bad; a and 2 more"]
    run(*[headline(f"{name}?", topic="t") for name in names])
    (row,) = questions_of(answers(read_chapters("mine", [CELL])))
    assert verdicts_of(row) == ["helps in all 3"]


def test_where_a_higher_value_is_unfavourable_it_looks_so(run):
    run(headline("Sound?", topic="audits"))
    (row,) = questions_of(answers(read_chapters("mine", [CELL])))
    assert row.select(".verdict-hurts") and row.select("a.dot-hurts")
    assert verdicts_of(row) == ["helps"]


def test_an_unfavourable_row_is_as_visible_as_the_others(run):
    run(headline("A?"), headline("B?", **WORSE), headline("C?", **ZERO), headline("D?", **MISSING))
    markup = answers(read_chapters("mine", [CELL]))
    rows = questions_of(markup)
    assert [row.strong.text for row in rows] == ["A?", "B?", "C?", "D?"]
    assert [verdicts_of(row) for row in rows] == [
        ["helps"],
        ["hurts"],
        ["undecided"],
        ["cannot be measured"],
    ]
    page = BeautifulSoup(markup, "html.parser")
    assert not page.select("details li.question-row")  # none is folded


def test_what_few_groups_or_equal_scores_show_is_said_beside_the_question(run):
    few = {"groups": 4, "cluster": "policies", "reason": "interval_by_unit"}
    equal = ZERO | {"low": None, "high": None, "value": 0.0, "reason": "no_unit_differs"}
    run(headline("A?", **few), headline("B?", **few | WORSE), headline("C?", **equal))
    rows = questions_of(answers(read_chapters("mine", [CELL])))
    assert [verdicts_of(row) for row in rows] == [
        ["helps on these 4 policies"],
        ["hurts on these 4 policies"],
        ["no difference"],
    ]
    assert rows[2].select(".verdict-no-effect") and "No difference: +0.000" in rows[2].text


def test_a_run_in_which_nothing_can_be_measured_says_why(run):
    run(headline("A?", topic="t", reason="no judgements", **MISSING), headline("B?", **MISSING))
    first, second = questions_of(answers(read_chapters("mine", [CELL])))
    assert first.select_one(".meaning").text == "No judgements." and not first.select(".dots")
    assert second.select_one(".meaning").text == "Nothing was compared."
    found = BeautifulSoup(finding(read_chapters("mine", [CELL])), "html.parser").text
    assert found == "2 questions. Cannot be measured: 2 questions."


@pytest.mark.parametrize(
    ("effects", "outcome"),
    [
        ([{}, {}], "yes"),
        ([{}, MISSING], "yes"),
        ([{}, WORSE], "it depends"),
        ([{}, ZERO], "it depends"),
        ([WORSE, ZERO], "no"),
        ([WORSE, {"margin": 0.2}], "no"),
        ([ZERO, {"margin": 0.2}], "undecided"),
        ([MISSING], "cannot be measured"),
    ],
)
def test_what_was_found_follows_from_the_verdicts_of_a_row(run, effects, outcome):
    run(*[headline(f"{k}?", topic="shift", **effect) for k, effect in enumerate(effects)])
    found = BeautifulSoup(finding(read_chapters("mine", [CELL])), "html.parser").text
    assert found == f"1 question. {outcome[0].upper()}{outcome[1:]}: learned shifts."


def test_yes_to_a_question_may_be_the_verdict_that_hurts(run):
    run(headline("Worse?", topic="length", **WORSE), headline("Sound?", topic="audits"))
    run(headline("Mine?", answers={"hurts": "Yes"}, **WORSE), cell=OTHER)
    found = BeautifulSoup(finding(read_chapters("mine", [CELL, OTHER])), "html.parser").text
    expected = "3 questions. Yes: short questions, 1 more. No: reported tables."
    assert found == expected


# --- a row for each headline


def test_a_detailed_row_holds_question_effect_count_verdict_and_links(run):
    run(headline("Does <it> help?", margin=0.01, chance=-0.04))
    (row,) = rows_of(answers(read_chapters("mine", [CELL])))
    text = " ".join(row.get_text(" ").split())
    for part in (
        "Does <it> help?",
        "Yes: +0.050 [+0.020, +0.080]",
        "Full pipeline against BM25, nDCG@10",
        "helps",
    ):
        assert part in text
    assert "34 questions in 12 contracts" in text and "Smoke" in text
    assert row.select_one("svg")["aria-label"] == row.select_one("svg title").text
    assert len(row.select("svg .band")) == len(row.select("svg .chance")) == 1
    links = {a.text: a["href"] for a in row("a")}
    assert links["chapter"] == f"run/notebooks/{CELL}.html"
    assert links["method"] == "methods/retrieval_ablation.html"
    assert links["rows"] == f"rows/{CELL}.csv.gz"
    assert links["items"] == f"generated/items/{CELL}.html"
    assert (
        row.select_one("details.reproduce code").text == f"casebook run {CELL} --run mine --force"
    )


def test_the_masthead_says_date_version_citation_and_licence():
    page = BeautifulSoup(masthead("smoke", read_chapters("smoke", [CELL])), "html.parser")
    cited = (ROOT / "CITATION.cff").read_text()
    version = re.search(r"^version: (.+)$", cited, re.MULTILINE)[1]
    assert "completed 1 January 2026" in page.text and f"Version {version}" in page.text
    assert "Licence MIT" in page.text and "completed" not in masthead(
        "smoke", read_chapters("smoke", [])
    )
    cite = page.select_one("details.cite")
    assert "The Casebook authors (2026). Casebook" in cite.p.text
    assert (
        f"version = {{{version}}}" in cite.pre.text and "author = {{The Casebook" in cite.pre.text
    )


def test_bibtex_keeps_names_of_organisations_and_escapes():
    cited = {
        "authors": [{"family-names": "O'Neil", "given-names": "Ann"}, {"name": "R&D of 100 %"}],
        "title": "Our {book}_1",
        "version": 2,
        "date-released": "2026-01-31",
    }
    assert bibtex(cited) == (
        "@software{oneil2026,\n"
        "  author = {O'Neil, Ann and {R\\&D of 100 \\%}},\n"
        "  title = {{Our \\{book\\}\\_1}},\n"
        "  version = {2},\n"
        "  year = {2026},\n"
        "}"
    )


def test_a_preview_names_the_page_and_escapes():
    page = BeautifulSoup(preview('A "B" & C', "Found <it>.", "https://x/y.png"), "html.parser")
    tags = {meta.get("property") or meta["name"]: meta["content"] for meta in page("meta")}
    assert tags["og:title"] == 'A "B" & C' and tags["og:description"] == "Found <it>."
    assert tags["og:image"] == "https://x/y.png" and tags["description"] == "Found <it>."
    assert "og:image" not in preview("A", "B", None)


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("https://user:token@example.org/a/b.git", "https://example.org/a/b"),
        ("git@example.org:a/b.git", "https://example.org/a/b"),
        ("ssh://git@example.org:2222/a/b", "https://example.org/a/b"),
        ("/srv/checkout.git", None),
        ("../other.git", None),
        ("file:///a.b/c", None),
        ("", None),
    ],
)
def test_a_remote_becomes_an_address_for_browsers_without_its_secrets(remote, address):
    assert web_address(remote) == address


# --- front page, chapter and tables hold the same verdict and number

SMOKE = sorted(path.stem for path in (run_dir("smoke") / "headlines").glob("*.json"))


def shown_text(cell):
    """Give all text that the executed notebook of a cell shows."""
    notebook = json.loads((run_dir("smoke") / "notebooks" / f"{cell}.ipynb").read_text())
    found = [o.get("data", {}) for c in notebook["cells"] for o in c.get("outputs", [])]
    return "\n".join(
        "".join(data.get(kind, "")) for data in found for kind in ("text/markdown", "text/plain")
    )


def near(one, other):
    return one is other is None or (None not in (one, other) and abs(one - other) < 2e-6)


def sources(cell):
    """Yield every stored contrast and estimate of a cell: value, bounds, n, verdict."""
    for datasets in read_contrasts("smoke", cell).values():
        for measures in datasets.values():
            for rows in measures.values():
                yield from (
                    (r["difference"], r["low"], r["high"], r["n"], r.get("verdict")) for r in rows
                )
    for datasets in read_numbers("smoke", cell).values():
        for systems in datasets.values():
            for measures in systems.values():
                yield from ((m["value"], *m["ci"], m["n"], None) for m in measures.values())


@pytest.mark.parametrize("cell", SMOKE)
def test_front_page_chapter_and_table_agree_on_every_row(cell):
    found = read_headlines("smoke", cell)
    rows = {row.strong.text: row for row in rows_of(answers(read_chapters("smoke", [cell])))}
    assert len(found) <= 4
    assert set(rows) == {each.question for each in found}
    shown = html.unescape(shown_text(cell))
    for each in found:
        row = rows[each.question]
        assert each.question in shown and each.plain in shown
        assert each.numbers in shown, each.question
        assert row.select_one(".verdict").text.startswith(each.word)
        if each.verdict == "cannot be measured":
            continue
        assert each.effect in " ".join(row.get_text(" ").split())
        stated = (
            each.value + each.null,
            *(x if x is None else x + each.null for x in (each.low, each.high)),
        )
        same = [
            s
            for s in sources(cell)
            if all(map(near, s[:3], stated)) and s[3] in (each.n, each.groups)
        ]
        assert same, f"{each.question} rests on no row of contrasts.json or numbers.json"
        verdicts = {verdict for *_, verdict in same} - {None}
        assert not verdicts or verdicts & WORDS[each.verdict] or each.low is None
