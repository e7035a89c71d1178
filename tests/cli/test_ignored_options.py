"""An option that changes nothing is refused: whoever gave it believes that it counts."""

from cases import failing

FORMS = "raters forms s --rater=r1:lay --rater=r2:lay --explanations e.csv"
EVALUATE = "sensitivity evaluate case.json --corpus corpus"

IGNORED = [
    ("sensitivity run case.txt smoke --mode bm25 --encoder nope", "--encoder"),
    ("sensitivity run case.txt smoke --mode my:search --encoder nope", "--encoder"),
    (f"{EVALUATE} --mode bm25_stemmed --encoder nope", "--encoder"),
    ("sensitivity run case.txt smoke --original --placebos 3", "--placebos"),
    (f"{FORMS} --common", "--common"),
    (f"{FORMS} --seed 3", "--seed"),
    ("raters analyse f --original --out x", "--out"),
    ("factcheck run claims.jsonl --original --mode full --stance public", "--stance"),
    ("run --workers 2 --scheduler tcp://x", "--workers"),
    ("evaluate q r --json --per-query", "--per-query"),
    ("compare q a b --json --markdown", "--markdown"),
]


def test_an_option_without_effect_is_refused(refused):
    rows = [(words, f"{option} has no effect") for words, option in IGNORED]
    assert failing(refused, rows) == []
