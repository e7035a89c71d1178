"""Atomic claims with logical form and verifiability: by rules on whole words, as documented, or by a language model.

There is no parser behind the rules: what a connector joins is parted; the subject, a leading condition and a modal are
restored. A list of things under one verb, a condition and a reported clause stay whole. The word lists are in
``data/factcheck/words.yml``; ``data/factcheck/decomposition.jsonl`` has annotated sentences to test the rules on.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, Field, ValidationError

from casebook.errors import InputError
from casebook.factcheck.claims import STOP, WORDS, listed, names, numbers, sentences, words, yaml_table
from casebook.models.language import load_language_model
from casebook.plugins import callable_plugin, is_plugin

VERIFIABLE, OPINION, VAGUE, PREDICTION = "verifiable", "opinion", "vague", "future_prediction"
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
    texts = split(checked_claim(claim))
    if len(texts) > MOST_SUBCLAIMS:
        raise InputError(f"the claim has {len(texts)} parts, more than {MOST_SUBCLAIMS}")
    return tuple(
        SubClaim(
            f"SC{number}",
            text,
            logical_form(text),
            verifiability(text),
            names(text),
            tuple(f"{n.value:g} {n.unit}".strip() for n in numbers(text)),
        )
        for number, text in enumerate(texts, start=1)
    )


def undivided(claim):
    """A claim as its own only part, taken to be verifiable."""
    return (SubClaim("SC1", checked_claim(claim), f"claim({claim})"),)


def checked_claim(claim):
    if not isinstance(claim, str) or not claim.strip():
        raise InputError("the claim is empty")
    if len(claim) > LONGEST_CLAIM:
        raise InputError(
            f"the claim has {len(claim):,} characters, more than {LONGEST_CLAIM:,}: give one claim at a time"
        )
    return " ".join(claim.split())


_DOCUMENTED_SPLIT = re.compile(r" and |,| that ", re.IGNORECASE)
_DOCUMENTED_NAME = re.compile(r"[A-Z][a-zA-Z]*(?:\s+[A-Z][a-zA-Z]*)*")
_SHORT = 10  # words below which a documented vague word decides


def decompose_documented(claim):
    """The documented parts, quirks included: split at connectors, cut at ten."""
    pieces = [piece.strip() for piece in _DOCUMENTED_SPLIT.split(claim)]
    pieces = [piece for piece in pieces if piece][:MOST_SUBCLAIMS]
    return tuple(
        SubClaim(
            f"SC{number}",
            piece,
            f"Claim('{piece}')",
            documented_verifiability(piece),
            tuple(dict.fromkeys(_DOCUMENTED_NAME.findall(piece))),
        )
        for number, piece in enumerate(pieces, start=1)
    )


def documented_verifiability(text):
    """The documented kind, by substrings: "William" holds "will"."""
    lowered = text.lower()
    for kind, known in yaml_table("documented")["verifiability"].items():
        if any(word in lowered for word in known) and (kind != VAGUE or len(text.split()) < _SHORT):
            return kind
    return VERIFIABLE


class Part(BaseModel):
    """One atomic claim as a language model gives it."""

    text: Annotated[str, Field(pattern=r"\S")]
    logical_form: str
    verifiability: Literal["verifiable", "opinion", "vague", "future_prediction"]
    entities: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()


class Parts(BaseModel, extra="forbid"):
    subclaims: Annotated[list[Part], Field(min_length=1, max_length=MOST_SUBCLAIMS)]


class ModelDecomposer:
    """Decompose with a language model; an answer outside the schema is an error, and no default."""

    prompt = """Part the claim into atomic claims, each a full sentence that can be judged
alone. Restore subjects and keep conditions. Do not add or drop anything. Give each a
logical form such as covers(policy, fire) and its verifiability: {kinds}.
Obligations ("will pay") are verifiable. Answer with JSON only.

Claim: {claim}
"""

    def __init__(self, model):
        self._model = model

    def __call__(self, claim):
        kinds = ", ".join((VERIFIABLE, OPINION, VAGUE, PREDICTION))
        prompt = self.prompt.format(kinds=kinds, claim=checked_claim(claim))
        answer = self._model.complete_json(prompt, Parts.model_json_schema())
        try:
            parts = Parts.model_validate(answer).subclaims
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise InputError(f"the language model's answer does not fit: {where}: {first['msg']}") from error
        return tuple(
            SubClaim(f"SC{n}", **(part.model_dump() | {"text": part.text.strip()})) for n, part in enumerate(parts, 1)
        )


class PluginDecomposer:
    """Decompose by a user's own function: a claim to texts of its parts, or to `SubClaim`."""

    def __init__(self, name):
        self._name, self._split = name, callable_plugin(name, "claim -> list of texts")

    def __call__(self, claim):
        parts = self._split(checked_claim(claim))
        if isinstance(parts, str) or not parts or not all(isinstance(part, str | SubClaim) for part in parts):
            raise InputError(f"{self._name} gave {parts!r}: give the texts of one part or more")
        return tuple(
            part if isinstance(part, SubClaim) else SubClaim(f"SC{n}", part, f"claim({part})", VERIFIABLE, names(part))
            for n, part in enumerate(parts, 1)
        )


