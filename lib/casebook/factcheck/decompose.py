"""Atomic claims with logical form and verifiability: by rules on whole words, as documented, by a
language model.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    Field,
    StringConstraints,
    ValidationError,
)

from casebook.data.cards import first_problem
from casebook.errors import InputError
from casebook.factcheck.words import CLAIM_WORDS, proper_names, stated_numbers, word_set, yaml_table
from casebook.models.language import load_language_model
from casebook.plugins import callable_plugin, called, is_plugin
from casebook.stats.samples import check_choice
from casebook.text import STOP_LIST, sentence_texts, tokens

# There is no parser behind the rules: what a connector joins is parted; the subject, a leading
# condition and a modal are restored. A list of things under one verb, a condition and a reported
# clause stay whole. The word lists are in words.yml;
# data/factcheck/decomposition.jsonl has annotated sentences to test the rules on.

VERIFIABLE = "verifiable"
OPINION = "opinion"
VAGUE = "vague"
PREDICTION = "future_prediction"
VERIFIABILITY_KINDS = (VERIFIABLE, OPINION, VAGUE, PREDICTION)
MOST_SUBCLAIMS = 10
LONGEST_CLAIM = 10_000  # characters


@dataclass(frozen=True)
class SubClaim:
    """One atomic claim."""

    id: str
    text: str
    logical_form: str = ""
    verifiability: str = VERIFIABLE
    entities: tuple = ()
    properties: tuple = ()


def decompose(claim):
    """Atomic claims of a claim, by rules."""
    texts = split_claim(checked_claim(claim))
    if len(texts) > MOST_SUBCLAIMS:
        raise InputError(f"the claim has {len(texts)} parts, more than {MOST_SUBCLAIMS}")
    parts = []
    for number, text in enumerate(texts, start=1):
        amounts = [f"{amount.value:g} {amount.unit}".strip() for amount in stated_numbers(text)]
        parts.append(
            SubClaim(
                id=f"SC{number}",
                text=text,
                logical_form=logical_form(text),
                verifiability=verifiability(text),
                entities=proper_names(text),
                properties=tuple(amounts),
            )
        )
    return tuple(parts)


def undivided(claim):
    """A claim as its only part, taken to be verifiable."""
    return (SubClaim("SC1", checked_claim(claim), f"claim({claim})"),)


def checked_claim(claim):
    if not isinstance(claim, str) or not claim.strip():
        raise InputError("the claim is empty")
    if len(claim) > LONGEST_CLAIM:
        raise InputError(
            f"the claim has {len(claim):,} characters, more than {LONGEST_CLAIM:,}: "
            "give one claim at a time"
        )
    return " ".join(claim.split())


_DOCUMENTED_SPLIT = re.compile(r" and |,| that ", re.IGNORECASE)
_DOCUMENTED_NAME = re.compile(r"[A-Z][a-zA-Z]*(?:\s+[A-Z][a-zA-Z]*)*")


def decompose_documented(claim):
    """The documented parts, quirks included: split at connectors, cut at ten."""
    pieces = [piece.strip() for piece in _DOCUMENTED_SPLIT.split(claim)]
    texts = [piece for piece in pieces if piece][:MOST_SUBCLAIMS]
    return tuple(
        SubClaim(
            id=f"SC{number}",
            text=text,
            logical_form=f"Claim('{text}')",
            verifiability=documented_verifiability(text),
            entities=tuple(dict.fromkeys(_DOCUMENTED_NAME.findall(text))),
        )
        for number, text in enumerate(texts, start=1)
    )


def documented_verifiability(text):
    """The documented kind, by substrings: "William" contains "will"."""
    lowered = text.lower()
    for kind, substrings in yaml_table("documented")["verifiability"].items():
        too_long = kind == VAGUE and len(text.split()) >= 10
        if not too_long and any(substring in lowered for substring in substrings):
            return kind
    return VERIFIABLE


class Part(BaseModel):
    """One atomic claim as a language model gives it."""

    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    logical_form: str
    verifiability: Literal[VERIFIABILITY_KINDS]
    entities: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()


class Parts(BaseModel, extra="forbid"):
    subclaims: Annotated[list[Part], Field(min_length=1, max_length=MOST_SUBCLAIMS)]


class ModelDecomposer:
    """Decompose with a language model."""

    prompt = """Part the claim into atomic claims, each a full sentence that can be judged
alone. Restore subjects and keep conditions. Do not add or drop anything. Give each a
logical form such as covers(policy, fire) and its verifiability: {kinds}.
Obligations ("will pay") are verifiable. Answer with JSON only.

