"""The fact-checking chapter with models as judges, on a user's claims."""

import json
import re

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

pytestmark = pytest.mark.usefixtures("fresh_answers")
S, N, I = "SUPPORTED", "NOT_SUPPORTED", "INSUFFICIENT_EVIDENCE"  # noqa: E741
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


def kitchen(folder, wrong="77"):
    """A folder with a recipe and claims that name their evidence, half of them false."""
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


def test_two_judges_on_two_sets_of_a_user(chapter, tmp_path, make_classifier):
    model = make_classifier(tmp_path / "nli", 3, ("NEUTRAL", "CONTRADICTION", "ENTAILMENT"))
    other = tmp_path / "other"
    kitchen(other, wrong="88")
    variables, shown = chapter(
        "07_factcheck_confusion",
        **kitchen(tmp_path / "kitchen"),
        further_judges=[f"entailment:{model}", "placeholder"],
        transfer_sets=[str(other)],
        ablation=False,
        n_resamples=200,
    )
    systems = variables["judges"].set_index(["dataset", "system"])
    named = {"default judge", "entailment:nli", "placeholder", "majority", "claim only"}
    for name in ("claims", "other"):
        assert set(systems.loc[name].index) == named
        assert systems.loc[(name, "default judge"), "n"] == 12
    assert not systems["chosen on"].any()
    assert str(tmp_path) not in "".join(shown.values())
    answers = variables["answers_on_gold"]
    table = variables["compared_judges"].set_index(["dataset", "system", "against"])
    assert len(table) == 6
    for (name, judge, rival), row in table.iterrows():
        verdicts = [answers[name][1][each]["verdict"] for each in (judge, rival)]
        assert row["claims"] == 12
        assert row["share of equal verdicts"] == np.mean(verdicts[0] == verdicts[1])
        expected = cohen_kappa_score(*verdicts)
        assert row["kappa"] == pytest.approx(expected, nan_ok=True)
    costs = variables["costs"].set_index(["dataset", "system"])
    assert (costs["ms"] >= 0).all() and (costs["claims"] == 12).all()
    # Gold evidence is one sentence: six true claims and twice six false ones.
    assert costs.loc[("other", "entailment:nli"), ["questions", "cached"]].tolist() == [18, 0]
    assert np.isnan(costs.loc[("other", "default judge"), "questions"])
    assert "planted to find out" in shown["answer-unseen"]
