"""The front page shows what the chapters wrote, and nothing disagrees with it."""

import json
import re
import shutil

import pytest
from bs4 import BeautifulSoup
from toy_records import seal

from casebook import paths
from casebook.book.front import answers, masthead, method_page, web_address
from casebook.book.titles import dataset_name
from casebook.paths import ROOT, run_dir
from casebook.runs.headlines import Headline, read_headlines
from casebook.runs.outputs import RunOutputs, read_contrasts, read_numbers

CELL = "retrieval_ablation-smoke"
WORDS = {
    "helps": {"better"},
    "hurts": {"worse"},
    "no effect": {"equivalent", "better", "worse"},
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


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Give a copy of the smoke run, and write headlines into it."""
    shutil.copytree(run_dir("smoke"), tmp_path / "mine")
    monkeypatch.setattr(paths, "RESULTS", tmp_path)

    def write(*found, cell=CELL):
        RunOutputs("mine", cell).headlines(*found)
        seal(tmp_path / "mine")

    return write


def test_a_row_holds_question_effect_count_verdict_and_links(run):
    run(headline("Does <it> help?", margin=0.01, chance=-0.04))
    (row,) = rows_of(answers("mine", [CELL]))
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
    assert (
        links["rows"] == f"rows/{CELL}.csv.gz"
        and links["item by item"] == f"generated/items/{CELL}.html"
    )
    assert (
        row.select_one("details.reproduce code").text == f"casebook run {CELL} --run mine --force"
    )


def test_rows_of_one_measure_share_an_axis_and_others_do_not(run):
    run(
        headline(),
        headline(value=0.001, low=-0.001, high=0.003, margin=0.01),
        headline(measure="AP", high=0.3),
    )
    first, second, other = (row.select("svg text") for row in rows_of(answers("mine", [CELL])))
    assert [t.text for t in first] == [t.text for t in second] == ["-0.08", "0", "0.08"]
    assert [t.text for t in other] == ["-0.3", "0", "0.3"]


def test_a_value_around_one_half_is_drawn_around_it(run):
    run(headline("Preferred?", measure="win rate", value=0.1, low=-0.1, high=0.2, null=0.5))
    (row,) = rows_of(answers("mine", [CELL]))
    assert [t.text for t in row.select("svg text")] == ["0.3", "0.5", "0.7"]
    assert "0.600 [0.400, 0.700]" in row.text


def test_three_answers_of_an_experiment_are_visible_and_the_rest_is_folded(run):
    for number, cell in enumerate((CELL, "embedding_shift-smoke")):
        run(*[headline(f"Question {number}.{k}?") for k in range(3 + 2 * (not number))], cell=cell)
    page = BeautifulSoup(answers("mine", [CELL, "embedding_shift-smoke"]), "html.parser")
    folded = page.select_one("details.more-answers")
    assert [row.strong.text for row in folded.select("li")] == ["Question 0.3?", "Question 0.4?"]
    assert len(page.select("ul:not(details ul) > li")) == 6


def test_the_first_answer_on_each_data_set_is_visible_then_what_is_decided(run):
    zero = {"value": 0.0, "low": -0.1, "high": 0.1}
    run(headline("A1"), headline("A2", **zero), headline("A3", measure="gain,"))
    shutil.copytree(run_dir("mine") / "runs" / CELL, run_dir("mine") / "runs" / "other")
    run(headline("B1", **zero), headline("B2", **zero), cell="other")
    page = BeautifulSoup(answers("mine", [CELL, "other"]), "html.parser")
    assert [row.strong.text for row in page.select("li")] == ["A1", "A3", "B1", "A2", "B2"]
    assert len(page.select("details.more-answers li")) == 2 and ",;" not in page.text


def test_what_cannot_be_measured_has_no_picture_and_says_why(run):
    run(
        headline(value=None, low=None, high=None, reason="no judgements"),
        headline(low=None, high=None, reason="few_x"),
    )
    none, alone = rows_of(answers("mine", [CELL]))
    assert none.svg is None and "Cannot be measured here: no judgements" in none.text
    assert alone.select_one("svg .interval") is None and "No interval: few x" in alone.text


def test_a_chapter_words_its_verdict_where_helps_does_not_fit(run):
    run(headline("Sound?", words={"helps": "flagged"}))
    (row,) = rows_of(answers("mine", [CELL]))
    assert row.select_one(".verdict").text == "flagged"


def test_a_run_without_headlines_says_so():
    assert "has reported an answer yet" in answers("never-made", ["cell"])


def test_readers_see_names_of_data_sets_and_methods():
    assert dataset_name("consumer_contracts_qa_test") == "ConsumerContractsQA, test part"
    assert dataset_name("planted.corrected_explainer") == "Planted truth, standard explainer"
    assert dataset_name("my folder") == "my folder" and dataset_name("smoke") == "Smoke"
    assert method_page("factcheck_confusion") == "methods/factcheck.html"
    assert method_page("my_experiment") == "methods/measures.html"
    assert method_page("audits", "agreement#kappa") == "methods/agreement.html#kappa"


def test_the_first_lines_say_date_version_citation_and_licence():
    text = BeautifulSoup(masthead("smoke", [CELL]), "html.parser").text
    cited = (ROOT / "CITATION.cff").read_text()
    version = re.search(r"^version: (.+)$", cited, re.MULTILINE)[1]
    assert "completed 1 January 2026" in text and f"Version {version}" in text
    assert "Cite as: The Casebook authors (2026). Casebook" in text and "Licence MIT" in text
    assert "completed" not in masthead("smoke", [])


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
    rows = {
        row.strong.text: row for row in rows_of(answers("smoke", [cell]))
    }  # the first ones, then the others
    assert len(found) <= 4
    assert set(rows) == {each.question for each in found}
    shown = shown_text(cell)
    for each in found:
        row = rows[each.question]
        assert each.sentence in shown, each.question
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
