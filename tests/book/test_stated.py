"""What documents state is held against the same quantity, by rule, and all cells are computed."""

import json
from types import SimpleNamespace

import pytest
from bs4 import BeautifulSoup

from casebook import paths
from casebook.book import stated
from casebook.book.stated import measured, read_stated, stated_section, verdict
from casebook.errors import InputError
from casebook.paths import DATA, run_dir
from casebook.readers import read_yaml

CELL = "factcheck_confusion-smoke"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Give a function that writes contrasts and numbers of a run."""
    monkeypatch.setattr(paths, "RESULTS", tmp_path)

    def write(numbers=None, contrasts=None):
        for kind, content in (("numbers", numbers), ("contrasts", contrasts)):
            (tmp_path / "mine" / kind).mkdir(parents=True, exist_ok=True)
            (tmp_path / "mine" / kind / f"{CELL}.json").write_text(json.dumps(content or {}))
        return "mine"

    return write


def number(value, low=None, high=None, **more):
    return {"value": value, "ci": [low, high], "n": 100, "control": 0.5, "reason": None} | more


def judge(rule, *values):
    """Judge (stated, value, low, high)."""
    row = {"rule": rule, "values": [{"stated": v[0], "point": len(v) == 2} for v in values]}
    numbers = [
        SimpleNamespace(**dict(zip(("value", "low", "high"), (*v[1:], None, None), strict=False))) for v in values
    ]
    return verdict(row, numbers)


def test_the_rule_and_the_interval_give_the_verdict():
    assert judge("inside", (0.1, 0.2, 0.05, 0.3)) == "confirmed"
    assert judge("inside", (0.0, 0.65, 0.6, 0.7)) == "not confirmed"
    assert (
        judge("inside", (-12, -18, -28, -9), (-8, 0, -3, 3), (-15, 0, 0, 0), (-10, -7, -14, -1)) == "2 of 4 confirmed"
    )
    assert judge("above 0", ("above 0", 0.1, 0.02, 0.2)) == "confirmed"
    assert judge("above 0", (0.13, 0.13, -0.1, 0.4)) == "undecided"
    assert judge("above 0", (0.1, -0.2, -0.3, -0.1)) == "not confirmed"
    assert judge("above 0.9", (0.9, 0.95, None, None)) == "undecided"
    assert judge("below 0.05", (0.0002, 0.165)) == "not confirmed"
    assert judge("below 0.05", (0.0002, 0.004)) == "confirmed"
    assert judge("cannot") == "cannot be measured"


def test_cells_are_read_from_the_run_and_sentences_filled(run):
    documented = {"accuracy": number(0.4, 0.3, 0.5), "f1_binary": number(0.0, 0.0, 0.0)}
    documented["share answered NOT_SUPPORTED"] = number(1.0, 0.9, 1.0)
    parts = {"decomposition": -0.18, "query diversity": 0.0, "credibility weighting": 0.0, "three stages": -0.07}
    rows = [
        {"system": f"without {p}", "against": "pipeline", "difference": d, "low": d - 0.1, "high": d + 0.1, "n": 100}
        for p, d in parts.items()
    ]
    name = run(
        {"factcheck_confusion": {"factcheck_claims": {"documented": documented}}},
        {"factcheck_confusion": {"factcheck_claims": {"accuracy": rows}}},
    )
    text = BeautifulSoup(stated_section(name), "html.parser").get_text(" ")
    assert "Stated: -12 / -8 / -15 / -10. Measured: -18 [-28, -8] / 0 [-10, 10] / 0 [-10, 10] / -7 [-17, 3]." in text
    assert "3 of 4 confirmed" in text
    assert "answers NOT_SUPPORTED to 100% of 100 claims" in text
    assert "Fleiss" not in text and "displacement" not in text  # of chapters that the run does not hold


def test_a_sentence_without_its_number_is_left_out(run):
    documented = {"accuracy": number(0.4, 0.3, 0.5), "f1_binary": number(0.0, 0.0, 0.0)}
    section = stated_section(run({"factcheck_confusion": {"factcheck_claims": {"documented": documented}}}))
    assert "NOT_SUPPORTED to" not in section and "most frequent label has accuracy 0.500" in section
    assert "{" not in section.replace("{raw}", "")


def test_a_run_without_the_systems_has_no_section(run):
    assert stated_section(run({"my_experiment": {"mine": {"a": {"b": number(1.0)}}}})) == ""


def test_statements_name_documents_and_no_number_stands_in_an_explanation():
    known = {path.stem for path in (DATA / "concordance").glob("*.yml")}
    for row in read_stated():
        assert row["document"] in known
        assert row["rule"] == "cannot" or row["datasets"], row["statement"]
    texts = [s for row in read_yaml(stated.STATED) for s in row["why"] if row["rule"] != "cannot"]
    assert all("{" in s for s in texts if any(c.isdigit() for c in s)), texts


@pytest.mark.parametrize(
    "change", [{"rule": "about 3"}, {"why": None, "extra": 1}, {"values": []}], ids=["rule", "field", "values"]
)
def test_a_wrong_statement_is_named(tmp_path, change):
    row = read_stated()[0] | change
    (tmp_path / "stated.yml").write_text(json.dumps([row]))
    with pytest.raises(InputError, match="statement 1: "):
        read_stated(tmp_path / "stated.yml")


def test_every_row_of_the_smoke_run_repeats_its_stored_numbers():
    """Read the stored files in another way than the page does."""
    for row in read_stated():
        found = None if row["rule"] == "cannot" else measured("smoke", row)
        if not found:
            continue
        dataset, _, numbers, _ = found
        for where, got in zip(row["values"], numbers, strict=True):
            if "number" in where:
                system, measure = where["number"]
                tree = json.loads((run_dir("smoke") / "numbers.json").read_text())
                stored = tree[row["experiment"]][dataset][system][measure]
                assert [got.value, got.low, got.high] == [stored["value"], *stored["ci"]]
            else:
                measure, *pair = where["contrast"]
                tree = json.loads((run_dir("smoke") / "contrasts.json").read_text())
                (stored,) = [
                    r for r in tree[row["experiment"]][dataset][measure] if [r["system"], r["against"]] == pair
                ]
                assert [got.value, got.low, got.high] == [stored["difference"], stored["low"], stored["high"]]
