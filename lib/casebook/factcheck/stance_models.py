"""Judges of stance that a model stands behind: entailment, or a language model."""

from casebook.errors import InputError
from casebook.factcheck.model import REFUTES, STANCES, SUPPORTS
from casebook.factcheck.stance import judged

SCHEMA = {"type": "object", "required": ["stance"], "properties": {"stance": {"type": "string", "enum": list(STANCES)}}}


class EntailmentStance:
    """Judge by an entailment model, a cross-encoder with three classes."""

    name = "entailment"

    def __init__(self, model):
        self._model = model

    def judge(self, claim, passages):
        """Judge passages, the document's name put before each."""
        if not passages:
            return []
        premises = [f"{p.header}. {p.text}" if p.header else p.text for p in passages]
        shares = self._model.probabilities(premises, [claim] * len(premises))
        return [judged(row) for row in shares]


class ModelStance:
    """Judge by a language model."""

    name = "language model"

    def __init__(self, model):
        self._model = model

    def judge(self, claim, passages):
        """Judge passages one by one."""
        judged = []
        for passage in passages:
            answer = self._model.complete_json(
                "Does the passage support the claim, refute it, or neither (neutral)?\n"
                f"Claim: {claim}\nPassage from {passage.header}: {passage.text}\n"
                'Answer with JSON: {"stance": "supports" | "refutes" | "neutral"}',
                SCHEMA,
            )
            stance = answer.get("stance") if isinstance(answer, dict) else None
            if stance not in STANCES:
                raise InputError(f"the language model gave no stance: {stance!r}")
            sided = {SUPPORTS: 1.0, REFUTES: 0.0}
            judged.append((stance, sided.get(stance)))
        return judged