DECOMPOSERS = {"rules": decompose, "documented": decompose_documented, "none": undivided}


def decomposers_of(name):
    """The decomposer that is no name of ours: a language model's or the user's own."""
    if name.startswith("model:"):
        return {name: ModelDecomposer(load_language_model(name.removeprefix("model:")))}
    return {name: PluginDecomposer(name)} if is_plugin(name) else {}


JUDGEMENT, VAGUE_WORDS = listed(WORDS["judgement"]), listed(WORDS["vague"])
# What a speaker says of his own mind.
_OWN_MIND = re.compile(r"\b(?:I|we) (?:\w+ )?(?:believe|feel|think)\b|\bopinion\b", re.I)
# Words that judge only what they are said of: "is the best", not "Best Actor".
_SAID_OF = re.compile(
    r"\b(?:is|are|was|were|be|been|seems?) (?:(?:a|an|the|far|much|very|really|too) )*"
    r"(?:good|great|bad|better|best|worse|worst|excellent|wonderful|generous)\b"
    r"(?! (?:known|selling|estimate|endeavours|efforts|evidence|practice|faith|to date"
    r"|remembered|ranked|preserved|understood|described)\b)"
    r"|\bshould\b.*\bbetter\b",
    re.IGNORECASE,
)
_COMING = re.compile(
    r"\b(?:next|coming|following) (?:year|month|decade|week|century)s?\b|"
    r"\b(?:will|might|may|could|expected|likely|going)\b.*\b(?:soon|by 20[3-9]\d)\b|"
    r"\b(?:is|are) going to\b",
    re.IGNORECASE,
)


def verifiability(text):
    """Whether a text can be checked against documents, by whole words."""
    found = words(text)
    if set(found) & JUDGEMENT or _OWN_MIND.search(text) or _SAID_OF.search(text):
        return OPINION
    if _COMING.search(text):
        return PREDICTION
    if sum(word in VAGUE_WORDS for word in found) > 1 and not numbers(text):
        return VAGUE
    return VERIFIABLE


GRAMMAR = {name: listed(text) for name, text in WORDS["grammar"].items()}
AUXILIARIES, MODALS, ADVERBS = GRAMMAR["auxiliaries"], GRAMMAR["modals"], GRAMMAR["adverbs"]
HELPERS = AUXILIARIES | MODALS
NEGATIONS = frozenset(("not", "never", "cannot"))
BEFORE_NOUNS = GRAMMAR["determiners"] | GRAMMAR["prepositions"]
LEADING = GRAMMAR["conditions"] | GRAMMAR["leading"]


def _inflected(verb, after_e, ending):
    """Add an ending to a regular verb: carries, carried."""
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return f"{verb[:-1]}ie{ending}"
    return verb + (f"e{ending}" if after_e else ending)


BASE = GRAMMAR["verbs"] | {"be", "have", "do"}
THIRD = {_inflected(verb, verb.endswith(("s", "sh", "ch", "x", "o")), "s") for verb in GRAMMAR["verbs"]}
PAST = {_inflected(verb, not verb.endswith("e"), "d") for verb in GRAMMAR["verbs"]} | GRAMMAR["pasts"]
_TOKEN = re.compile(r"[\w’'.,-]*\w|[,;]")
_CONNECTOR = re.compile(r"\s*;\s+|\s*,?\s+(?:and|but|while|whereas|yet)\s+|\s*,\s+")
_RELATIVE = re.compile(r"^(?P<head>[^,]+), (?P<pronoun>which|who|whose) (?P<rest>.+)$")
_DETERMINER = re.compile(r"\b(?:the|a|an)\b", re.IGNORECASE)


def split(claim):
    """Texts of the atomic claims of a claim."""
    parts = []
    for start, end in sentences(claim):
        lead, body = _leading(claim[start:end].rstrip(" .;"))
        for clause in _relative_clauses(body):
            for part in _coordinated(clause):
                text = (f"{lead} {part}" if lead else part).strip(" ,;")
                parts.append(f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith("?") else "."))
    return parts or [claim]


def logical_form(text):
    """An atomic claim as a predicate, its condition or frame in front."""
    lead, clause = _leading(text.rstrip(".?! "))
    frame = f"{lead.rstrip(', ').lower()}: " if lead else ""
    place = _finite_verb(clause)
    if place is None:
        return f"{frame}claim({clause})"
    found = _tokens(clause)
    subject, helper, negated = clause[: found[place][1]].strip().lower(), found[place], False
    while place + 1 < len(found) and found[place][0] in HELPERS | NEGATIONS:
        negated |= found[place][0] in NEGATIONS
        place += 1
    verb, start = found[place] if found[place][0] in BASE | THIRD | PAST else helper
    rest = clause[start + len(verb) :].strip(" ,")
    if negated:
        rest = re.sub(r"^(?:not|never)\s+", "", rest)
    form = f"{verb}({subject}, {rest})" if rest else f"{verb}({subject})"
    return frame + (f"not({form})" if negated else form)


