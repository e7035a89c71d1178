"""The chapter on explanations, run on odd data of one's own."""

import json

import pytest

TEXTS = [
    "The rent is due.",
    "A key was lost.",
    "Dogs bark.",
    "Snow fell.",
    "Bread rises.",
    "Ships sail.",
]


@pytest.mark.slow
def test_explanations_that_say_nothing_or_are_few(chapter, headlines, tmp_path):
    path = tmp_path / "mine.jsonl"

    def shown(sentence, count):
        rows = [{"explanation": sentence.format(text), "contexts": [text]} for text in TEXTS]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows[:count]), encoding="utf-8")
        _, outputs = chapter("05_explanation_quality", explanations=str(path), n_resamples=200)
        assert all(headline["low"] is None for headline in headlines())
        return "".join(outputs.values())

    empty = shown("It is so.", 6)
    assert "Cannot be measured here: no explanation has a content word." in empty
    few = shown("{} It may pay 3 of them.", 5)
    assert "The score drops for 100 % of the copies" in few and "[no interval]" in few
