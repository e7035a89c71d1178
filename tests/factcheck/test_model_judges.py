"""Judges that are models: how passages are joined, what is asked, and what commands make of it."""

from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest

from casebook.errors import InputError
from casebook.factcheck.evidence import EvidencePassage
from casebook.factcheck.judges import (
    EntailmentStance,
    ModelStance,
    PlaceholderStance,
    degree_of,
    judge_of,
)
from casebook.factcheck.stance import PublicJudge
from casebook.factcheck.verdict import NEUTRAL, REFUTES, SUPPORTS

pytestmark = pytest.mark.usefixtures("fresh_answers")


def passages(*texts, header="", row=0):
    """Sentences of one document."""
    start = 0
    made = []
    for text in texts:
        made.append(EvidencePassage(row, start, start + len(text), text, header))
        start += len(text) + 1
    return made


class Table:
    """A model of entailment whose probabilities of entailment and contradiction are written down.

    What is not written down says nothing.
    """

    def __init__(self, rows):
        self.rows = rows
        self.asked = []

    def probabilities(self, premises, hypotheses):
        self.asked += zip(premises, hypotheses, strict=True)
        shares = [self.rows.get(premise, (0.1, 0.1)) for premise in premises]
        return np.array([[yes, no, 1 - yes - no] for yes, no in shares]).reshape(-1, 3)


def judged(rows, texts):
    return EntailmentStance(Table(rows)).judge("c", texts)


def test_the_largest_entailment_stands_against_the_largest_contradiction():
    """All passages of a document have its stance."""
    rows = {"a": (0.9, 0.05), "b": (0.3, 0.6), "c": (0.2, 0.2)}
    assert judged(rows, passages("a", "b")) == [(SUPPORTS, pytest.approx(0.9 / 1.5))] * 2
    rows["b"] = (0.02, 0.95)
    documents = [*passages("a"), *passages("b", row=1), *passages("c", row=2)]
    assert [stance for stance, _ in judged(rows, documents)] == [SUPPORTS, REFUTES, NEUTRAL]
    together = judged({"a b": (0.8, 0.1)}, passages("a", "b"))
    assert together == [(SUPPORTS, pytest.approx(8 / 9))] * 2
    # a side needs more than half
    assert judged({"a": (0.5, 0.2)}, passages("a")) == [(NEUTRAL, None)]
    assert judged({"a": (0.51, 0.2)}, passages("a"))[0][0] == SUPPORTS
    assert judged({}, []) == []


def test_premises_are_in_the_order_of_the_document_and_long_ones_are_read_in_windows():
    model = Table({})
    EntailmentStance(model).judge("c", passages("one", "two", header="Vale")[::-1])
    assert model.asked == [("Vale. one", "c"), ("Vale. two", "c"), ("Vale. one two", "c")]
    words = [f"w{n}" for n in range(450)]
    model.asked.clear()
    model.rows = {" ".join(words[200:400]): (0.0, 0.8)}
    stances = EntailmentStance(model).judge("c", passages(" ".join(words)))
    assert stances == [(REFUTES, pytest.approx(0.1 / 0.9))]
    assert [len(premise.split()) for premise, _ in model.asked] == [200] * 4
    assert model.asked[0][0].startswith("w0 ")
    assert model.asked[-1][0].endswith(" w449")


def speaker(*answers):
    """A language model that gives its answers in turn."""
    said = [{"verdict": verdict, "probability": p} for verdict, p in answers]
    return SimpleNamespace(complete_json=Mock(side_effect=said))


def test_a_language_model_is_asked_once_for_each_document():
    model = speaker((SUPPORTS, 0.9), (REFUTES, 0.8), (NEUTRAL, 0.7))
    texts = passages("a", "b", header="Vale") + passages("c", row=1) + passages("d", row=2)
    stances = ModelStance(model).judge("The claim.", texts)
    assert stances == [
        (SUPPORTS, 0.9),
        (SUPPORTS, 0.9),
        (REFUTES, pytest.approx(0.2)),
        (NEUTRAL, None),
    ]
    first, second, _ = [call.args[0] for call in model.complete_json.call_args_list]
    assert "Claim: The claim.\n" in first and "Passages from Vale:\na\nb\n" in first
    assert "Passages:\nc\n" in second


def test_the_degree_of_support_of_each_kind_of_judge():
    texts = passages("a", "b")
    model = Table({"a": (0.4, 0.5), "b": (0.2, 0.1), "a b": (0.3, 0.3)})
    assert degree_of(EntailmentStance(model), "c", texts) == pytest.approx(0.4)
    for verdict, degree in ((SUPPORTS, 0.9), (REFUTES, 0.1), (NEUTRAL, 0)):
        judge = ModelStance(speaker((verdict, 0.9)))
        assert degree_of(judge, "c", texts) == pytest.approx(degree)
    assert degree_of(PlaceholderStance(), "c", passages("a" * 60)) == 1
    assert degree_of(PlaceholderStance(), "c", passages("a")) == 0
    sentence = "Cover for fire ends 30 days after the house is left empty."
    ((_, p),) = PublicJudge().judge(sentence, passages(sentence))
    assert degree_of(PublicJudge(), sentence, passages(sentence)) == p


NAMES = ("NEUTRAL", "CONTRADICTION", "ENTAILMENT")


def test_the_order_of_numbered_classes_is_part_of_the_name(tmp_path, make_classifier):
    named_model = make_classifier(tmp_path / "named" / "nli", 3, NAMES)
    numbered = make_classifier(tmp_path / "numbered" / "nli", 3)
    stances = []
    for name in (named_model, f"neutral+contradiction+entailment={numbered}"):
        judge = judge_of(f"entailment:{name}")
        stances.append(judge.judge("we sue", passages("you may cancel", "the court")))
    assert stances[0] == stances[1]
    with pytest.raises(InputError, match="give 'endpoint:MODEL'"):
        judge_of("endpoint:")