def _leading(sentence):
    """Condition or frame in front of a sentence, up to its comma, and the rest."""
    first = (words(sentence) or ("",))[0]
    comma = sentence.find(", ")
    if first not in LEADING or not 0 < comma < len(sentence) - 2:
        return "", sentence
    lead = sentence[: comma + 1]
    # "Under the lease the rent is 900, ..." holds the first clause, and is no frame.
    if first not in GRAMMAR["conditions"] and _finite_verb(lead) is not None:
        return "", sentence
    return lead, sentence[comma + 2 :]


def _relative_clauses(text):
    """Main clause and non-restrictive relative clause, each with its subject."""
    match = _RELATIVE.match(text)
    if not match:
        return [text]
    head, rest = match["head"], match["rest"]
    inner, comma, after = rest.partition(", ")
    if comma and _starts_predicate(after, after_modal=False):
        return [f"{head} {after}", _relative(head, match["pronoun"], inner)]
    if _finite_verb(head) is None:
        return [text]
    places = [found.start() for found in _DETERMINER.finditer(head)]
    return [head, _relative(head[places[-1] :] if places else head, match["pronoun"], rest)]


def _relative(head, pronoun, rest):
    if pronoun != "whose":
        return f"{head} {rest}"
    owned, _, predicate = rest.partition(" ")
    if head.split(" ", 1)[0].lower() in STOP:
        head = head[:1].lower() + head[1:]
    return f"the {owned} of {head} {predicate}"


def _coordinated(text):
    """Parts of a clause at the connectors after which a clause or a predicate follows."""
    parts, start = [], 0
    for match in _CONNECTOR.finditer(text):
        left, right = text[start : match.start()], text[match.end() :]
        if match.group().strip() == "," and not _in_series(text, match.end()):
            continue
        if _finite_verb(left) is None and not (start and _starts_predicate(left, after_modal=True)):
            continue
        known = _restored(left, parts[-1]) if parts else left
        after_modal = _subject(known)[1] is not None
        if _starts_predicate(right, after_modal) or _starts_clause(right):
            parts.append(known)
            start = match.end()
    last = text[start:]
    return [*parts, _restored(last, parts[-1]) if parts else last]


def _in_series(text, place):
    """Whether a comma stands in a series that a connector with a word ends."""
    return any(match.group().strip(" ,") in ("and", "but") for match in _CONNECTOR.finditer(text, place))


def _subject(clause):
    """Subject of a clause, and its modal if the verb has one."""
    place = _finite_verb(clause)
    if place is None:
        return None, None
    token, start = _tokens(clause)[place]
    return clause[:start].strip(), token if token in MODALS else None


def _restored(part, before):
    """A predicate with the subject, and a bare verb with the modal, of the clause before."""
    subject, modal = _subject(before)
    if subject is None:
        return part
    found = [token for token, _ in _tokens(part)]
    if found and found[0] in ("it", "they"):
        return f"{subject} {part.partition(' ')[2]}"
    if not _starts_predicate(part, modal is not None):
        return part
    first = next(token for token in found if token not in ADVERBS)
    return f"{subject} {modal} {part}" if modal and first in BASE else f"{subject} {part}"


def _tokens(text):
    return [(match.group().lower(), match.start()) for match in _TOKEN.finditer(text)]


def _finite_verb(text):
    """Place of the first finite verb among the tokens of a clause."""
    found = [token for token, _ in _tokens(text)]
    for place in range(1, len(found)):
        token, before = found[place], found[place - 1]
        if token in HELPERS:
            return place
        if before in BEFORE_NOUNS or token in (",", ";"):
            continue
        if token in THIRD or (token in PAST and not _helper_follows(found[place + 1 :])):
            return place
        if token in BASE and (before in GRAMMAR["plurals"] or before.endswith("s")):
            return place
    return None


def _helper_follows(found):
    for token in found:
        if token in (",", ";", "and", "but") or token in GRAMMAR["subordinate"]:
            return False
        if token in HELPERS:
            return True
    return False


def _starts_predicate(text, after_modal):
    """Whether a text starts with a finite verb whose subject stands before."""
    found = [token for token, _ in _tokens(text) if token not in ADVERBS]
    if len(found) < 2:
        return False
    first, second = found[:2]
    if second in (",", ";", "and", "or"):  # a list of nouns: "interest, costs and fees"
        return False
    return first in HELPERS | THIRD | PAST or (after_modal and first in BASE)


def _starts_clause(text):
    """Whether a text starts with a subject and its finite verb."""
    place = _finite_verb(text)
    if place is None or place > 10:
        return False
    before = {token for token, _ in _tokens(text)[:place]}
    return not before & GRAMMAR["subordinate"] and "," not in before
