"""Judges of evidence by their names, and what is asked of any of them.

A judge has ``judge(claim, passages) -> list of (stance, probability)``, the probability
being that of support against refutation, None where a judge gives none.
"""

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from casebook.errors import InputError
from casebook.factcheck.model_judges import EntailmentStance, ModelStance
from casebook.factcheck.stance import PublicJudge
from casebook.factcheck.verdict import EVIDENCE_STANCES, NEUTRAL, SUPPORTS
from casebook.factcheck.words import yaml_table
from casebook.models.answers import costs_in_words, load_judging_model, prices_of_tokens
from casebook.models.entailment import EntailmentModel
from casebook.plugins import called, is_plugin, plugin

#: entailment:MODEL, or entailment:CLASS+CLASS+CLASS=MODEL in the order of the model's outputs.
_ENTAILMENT = re.compile(r"entailment:(?:(?P<classes>\w+(?:\+\w+)+)=)?(?P<model>.+)")
_ENDPOINT = "endpoint:"
_KNOWN = "public, forced, placeholder, entailment:MODEL, endpoint:MODEL or module:object"
_SHARE = Annotated[float, Field(ge=0, le=1)]
_ANSWERS = TypeAdapter(list[tuple[Literal[EVIDENCE_STANCES], _SHARE | None]])


class PlaceholderStance:
    """The documented placeholder: any passage of more than 50 characters supports."""

    def judge(self, claim, passages):
        return [(SUPPORTS if len(passage.text) > 50 else NEUTRAL, None) for passage in passages]


class PluginStance:
    """Judge of one's own: a function, or an object or class with a method ``judge``.

    For each passage it gives a stance, or a stance and the probability of support.
    """

    def __init__(self, name):
        judge = plugin(name)
        self._name = name
        self._judge = getattr(judge, "judge", judge)
        if not callable(self._judge):
            raise InputError(f"{name} is no judge: give a function (claim, passages)")

    def judge(self, claim, passages):
        answers = called(self._name, self._judge, claim, passages) if passages else []
        answers = [(answer, None) if isinstance(answer, str) else answer for answer in answers]
        if len(answers) != len(passages):
            counts = f"{len(answers)} answers for {len(passages)} passages"
            raise InputError(f"{self._name} gave {counts}")
        try:
            return _ANSWERS.validate_python(answers)
        except ValidationError as error:
            wrong = answers[error.errors()[0]["loc"][0]]
            known = f"one of {', '.join(EVIDENCE_STANCES)}, and a probability or None"
            raise InputError(f"{self._name} gave {wrong!r}: give {known}") from error


def judge_of(name):
    entailment = _ENTAILMENT.fullmatch(name)
    if name in ("public", "forced"):
        return PublicJudge(abstains=name == "public")
    if name == "placeholder":
        return PlaceholderStance()
    if entailment:
        classes = filter(None, (entailment["classes"] or "").split("+"))
        return EntailmentStance(EntailmentModel(entailment["model"], classes=classes))
    if name.startswith(_ENDPOINT):
        prices_of_tokens()
        return ModelStance(load_judging_model(name))
    if is_plugin(name):
        return PluginStance(name)
    raise InputError(f"unknown stance {name!r}: give {_KNOWN}")


def name_of_judge(name):
    """A judge's name in files and messages, in which no folder is."""
    match = _ENTAILMENT.fullmatch(name)
    return f"entailment:{Path(match['model']).name}" if match else name


def title_of_judge(name):
    """The name of a judge that readers of a table see: default, entailment: MODEL."""
    name = name_of_judge(name)
    if name.startswith(("entailment:", _ENDPOINT)):
        return name.replace(":", ": ", 1)
    return yaml_table("names")["judges"].get(name, name)


def degree_of(judge, claim, passages):
    """Probability that passages support a claim, by any judge; None without passages.

    A judge with a method ``support`` is asked for it. Of others it is the largest probability of
    support over the passages, of which a neutral one has none.
    """
    if not passages:
        return None
    if hasattr(judge, "support"):
        return judge.support(claim, passages)
    degrees = [0.0]
    for stance, p in judge.judge(claim, passages):
        if stance != NEUTRAL:
            degrees.append(float(stance == SUPPORTS) if p is None else p)
    return max(degrees)


def cost_of_judge(judge):
    """What a judge was asked and what that cost, in words; None of a judge that does not count."""
    costs = getattr(judge, "costs", None)
    if not costs:
        return None
    unit = "questions" if isinstance(judge, ModelStance) else "pairs of passage and claim"
    return costs_in_words(costs, prices_of_tokens(), unit)
