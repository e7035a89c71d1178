"""The front page shows what the chapters wrote, and nothing disagrees with it."""

import html
import json
from itertools import chain

import pytest
from bs4 import BeautifulSoup
from toy_records import seal

from casebook.book.answers import MOST_ROWS, about, answers, questions
from casebook.book.axis import effect_axis
from casebook.book.results import read_chapters
from casebook.paths import run_dir
from casebook.runs.headlines import Headline, read_headlines
from casebook.runs.outputs import RunOutputs, read_numbers

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


def questions_of(markup):
    return BeautifulSoup(markup, "html.parser").select("li.question-row")


def cases_of(row):
    """Name and verdict of each dot of a row."""
    cases = row.select("a.case")
    return [(case.select_one(".name").text, case.select_one(".verdict").text) for case in cases]


@pytest.fixture
def run(mine):
    """Give a function that writes headlines into a copy of the small run."""

    def write(*headlines, cell=CELL):
        RunOutputs("mine", cell).headlines(*headlines)
        seal(mine)

    return write


# --- a row for each question


ZERO = {"value": 0.0, "low": -0.1, "high": 0.1}
WORSE = {"value": -0.05, "low": -0.08, "high": -0.02}
MISSING = {"value": None, "low": None, "high": None}
OTHER = "embedding_shift-smoke"


def test_answers_of_one_topic_are_one_row_over_chapters(run):
    again = headline("A?", topic="shift", label="again")
    run(headline("A?", topic="shift", label="vector"), headline("B?", topic="pipeline"), again)
    run(headline("C?", topic="shift", label="map"), headline("Mine?"), cell=OTHER)
    rows = questions(read_chapters("mine", [OTHER, CELL]))
    texts = [row.question for row in rows]
    assert texts == ["Mine?", "Does the full pipeline find more?", "Does a learned shift help?"]
    assert [case.chapter.cell for case in rows[2].cases] == [OTHER, CELL, CELL]
    *_, shift = questions_of(answers(read_chapters("mine", [OTHER, CELL])))
    links = [case["href"] for case in shift.select("a.case")]
    assert links == [f"run/notebooks/{cell}.html" for cell in (OTHER, CELL)]
    # One dot a chapter, data set, measure and verdict.
    assert cases_of(shift) == [("map", "helps"), ("vector", "helps")]
    assert "Not drawn: 1 further answer on the same data" in shift.text


def test_dots_are_named_by_data_set_and_label_and_verdicts_stand_beside_them(run):
    few = {"groups": 4, "cluster": "policies", "reason": "interval_by_unit"}
    equal = ZERO | {"low": None, "high": None, "reason": "no_unit_differs"}
    more = {"dataset": "my_data", "topic": "t"}
    run(
        headline("A?", topic="t", **few),
        headline("B?", label="bad", **more, **WORSE),
        headline("C?", label="same", **more, **equal),
        headline("D?", label="open", **more, **ZERO),
        headline("D?", label="open too", **more, **ZERO),
        headline("E?", label="none", **more, **MISSING),
    )
    (row,) = questions_of(answers(read_chapters("mine", [CELL])))
    assert cases_of(row) == [
        ("Smoke", "helps on these 4 policies"),
        ("my data: bad", "hurts"),
        ("my data: same", "no difference"),
        ("my data: open", "undecided"),
        ("my data: none", "cannot be measured"),
    ]
    colours = [case["class"][1] for case in row.select("a.case")]
    ends = ["helps", "hurts", "no-effect", "undecided", "not-measured"]
    assert colours == [f"dot-{end}" for end in ends]
    assert len(row.select(".lane .mark")) == 4


