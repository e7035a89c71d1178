"""Decomposition by a language model, checked against a schema, with one retry."""

from casebook.errors import InputError
from casebook.factcheck.decompose import MOST_SUBCLAIMS, checked_claim
from casebook.factcheck.model import VERIFIABILITY, SubClaim

SCHEMA = {
    "type": "object",
    "required": ["subclaims"],
    "additionalProperties": False,
    "properties": {
        "subclaims": {
            "type": "array",
            "minItems": 1,
            "maxItems": MOST_SUBCLAIMS,
            "items": {
                "type": "object",
                "required": ["text", "logical_form", "verifiability"],
                "properties": {
                    "text": {"type": "string", "minLength": 1},
                    "logical_form": {"type": "string"},
                    "verifiability": {"type": "string", "enum": list(VERIFIABILITY)},
                    "entities": {"type": "array", "items": {"type": "string"}},
                    "properties": {"type": "array", "items": {"type": "string"}},
                },
            },
        }
    },
}
_PROMPT = """Part the claim into atomic claims, each a full sentence that can be judged
alone. Restore subjects and keep conditions. Do not add or drop anything. Give each a
logical form such as covers(policy, fire) and its verifiability: {kinds}.
Obligations ("will pay") are verifiable. Answer with JSON only.

Claim: {claim}
"""


class ModelDecomposer:
    """Decompose with a language model."""

    def __init__(self, model):
        self._model = model
        self.retries = 0

    def __call__(self, claim):
        """Part a claim."""
        claim = checked_claim(claim)
        prompt = _PROMPT.format(kinds=", ".join(VERIFIABILITY), claim=claim)
        answer = self._model.complete_json(prompt, SCHEMA)
        problem = defect(answer)
        if problem:
            self.retries += 1
            answer = self._model.complete_json(f"{prompt}\nThe last answer did not fit: {problem}.", SCHEMA)
            problem = defect(answer)
        if problem:
            raise InputError(f"the language model's answer does not fit: {problem}")
        return tuple(
            SubClaim(
                f"SC{number}",
                part["text"].strip(),
                part["logical_form"],
                part["verifiability"],
                tuple(part.get("entities", ())),
                tuple(part.get("properties", ())),
            )
            for number, part in enumerate(answer["subclaims"], start=1)
        )


def defect(answer):
    """Say what is wrong with an answer."""
    parts = answer.get("subclaims") if isinstance(answer, dict) else None
    if not isinstance(parts, list) or not parts:
        return "no list of subclaims"
    if len(parts) > MOST_SUBCLAIMS:
        return f"more than {MOST_SUBCLAIMS} subclaims"
    for part in parts:
        if not isinstance(part, dict):
            return "a subclaim is no object"
        for name in ("text", "logical_form", "verifiability"):
            if not isinstance(part.get(name), str):
                return f"a subclaim has no text in {name!r}"
        if not part["text"].strip():
            return "a subclaim is blank"
        if part["verifiability"] not in VERIFIABILITY:
            return f"unknown verifiability {part['verifiability']!r}"
        for name in ("entities", "properties"):
            listed = part.get(name, [])
            if not isinstance(listed, list) or any(type(i) is not str for i in listed):
                return f"{name!r} is no list of texts"
    return None