Claim: {claim}
"""

    def __init__(self, model):
        self._model = model

    def __call__(self, claim):
        prompt = self.prompt.format(
            kinds=", ".join(VERIFIABILITY_KINDS), claim=checked_claim(claim)
        )
        parts = answered(self._model, prompt, Parts).subclaims
        return tuple(
            SubClaim(id=f"SC{number}", **part.model_dump())
            for number, part in enumerate(parts, start=1)
        )


def answered(model, prompt, schema):
    """Give a language model's answer as a pydantic model; one that does not fit is an error."""
    try:
        return schema.model_validate(model.complete_json(prompt, schema))
    except ValidationError as error:
        raise InputError(
            f"the language model's answer does not fit: {first_problem(error)}"
        ) from error


class PluginDecomposer:
    """Decompose by a user's own function: a claim to texts of its parts, or to `SubClaim`."""

    def __init__(self, name):
        self._name = name
        self._split = callable_plugin(name, "claim -> list of texts")

    def __call__(self, claim):
        parts = called(self._name, self._split, checked_claim(claim))
        if (
            isinstance(parts, str)
            or not parts
            or not all(isinstance(part, str | SubClaim) for part in parts)
        ):
            raise InputError(f"{self._name} gave {parts!r}: give the texts of one part or more")
        subclaims = []
        for number, part in enumerate(parts, start=1):
            if isinstance(part, str):
                part = SubClaim(
                    id=f"SC{number}",
                    text=part,
                    logical_form=f"claim({part})",
                    entities=proper_names(part),
                )
            subclaims.append(part)
        return tuple(subclaims)


DECOMPOSERS = {"rules": decompose, "documented": decompose_documented, "none": undivided}


def decomposer_of(name):
    """Give a decomposer by its name: ours, a language model's or the user's own."""
    if name.startswith("model:"):
        return ModelDecomposer(load_language_model(name.removeprefix("model:")))
    if is_plugin(name):
        return PluginDecomposer(name)
    check_choice("decomposition", name, DECOMPOSERS)
    return DECOMPOSERS[name]


JUDGEMENT_WORDS = word_set(CLAIM_WORDS["judgement"])
VAGUE_WORDS = word_set(CLAIM_WORDS["vague"])
OPINION_PATTERN = re.compile("|".join(CLAIM_WORDS["patterns"][OPINION]), re.IGNORECASE)
PREDICTION_PATTERN = re.compile("|".join(CLAIM_WORDS["patterns"][PREDICTION]), re.IGNORECASE)


def verifiability(text):
    """Whether a text can be checked against documents, by whole words."""
    words = tokens(text)
    if JUDGEMENT_WORDS.intersection(words) or OPINION_PATTERN.search(text):
        return OPINION
    if PREDICTION_PATTERN.search(text):
        return PREDICTION
    n_vague = sum(word in VAGUE_WORDS for word in words)
    if n_vague > 1 and not stated_numbers(text):
        return VAGUE
    return VERIFIABLE


GRAMMAR = {name: word_set(text) for name, text in CLAIM_WORDS["grammar"].items()}
MODALS = GRAMMAR["modals"]
ADVERBS = GRAMMAR["adverbs"]
HELPERS = GRAMMAR["auxiliaries"] | MODALS
FORMS_OF_BE = frozenset(("is", "are", "was", "were"))
CLAUSE_NEGATIONS = frozenset(("not", "never", "cannot"))
BEFORE_NOUNS = GRAMMAR["determiners"] | GRAMMAR["prepositions"]
BEFORE_NAMES = GRAMMAR["articles"] | GRAMMAR["prepositions"]
LEADING_WORDS = GRAMMAR["conditions"] | GRAMMAR["leading"]


def _inflected(verb, after_e, ending):
    """Add an ending to a regular verb: carries, carried."""
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return f"{verb[:-1]}ie{ending}"
    return verb + (f"e{ending}" if after_e else ending)


BASE_FORMS = GRAMMAR["verbs"] | {"be", "have", "do"}
THIRD_PERSON = {
    _inflected(verb, verb.endswith(("s", "sh", "ch", "x", "o")), "s") for verb in GRAMMAR["verbs"]
}
PAST_FORMS = {_inflected(verb, not verb.endswith("e"), "d") for verb in GRAMMAR["verbs"]}
PAST_FORMS |= GRAMMAR["participles"]
FINITE_FORMS = THIRD_PERSON | GRAMMAR["pasts"]
VERBS = BASE_FORMS | FINITE_FORMS | PAST_FORMS
PARTICIPLE = re.compile(r"[a-z]*[aeiouy][a-z]*[^e\W]ed")
CONJUNCTIONS = frozenset(("and", "or", "but"))
_CLAUSE_TOKEN = re.compile(r"[\w’'.,-]*\w|[,;]")
_CONNECTOR = re.compile(r"\s*;\s+|\s*,?\s+(?:and|but|while|whereas|yet)\s+|\s*,\s+")
_RELATIVE = re.compile(r"^(?P<head>[^,]+), (?P<pronoun>which|who|whose) (?P<rest>.+)$")
_DETERMINER = re.compile(r"\b(?:the|a|an)\b", re.IGNORECASE)


