"""What judges of stance read, and what they say."""

import pytest

from casebook.errors import InputError
from casebook.factcheck.evidence import EvidencePassage
from casebook.factcheck.judges import PluginStance, judge_of
from casebook.factcheck.stance import (
    FEATURES,
    PublicJudge,
    features,
)
from casebook.factcheck.verdict import NEUTRAL, REFUTES, SUPPORTS

FIRE = "Cover for fire ends 30 days after the house is left empty."


def passage(text, header="", row=0, document=""):
    return EvidencePassage(row, 0, len(text), text, header, document or text)


def stance_on(claim, *passages, judge=None):
    return (judge or PublicJudge()).judge(claim, list(passages))[0]


def test_features_by_hand(cases):
    rows = cases["features"]
    found = []
    for claim, text, header, name, _ in rows:
        values = dict(zip(FEATURES, features(claim, [passage(text, header)]), strict=True))
        found.append([claim, text, header, name, values[name]])
    assert found == rows


def test_what_is_said_is_judged_and_what_is_not_is_neutral(cases):
    rows = cases["stances"]
    found = []
    for claim, text, _ in rows:
        stance, p = stance_on(claim, passage(text))
        assert p is None if stance == NEUTRAL else (p >= 0.5) == (stance == SUPPORTS)
        found.append([claim, text, stance])
    assert found == rows


def test_what_the_evidence_lacks_is_neutral_and_named(cases):
    judge = PublicJudge()
    rows = cases["remarks"]
    found = []
    for claim, text, *_ in rows:
        passages = [passage(text, "Kringle Bakery")]
        found.append([claim, text, stance_on(claim, *passages)[0], judge.remarks(claim, passages)])
    assert found == rows
    strudel = "Strudel Bakery bakes in Vellmar."
    forced = judge_of("forced")
    assert stance_on(strudel, passage("It bakes in Vellmar.", "Kringle Bakery"))[0] == NEUTRAL
    assert stance_on("Hail is covered in Zanzibar.", passage("Hail is covered."), judge=forced)[1]


def test_a_name_of_the_document_is_no_absent_name():
    text = "Dogs are allowed on a lead."
    document = f"Tariff of Alder Marina. {text}"
    claim = "Dogs are allowed on a lead at Alder Marina."
    assert stance_on(claim, passage(text, document=document))[0] == SUPPORTS
    assert stance_on(claim, passage(text))[0] == NEUTRAL


def test_sentences_of_one_document_support_together_and_documents_can_contradict_each_other():
    claim = "Ada Brook wrote the poem, which was printed in Leeds."
    parts = ["Ada Brook wrote the poem.", "The poem was printed in Leeds."]
    together = PublicJudge().judge(claim, [passage(text, "Poem") for text in parts])
    assert [stance for stance, _ in together] == [SUPPORTS, SUPPORTS]
    judged = PublicJudge().judge(FIRE, [passage(FIRE), passage(FIRE.replace("30", "90"), row=1)])
    assert [stance for stance, _ in judged] == [SUPPORTS, REFUTES]
    assert PublicJudge().judge("Fire.", []) == []


def test_a_judge_of_ones_own_gives_an_answer_a_passage(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    source = "def {}(claim, passages):\n    return {}\n"
    answers = {"good": "['supports']", "few": "[]", "odd": "['maybe']", "wild": "[('refutes', 2)]"}
    text = "".join(source.format(name, answer) for name, answer in answers.items())
    (tmp_path / "mine_judges.py").write_text(text)
    judges = {name: PluginStance(f"mine_judges:{name}") for name in answers}
    assert judges["good"].judge("x", [passage("y")]) == [(SUPPORTS, None)]
    for name, problem in {"few": "0 answers for 1", "odd": "maybe", "wild": "refutes"}.items():
        with pytest.raises(InputError, match=problem):
            judges[name].judge("x", [passage("y")])
