"""The fact-checking chapters on a user's claims, with models as judges."""

import json
import re

import pytest
from sklearn.metrics import cohen_kappa_score

pytestmark = pytest.mark.usefixtures("fresh_answers")
S, N = "SUPPORTED", "NOT_SUPPORTED"
FACTS = ["3 eggs", "30 minutes", "200 grams", "4 people", "9 onions", "2 pans"]
TEXT = (
    "The batter needs 3 eggs. It rests for 30 minutes. The flour weighs 200 grams. "
    "The soup serves 4 people. The soup is made with 9 onions. The cook heats 2 pans."
)
CLAIMS = [
    "The batter needs 3 eggs.",
    "The batter rests for 30 minutes.",
    "The flour weighs 200 grams.",
    "The soup serves 4 people.",
    "The soup is made with 9 onions.",
    "The cook heats 2 pans.",
]


# A folder with a recipe and claims that name their evidence, half of them false.
def kitchen(folder, wrong="77"):
    folder.mkdir()
    (folder / "recipe.txt").write_text(TEXT)
    rows = []
    for group, (fact, claim) in enumerate(zip(FACTS, CLAIMS, strict=True)):
        evidence = [{"doc_id": "recipe.txt", "quote": fact}]
        for text, label in ((claim, S), (re.sub(r"\d+", wrong, claim), N)):
            row = {"id": len(rows), "claim": text, "label": label, "group": group}
            rows.append(row | {"evidence": evidence})
    path = folder / "claims.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {"claims": str(path), "corpus": str(folder)}


def test_two_judges_on_the_claims_of_a_user(chapter, tmp_path, make_classifier):
    model = make_classifier(tmp_path / "nli", 3, ("NEUTRAL", "CONTRADICTION", "ENTAILMENT"))
    own = kitchen(tmp_path / "kitchen")
    options = {"judges": ["public", f"entailment:{model}", "placeholder"], "sets": []}
    variables, shown = chapter("18_factcheck_transfer", **own, **options, n_resamples=200)
    rows = variables["rows"]
    named = {"public", "entailment:nli", "placeholder", "majority", "claim only"}
    assert set(rows["system"]) == named and rows["system"].value_counts().eq(12).all()
    assert str(tmp_path) not in "".join(shown.values())
    table = variables["agreement"]
    assert len(table) == 3
    names = variables["of_sets"][0].names
    verdicts = {names[name]: list(of["verdict"]) for name, of in rows.groupby("system")}
    for row in table:
        expected = cohen_kappa_score(verdicts[row["judge"]], verdicts[row["and"]])
        assert row["kappa"] == pytest.approx(expected, nan_ok=True)
    # Gold evidence is one sentence: six true claims and as many false ones.
    assert variables["named"]["entailment:nli"].costs["questions"] == 12
    assert "Planted contradictions" in shown["unseen"]
    assert "right more often than" in shown["answer"]