def split_claim(claim):
    """Texts of the atomic claims of a claim."""
    parts = []
    for sentence in sentence_texts(claim):
        lead, body = _split_lead(sentence.rstrip(" .;"))
        for clause in _relative_clauses(body):
            for part in _coordinated(clause):
                text = (f"{lead} {part}" if lead else part).strip(" ,;")
                stop = "" if text.endswith("?") else "."
                parts.append(f"{text[:1].upper()}{text[1:]}{stop}")
    return parts or [claim]


def logical_form(text):
    """An atomic claim as a predicate, its condition or frame in front."""
    lead, clause = _split_lead(text.rstrip(".?! "))
    frame = f"{lead.rstrip(', ').lower()}: " if lead else ""
    position = _finite_verb(clause)
    if position is None:
        return f"{frame}claim({clause})"
    words = _located_tokens(clause)
    helper = words[position]
    subject = clause[: helper[1]].strip().lower()
    negated = False
    while position + 1 < len(words) and words[position][0] in HELPERS | CLAUSE_NEGATIONS:
        negated |= words[position][0] in CLAUSE_NEGATIONS
        position += 1
    verb, start = helper
    if words[position][0] in BASE_FORMS | THIRD_PERSON | PAST_FORMS:
        verb, start = words[position]
    rest = clause[start + len(verb) :].strip(" ,")
    if negated:
        rest = re.sub(r"^(?:not|never)\s+", "", rest)
    form = f"{verb}({subject}, {rest})" if rest else f"{verb}({subject})"
    return frame + (f"not({form})" if negated else form)


def _split_lead(sentence):
    """Condition or frame in front of a sentence, up to its comma, and the rest."""
    opening_word = (tokens(sentence) or ("",))[0]
    comma = sentence.find(", ")
    if opening_word not in LEADING_WORDS or not 0 < comma < len(sentence) - 2:
        return "", sentence
    lead = sentence[: comma + 1]
    # "Under the lease the rent is 900, ..." holds the first clause, and is no frame.
    if opening_word not in GRAMMAR["conditions"] and _finite_verb(lead) is not None:
        return "", sentence
    return lead, sentence[comma + 2 :]


def _relative_clauses(text):
    """Main clause and non-restrictive relative clause, each with its subject."""
    match = _RELATIVE.match(text)
    if not match:
        return [text]
    head = match["head"]
    rest = match["rest"]
    inner, comma, after = rest.partition(", ")
    if comma and _starts_predicate(after, after_modal=False):
        return [f"{head} {after}", _relative(head, match["pronoun"], inner)]
    if _finite_verb(head) is None:
        return [text]
    determiners = [determiner.start() for determiner in _DETERMINER.finditer(head)]
    antecedent = head[determiners[-1] :] if determiners else head
    return [head, _relative(antecedent, match["pronoun"], rest)]


def _relative(head, pronoun, rest):
    if pronoun != "whose":
        return f"{head} {rest}"
    possession, _, predicate = rest.partition(" ")
    return f"the {possession} of {_lower_article(head)} {predicate}"


def _lower_article(head):
    """The opening words of a sentence as they stand within one."""
    return head[:1].lower() + head[1:] if head.split(" ", 1)[0].lower() in STOP_LIST else head


def _coordinated(text):
    """Parts of a clause at the connectors after which a clause or a predicate follows."""
    parts = []
    verbal = None  # the last part with a verb, whose subject a predicate shares
    start = 0
    for match in _CONNECTOR.finditer(text):
        left = text[start : match.start()]
        right = text[match.end() :]
        connector = match.group().strip(" ,")
        if not connector and not _in_series(text, match.end()):
            continue
        if not _is_complete(left) and not (parts and _starts_predicate(left, after_modal=True)):
            continue
        part = _restored(left, verbal) if parts else left
        clause = verbal if _finite_verb(part) is None else part
        predicate = _starts_predicate(right, after_modal=_subject(clause)[1])
        if predicate or _starts_clause(right, sure=connector != "and", series=not connector):
            parts.append(part)
            verbal = clause
            start = match.end()
    last = text[start:]
    return [*parts, _restored(last, verbal) if parts else last]


