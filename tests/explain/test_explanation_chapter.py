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
@pytest.mark.parametrize(
    ("sentence", "count", "opening"),
    [
        ("It is so.", 6, "Cannot be measured here: no explanation has a content word."),
        ("{} It may pay 3 of them.", 5, "[no interval] AUROC of faithfulness against"),
    ],
)
def test_explanations_that_say_nothing_or_are_few(
    chapter, headlines, tmp_path, sentence, count, opening
):
    rows = [
        {"id": text, "explanation": sentence.format(text), "contexts": [text]}
        for text in TEXTS[:count]
    ]
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    _, shown = chapter("05_explanation_quality", explanations=str(path), n_resamples=200)
    assert opening in "".join(shown.values())
    assert all(headline["low"] is None and headline["high"] is None for headline in headlines())
