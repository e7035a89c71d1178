"""``casebook factcheck run | ablate`` from the command line."""

import json
import re

import pytest
from cases import failing


@pytest.fixture
def claims(tmp_path):
    path = tmp_path / "claims.jsonl"
    rows = [
        {"id": "a", "claim": "The Larkfield Home Insurance Policy limits stolen money to 500."},
        {"id": "b", "claim": "The Larkfield Home Insurance Policy is the best."},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_claims_are_checked_explained_and_written_for_scoring(casebook, claims, tmp_path):
    out, gold = tmp_path / "verdicts.jsonl", tmp_path / "gold.jsonl"
    code, text, _ = casebook("factcheck", "run", claims, "--out", out, "--json")
    report = json.loads(text)
    first = report["claims"][0]
    assert (code, report["outcomes"]) == (0, {"SUPPORTED": 1, "INSUFFICIENT_EVIDENCE": 1})
    assert (
        first["evidence"][0]["doc_id"] == "smoke:home-2"
        and "Money is limited to 500" in first["explanation"]
    )
    gold.write_text('{"id": "a", "label": "SUPPORTED"}\n{"id": "b", "label": "INSUFFICIENT"}\n')
    code, text, _ = casebook("factcheck", "score", gold, out, "--resamples", 100, "--json")
    assert (code, json.loads(text)["parity"]["n"]) == (0, 2)


@pytest.fixture
def own(tmp_path):
    """Claims about a folder of plain texts whose name has a blank."""
    folder = tmp_path / "my recipes"
    folder.mkdir()
    (folder / "crème brûlée.md").write_text("Bake the cream at 150 degrees.", encoding="utf-8")
    (folder / "soup.txt").write_text(
        "The soup serves 4 people.\r\nIt must not boil.", encoding="utf-8"
    )
    path = tmp_path / "own.csv"
    rows = ["The soup serves 4 people.,SUPPORTED", "The soup serves 9 people.,NOT_SUPPORTED"]
    rows += ["The cream is baked at 150 degrees.,SUPPORTED", "The cream is baked at 90 degrees.,"]
    path.write_text("\n".join(["claim,label", *rows]))
    return path, folder


def test_what_the_document_asks_is_printed_and_written(casebook, own, tmp_path):
    path, folder = own
    out = tmp_path / "log.jsonl"
    code, text, _ = casebook("factcheck", "run", path, "--corpus", folder, "--out", out, "--json")
    report = json.loads(text)
    assert code == 0 and report["outcomes"] == {"SUPPORTED": 2, "NOT_SUPPORTED": 2}
    parity = report["labels"]["parity"]
    assert (parity["tp"], parity["tn"], parity["n"], parity["accuracy"]) == (2, 1, 3, 1.0)
    log = [json.loads(line) for line in out.read_text().splitlines()]
    mean = {
        name: sum(row[name] for row in log) / len(log)
        for name in ("queries", "evidence", "seconds")
    }
    original, in_code = report["performance"]["document"], report["performance"]["in_its_code"]
    assert original["queries_per_claim"] == pytest.approx(mean["queries"])
    assert (
        original["evidence_per_claim"] == pytest.approx(mean["evidence"]) and mean["evidence"] > 0
    )
    assert original["mean_processing_time"] == pytest.approx(mean["seconds"])
    assert in_code["mean_processing_time"] < original["mean_processing_time"]
    assert [row["accuracy"] for row in log if row["labelled"]] == [1.0] * 3
    text = casebook("factcheck", "run", path, "--corpus", folder)[1]
    assert re.search(r"cost of a claim, times in seconds\n.*\n +mean_processing_time", text)
    values = {row["measure"]: row["value"] for row in report["explanations"]}
    shown = re.search(r"documented: overall +([\d.]+)", text)
    assert float(shown[1]) == pytest.approx(values["documented: overall"], abs=1e-3)


def test_ablation_of_ones_own_claims(casebook, own):
    path, folder = own
    command = ("factcheck", "ablate", path, "--corpus", folder, "--rate", "0")
    code, _, error = casebook(*command)
    assert code == 1 and "4 claims in 4 groups: intervals need 6 groups or more" in error
    path.write_text(
        path.read_text() + "NOT_SUPPORTED\nThe soup is cold.,INSUFFICIENT\nIt must boil.,"
    )
    code, _, error = casebook(*command)
    assert code == 1 and "1 of 6 claims have no label (first: '7')" in error
    path.write_text(path.read_text() + "NOT_SUPPORTED")
    code, text, error = casebook(*command)
    assert code == 0 and "\nreported\n" in text and "documents passes" not in error
    _, _, error = casebook("factcheck", "run", path, "--corpus", folder, "--original")
    assert "documents passes the credibility gate" in error
    assert "no claim was split" in text and "no document that was found fails the gate" in text


WRONG_OPTIONS = [
    (["--corpus", "./nowhere"], "nowhere: no such folder"),
    (["--corpus", "nowhere"], "nowhere"),
    (["--stance", "magic"], "unknown stance"),
    (["--decomposition", "magic"], "unknown decomposition"),
    (["--gate", "x"], "gate"),
    (["--original", "--gate", "low"], "--gate has no effect with --original"),
    (["--original", "--stance", "public"], "--stance has no effect with --original"),
    (["--mode", "x"], "mode"),
    (["--ratings", "/nowhere.yml"], "nowhere.yml"),
]


def test_wrong_options_are_one_line(refused, claims):
    rows = [(("factcheck", "run", claims, *options), text) for options, text in WRONG_OPTIONS]
    assert failing(refused, rows) == []