def _in_series(text, start):
    """Whether a comma is part of a series that "and" or "but" ends."""
    return any(
        match.group().strip(" ,") in ("and", "but") for match in _CONNECTOR.finditer(text, start)
    )


def _is_complete(clause):
    """Whether a clause has a finite verb and no insertion cuts it off: "may, if asked, sell"."""
    position = _finite_verb(clause)
    if position is None:
        return False
    following = _clause_tokens(clause)[position + 1 :]
    return following[:1] != [","] or "," in following[1:-1]


def _subject(clause):
    """Subject of a clause with a verb, and its modal if it has one."""
    token, start = _located_tokens(clause)[_finite_verb(clause)]
    return clause[:start].strip(), token if token in MODALS else ""


def _restored(part, before):
    """A predicate with the subject, and a bare verb with the modal, of the clause before."""
    subject, modal = _subject(before)
    words = _clause_tokens(part)
    if words[:1] in (["it"], ["they"]):
        return f"{subject} {part.partition(' ')[2]}"
    if words[:1] in (["its"], ["their"]) and _finite_verb(part) is not None:
        possession = _subject(part)[0]
        noun = possession.partition(" ")[2]
        return f"the {noun} of {_lower_article(subject)}{part[len(possession) :]}"
    if not _starts_predicate(part, after_modal=modal):
        return part
    verb, following = [token for token in words if token not in ADVERBS][:2]
    helper = _located_tokens(before)[_finite_verb(before)][0]
    passive = (
        helper in FORMS_OF_BE and _may_be_participle(verb) and following in GRAMMAR["prepositions"]
    )
    if passive or (modal and verb in BASE_FORMS):
        return f"{subject} {helper} {part}"
    return f"{subject} {part}"


def _located_tokens(text):
    """Tokens of a clause, each with its start."""
    return [(match.group().lower(), match.start()) for match in _CLAUSE_TOKEN.finditer(text)]


def _clause_tokens(text):
    return [token for token, _ in _located_tokens(text)]


def _finite_verb(text):
    """Position of the first finite verb among the words of a clause."""
    words = _clause_tokens(text)
    for position in range(1, len(words)):
        if _is_finite(words, position):
            return position
    return None


def _is_finite(words, position):
    """Whether the token at a position, which is not the first, is a finite verb."""
    before, token, *following = words[position - 1 :]
    if token in HELPERS:
        # "in May", "the will"
        return token not in MODALS or before not in BEFORE_NAMES
    if before in BEFORE_NOUNS | CONJUNCTIONS or token in (",", ";"):
        return False
    if token in FINITE_FORMS:
        return True
    if _may_be_participle(token):
        return following[:1] != ["by"] and not _helper_follows(following)
    plural = before in GRAMMAR["plurals"] or before.endswith("s")
    return token in BASE_FORMS and (plural or not GRAMMAR["articles"].isdisjoint(following[:1]))


def _may_be_participle(token):
    """Whether a past could be a participle as well: "sold", "planted"."""
    if token in PAST_FORMS:
        return True
    return PARTICIPLE.fullmatch(token) is not None and token not in GRAMMAR["no verbs"]


def _helper_follows(words):
    for token in words:
        if token in (",", ";", "and", "but") or token in GRAMMAR["subordinate"]:
            return False
        if token in HELPERS:
            return True
    return False


def _starts_predicate(text, after_modal):
    """Whether a text starts with a finite verb whose subject precedes it."""
    words = [token for token in _clause_tokens(text) if token not in ADVERBS]
    if len(words) < 2:
        return False
    verb, following = words[:2]
    if following in (",", ";", "and", "or"):  # a list of nouns: "interest, costs and fees"
        return False
    if verb in HELPERS | FINITE_FORMS | PAST_FORMS or (after_modal and verb in BASE_FORMS):
        return True
    return _may_be_participle(verb) and (following in BEFORE_NOUNS or following[0].isdigit())


def _starts_clause(text, *, sure=True, series=False):
    """Whether a text starts with a subject and its finite verb.

    After "and" a past that could be a participle is a verb if it has an object or a name for its
    subject: "covers the house and goods stored in it" has one clause. In a series no further
    connector stands before the verb.
    """
    position = _finite_verb(text)
    if position is None or position > 10:
        return False
    words = _clause_tokens(text)
    before = set(words[:position])
    if before & GRAMMAR["subordinate"] or "," in before or (series and "and" in before):
        return False
    if sure or not _may_be_participle(words[position]) or position + 1 == len(words):
        return True
    subject = _subject(text)[0]
    has_name = subject != subject.lower() or not before.isdisjoint(GRAMMAR["plurals"])
    return has_name or words[position + 1] not in GRAMMAR["prepositions"]
