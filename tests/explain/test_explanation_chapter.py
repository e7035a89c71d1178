"""The chapter on explanations, run on odd data of one's own."""

import json
import os
import subprocess
import sys

import pytest

TEXTS = [
    "The rent is due.",
    "A key was lost.",
    "Dogs bark.",
    "Snow fell.",
    "Bread rises.",
    "Ships sail.",
]


def run_chapter(folder, rows):
    """Run the chapter on a file of explanations: exit code, headlines and what was said."""
    path = folder / "mine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    command = [sys.executable, "-m", "casebook", "run", "explanation_quality", "--run", "mine"]
    command += ["-p", f"explanations={path}", "-p", "n_resamples=200"]
    env = os.environ | {"CASEBOOK_ROOT": str(folder / "out")}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    found = sorted((folder / "out" / "results" / "mine" / "headlines").glob("*.json"))
    return (
        done.returncode,
        [json.loads(each.read_text()) for each in found],
        done.stdout + done.stderr,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sentence", "count", "opening"),
    [
        ("It is so.", 6, "Cannot be measured here: no explanation has a content word."),
        ("{} It may pay 3 of them.", 5, "Both notice it: AUROC of faithfulness 1.000 each"),
    ],
)
def test_explanations_that_say_nothing_or_are_few(tmp_path, sentence, count, opening):
    texts = TEXTS[:count]
    rows = [
        {"id": text, "explanation": sentence.format(text), "contexts": [text]} for text in texts
    ]
    code, (headlines,), said = run_chapter(tmp_path, rows)
    assert code == 0 and opening in said
    assert all(headline["low"] is None and headline["high"] is None for headline in headlines)


@pytest.mark.parametrize("count", [1, 8])
def test_one_source_is_refused_before_a_kernel_starts(tmp_path, count):
    rows = [
        {"id": f"e{i}", "explanation": "Rent is due.", "contexts": [TEXTS[0]]} for i in range(count)
    ]
    code, headlines, said = run_chapter(tmp_path, rows)
    assert code == 1 and not headlines and said.count("\n") == 1
    assert "1 different source(s) with an explanation, 5 are the fewest to compare" in said