def test_no_number_of_a_row_is_bare(run):
    measured = {"topic": "t", "unit": "claims"}
    run(
        headline("A?", level=0.86, baseline=0.81, margin=0.01, chance=-0.04, **measured),
        headline("B?", level=0.75, baseline=0.70, n=12, groups=None, **measured, **WORSE),
        headline("C?", measure="AUROC", **measured),
    )
    (row,) = questions_of(answers(read_chapters("mine", [CELL])))
    first, second, third = [case["aria-label"] for case in row.select("a.case")]
    assert "+0.050 [+0.020, +0.080] nDCG@10, 0.860 against 0.810 (34 claims in 12" in first
    assert "0.750 against 0.700 (12 claims)" in second and "(34 claims" in third
    texts = [text.text for text in row.select(".plot small")]
    assert texts == ["nDCG@10, 12–34 claims", "AUROC, 34 claims"]
    assert len(row.select(".band")) == len(row.select(".chance")) == 1


def test_unlike_measures_never_share_an_axis(run):
    run(
        headline("A?", topic="t"),
        headline("B?", topic="t", measure="AUROC", high=0.3),
        headline("C?", topic="t", value=0.1, low=-0.1, high=0.2, null=0.5),
    )
    (row,) = questions_of(answers(read_chapters("mine", [CELL])))
    ticks = [[tick.text for tick in axis.select("span")] for axis in row.select(".ticks")]
    assert ticks == [["", "0.08"], ["", "0.3"], ["0.3", "0.7"]]
    ends = [effect_axis(*given).ends for given in ((0.5, 0.9), (0.4, 1.0), (2, 0.0))]
    assert ends == [["0.4", "1"], ["0.6", "1"], ["", "2"]]
    figures = [figure.text for figure in row.select(".figures")]
    assert figures[1:] == ["+0.050 [+0.020, +0.300]", "0.600 [0.400, 0.700]"]
    (lane, *_) = row.select(".lane")
    assert lane["style"] == "--value:81.2%;--low:62.5%;--high:100.0%"


def test_questions_beyond_the_first_are_named_below(run):
    run(*[headline(f"Question {number}?") for number in range(MOST_ROWS + 2)])
    markup = answers(read_chapters("mine", [CELL]))
    assert len(questions_of(markup)) == MOST_ROWS
    further = BeautifulSoup(markup, "html.parser").select(".further a")
    assert [link.text for link in further] == ["Question 10?", "Question 11?"]


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


def sources(stored):
    """Yield every contrast and estimate below: value, bounds, n, verdict."""
    if isinstance(stored, list):
        for r in stored:
            yield r["difference"], r["low"], r["high"], r["n"], r.get("verdict")
    elif "ci" in stored:
        yield stored["value"], *stored["ci"], stored["n"], None
    else:
        yield from chain.from_iterable(map(sources, stored.values()))


@pytest.mark.parametrize("cell", SMOKE)
def test_front_page_chapter_and_table_agree_on_every_row(cell):
    found = read_headlines("smoke", cell)
    markup = html.unescape(answers(read_chapters("smoke", [cell])))
    assert len(found) <= 4
    shown = html.unescape(shown_text(cell))
    stored = {kind: read_numbers("smoke", cell, kind) for kind in ("numbers", "contrasts")}
    dots = {(each.measure, each.dataset, each.verdict): each for each in reversed(found)}
    for each in dots.values():
        assert each.word in BeautifulSoup(markup, "html.parser").text
        assert each.effect in markup
    for each in found:
        assert each.question in shown and each.plain in shown
        assert each.numbers in shown, each.question
        if each.verdict == "cannot be measured":
            continue
        stated = (
            each.value + each.null,
            *(x if x is None else x + each.null for x in (each.low, each.high)),
        )
        same = [
            s
            for s in sources(stored)
            if all(map(near, s[:3], stated)) and s[3] in (each.n, each.groups)
        ]
        assert same, f"{each.question} rests on no row of contrasts.json or numbers.json"
        verdicts = {verdict for *_, verdict in same} - {None}
        assert not verdicts or verdicts & WORDS[each.verdict] or each.low is None


def test_a_run_without_answers_says_so():
    assert about([]).endswith("no question is answered.")
