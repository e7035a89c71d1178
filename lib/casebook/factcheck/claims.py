"""Claims of any origin; the words, numbers, names and sentences of their texts; and their atomic parts."""

import re
import warnings
from collections import namedtuple
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, Literal

import nupunkt
import pandas as pd
import Stemmer
from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    StrictInt,
    StringConstraints,
    ValidationError,
)

from casebook import paths
from casebook.data.cards import first_problem
from casebook.data.registry import load
from casebook.errors import InputError, MeasureNote
from casebook.factcheck.verdict import INSUFFICIENT, NOT_SUPPORTED, SUPPORTED
from casebook.models.language import load_language_model
from casebook.plugins import callable_plugin, called, is_plugin
from casebook.readers import read_jsonl, read_lines, read_records, read_yaml
from casebook.stats.samples import check_choice

FOLDER = paths.DATA / "factcheck"
FEWEST = 6  # groups of claims, below which nothing has an interval
SHIPPED = ("smoke", "insurance")
LABELS = {name: name for name in (SUPPORTED, NOT_SUPPORTED, INSUFFICIENT, "CONFLICTING")} | {
    "INSUFFICIENT": INSUFFICIENT
}


#: One gold atomic claim with its place in a document.
Atom = namedtuple("Atom", "text label doc_id quote start end")


@dataclass(frozen=True)
class Claim:
    """A claim with its gold verdict; the claims of a group belong together."""

    id: str
    text: str
    label: str = ""
    category: str = ""
    hops: int = 0
    group: str = ""
    split: str = "test"
    atoms: tuple = ()


Filled = Annotated[str, StringConstraints(strict=True, pattern=r"\S")]
_Told = Annotated[
    str, BeforeValidator(lambda value: "" if value is None or value != value else value)
]


class Quote(BaseModel):
    """Words of a document that decide a claim or a part of it."""

    doc_id: str
    quote: Filled


class Record(BaseModel, coerce_numbers_to_str=True):
    """A claim of a file; what a file has besides is not read."""

    claim: Filled
    id: StrictInt | Filled | None = None
    label: _Told = ""
    group: _Told = ""
    category: _Told = ""
    evidence: Annotated[list[Quote], BeforeValidator(lambda value: value or [])] = []


def fitting(path, number, record, model):
    """A record of a file as a pydantic model; one that does not fit is refused with its row."""
    try:
        return model.model_validate(record)
    except ValidationError as error:
        raise InputError.at(
            path, number, f"{first_problem(error)}; its fields: {', '.join(map(str, record))}"
        ) from error


def shipped_documents():
    """Smoke and insurance collections as one; titles are headers and no part of the texts."""
    found = {name: load(name, titles=False).documents.copy() for name in SHIPPED}
    frames = [
        docs.assign(doc_id=f"{name}:" + docs["doc_id"], collection=name)
        for name, docs in found.items()
    ]
    columns = ["doc_id", "title", "text", "agreement", "insurer", "kind", "collection"]
    joined = pd.concat(frames, ignore_index=True).assign(kind="primary")[columns].astype(object)
    return joined.where(joined.notna(), "")


def read_claims(documents=None, split="all"):
    """Our own claims, with the place of every quote that decides them."""
    documents, path, found = (
        shipped_documents() if documents is None else documents,
        FOLDER / "claims.jsonl",
        [],
    )
    texts = documents.set_index("doc_id")["text"].to_dict()
    for number, row in read_jsonl(path, {}):
        atoms = [
            _atom(path, number, a["text"], a["label"], Quote(**a["evidence"]), texts)
            for a in row["atoms"]
        ]
        known = {name: row[name] for name in ("id", "label", "category", "group", "split")}
        found.append(
            Claim(text=row["claim"], hops=row.get("hops", len(atoms)), atoms=tuple(atoms), **known)
        )
    return [claim for claim in found if split in ("all", claim.split)]


def read_plain(path, documents=None, spellings=None):
    """Claims of any origin: records with ``claim`` and, if known, the other fields of `Record`; or a text a line.

    With documents, each quote of ``evidence`` is looked up in the document that it names.
    """
    path, meaning, found = Path(path), LABELS | (spellings or {}), {}
    if wrong := sorted(set(meaning.values()) - set(LABELS)):
        raise InputError(f"--label: {wrong[0]!r} is none of {', '.join(LABELS)}")
    if {".csv", ".json", ".jsonl"} & set(path.suffixes):
        rows = read_records(path)[0]
    else:
        rows = [(number, {"claim": text}) for number, text in read_lines(path) if text.strip()]
    texts = None if documents is None else documents.set_index("doc_id")["text"].to_dict()
    for number, row in rows:
        told = fitting(path, number, row, Record)
        name, label = (
            str(number if told.id is None else told.id),
            told.label.strip() and meaning.get(told.label),
        )
        if name in found:
            raise InputError.at(path, number, f"id {name!r} stands twice")
        if label is None:
            problem = f"label {told.label!r} is none of {', '.join(LABELS)}: rename it, or say "
            raise InputError.at(path, number, f"{problem}--label {told.label}=NOT_SUPPORTED")
        label = LABELS.get(label, "")
        atoms = tuple(
            _atom(path, number, told.claim, label, quote, texts) for quote in told.evidence
        )
        found[name] = Claim(
            name, told.claim, label, told.category, group=told.group or name, atoms=atoms
        )
    if not found:
        raise InputError(f"{path}: holds no claims")
    if unread := sorted({str(name) for _, row in rows for name in row} - set(Record.model_fields)):
        fields = ", ".join(Record.model_fields)
        warnings.warn(
            f"{path}: not read: {', '.join(unread)}; fields: {fields}", MeasureNote, stacklevel=2
        )
    return list(found.values())


def read_labelled(path, documents=None):
    """Claims that all have a label, in groups enough for an interval: what an evaluation needs."""
    found = read_plain(path, documents)
    groups, bare = (
        len({claim.group for claim in found}),
        [claim.id for claim in found if not claim.label],
    )
    if groups < FEWEST:
        raise InputError(
            f"{path}: {len(found)} claims in {groups} groups: intervals need {FEWEST} groups or more"
        )
    if bare:
        raise InputError(
            f"{path}: {len(bare)} of {len(found)} claims have no label (first: {bare[0]!r}): an evaluation needs "
            f"{', '.join(LABELS)}; 'casebook factcheck run' checks claims without labels"
        )
    return found


def _atom(path, number, text, label, evidence, texts):
    """A quote that decides a claim or a part of it, with its place in the document."""
    doc_id, quote = evidence.doc_id, evidence.quote
    start = 0 if texts is None else texts.get(doc_id, "").find(quote)
    if start < 0:
        what = "does not hold" if doc_id in texts else "is not in the collection: it should hold"
        raise InputError.at(path, number, f"document {doc_id!r} {what} the quote {quote[:60]!r}")
    return Atom(text, label, doc_id, quote, start, start + len(quote))


def claims_of_answers(log):
    """Claims of a log of answers (`casebook.assistant.log.read_log`): the sentences that state something."""
    several, found = len(set(log["system"])) > 1, []
    for row in log.astype(object).where(log.notna(), None).itertuples():
        for number, (start, end) in enumerate(sentences(row.answer), start=1):
            text = row.answer[start:end]
            if not row.abstained and content(text) and not text.endswith("?"):
                name = f"{row.id}/{row.system}/{number}" if several else f"{row.id}/{number}"
                found.append(
                    Claim(
                        name, text, category=str(row.system or ""), group=str(row.group or row.id)
                    )
                )
    if not found:
        raise InputError("the log has no answer that states anything: there is nothing to check")
    return found


@cache
def yaml_table(name):
    """One of our YAML tables: words, documented."""
    return read_yaml(FOLDER / f"{name}.yml")


def listed(text):
    return frozenset(text.split())


WORDS = yaml_table("words")
STOP = listed(WORDS["stop"])
CURRENCIES = listed(WORDS["currencies"])
NUMBER_WORDS = {word: value for value, word in enumerate(WORDS["ones"].split(), start=2)}
NUMBER_WORDS |= {word: 10 * value for value, word in enumerate(WORDS["tens"].split(), start=2)}
WORD = re.compile(r"\d[\d.,]*\d|\d|[^\W\d_]+(?:['’][^\W\d_]+)*")
_NAME = re.compile(r"[A-Z][\w'’-]*(?:\s+(?:(?:of|and|the|de)\s+)?[A-Z][\w'’-]*)*")
_LINE = re.compile(r"\S(?:[^\n]*\S)?")
_STEMMER = Stemmer.Stemmer("english")


#: A number of a text and the word that says of what, ``""`` if there is none.
Number = namedtuple("Number", "value unit")


@lru_cache(maxsize=20_000)
def words(text):
    """Lower-case words and numbers of a text."""
    return tuple(match.group().lower() for match in WORD.finditer(text))


@lru_cache(maxsize=20_000)
def stems(text):
    return tuple(_STEMMER.stemWords([word.removesuffix("'s") for word in words(text)]))


@lru_cache(maxsize=20_000)
def content(text):
    """Distinct stems of a text that are no function words."""
    return frozenset(
        stem for word, stem in zip(words(text), stems(text), strict=True) if word not in STOP
    )


@lru_cache(maxsize=20_000)
def numbers(text):
    """Numbers of a text with what they count."""
    found, spelled = [], words(text.replace("%", " cent "))
    for place, word in enumerate(spelled):
        value = NUMBER_WORDS.get(word)
        if word[0].isdigit():
            try:
                value = float(word.replace(",", ""))
            except ValueError:  # a date such as 1.2.2020
                continue
        if value is not None:
            found.append(Number(float(value), _unit(spelled, place)))
    return tuple(found)


def _unit(spelled, place):
    if place and spelled[place - 1] in CURRENCIES:
        return spelled[place - 1]
    after = [word for word in spelled[place + 1 : place + 3] if word != "per"]
    return _STEMMER.stemWord(after[0]) if after and after[0] not in STOP else ""


def compared_numbers(claim, evidence):
    """Shares of some numbers of a claim that the evidence has, contradicts by another of the same unit, or lacks."""
    if not claim:
        return 0.0, 0.0, 0.0
    values, units = {number.value for number in evidence}, {number.unit for number in evidence}
    found = sum(number.value in values for number in claim)
    conflict = sum(number.value not in values and number.unit in units for number in claim)
    return found / len(claim), conflict / len(claim), (len(claim) - found - conflict) / len(claim)


def names(text):
    """Runs of capitalised words; a lone word that opens a sentence is none."""
    found = {}
    for match in _NAME.finditer(text):
        name = match.group()
        first, _, rest = name.partition(" ")
        while first.lower() in STOP:
            name, (first, _, rest) = rest, rest.partition(" ")
        before = text[: match.start()].rstrip()
        opens = not before or before[-1] in ".!?;:"
        if name and (rest or not opens) and name.lower() not in CURRENCIES:
            found[name] = None
    return tuple(found)


@lru_cache(maxsize=5_000)
def sentences(text):
    """Places of the sentences of a text; a line break ends one."""
    found = nupunkt.sent_spans(text) if text.strip() else ()
    pieces = ((start, line) for start, end in found for line in _LINE.finditer(text[start:end]))
    return tuple((start + line.start(), start + line.end()) for start, line in pieces)


# --- atomic claims with logical form and verifiability: by rules on whole words, as documented, by a language model
#
# There is no parser behind the rules: what a connector joins is parted; the subject, a leading condition and a modal
# are restored. A list of things under one verb, a condition and a reported clause stay whole. The word lists are in
# data/factcheck/words.yml; data/factcheck/decomposition.jsonl has annotated sentences to test the rules on.

VERIFIABLE, OPINION, VAGUE, PREDICTION = KINDS = (
    "verifiable",
    "opinion",
    "vague",
    "future_prediction",
)
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
    return _numbered(
        (text, logical_form(text), verifiability(text), names(text), _counted(text))
        for text in texts
    )


def _numbered(parts):
    return tuple(SubClaim(f"SC{number}", *part) for number, part in enumerate(parts, start=1))


def _counted(text):
    return tuple(f"{number.value:g} {number.unit}".strip() for number in numbers(text))


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


def decompose_documented(claim):
    """The documented parts, quirks included: split at connectors, cut at ten."""
    pieces = list(filter(None, map(str.strip, _DOCUMENTED_SPLIT.split(claim))))[:MOST_SUBCLAIMS]
    return _numbered(
        (
            piece,
            f"Claim('{piece}')",
            documented_verifiability(piece),
            tuple(dict.fromkeys(_DOCUMENTED_NAME.findall(piece))),
        )
        for piece in pieces
    )


def documented_verifiability(text):
    """The documented kind, by substrings: "William" holds "will"."""
    lowered = text.lower()
    for kind, known in yaml_table("documented")["verifiability"].items():
        if any(word in lowered for word in known) and (kind != VAGUE or len(text.split()) < 10):
            return kind
    return VERIFIABLE


class Part(BaseModel):
    """One atomic claim as a language model gives it."""

    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    logical_form: str
    verifiability: Literal[KINDS]
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
        prompt = self.prompt.format(kinds=", ".join(KINDS), claim=checked_claim(claim))
        return _numbered(
            part.model_dump().values() for part in answered(self._model, prompt, Parts).subclaims
        )


def answered(model, prompt, schema):
    """A language model's answer as a pydantic model; one that does not fit is an error, and no default."""
    try:
        return schema.model_validate(model.complete_json(prompt, schema.model_json_schema()))
    except ValidationError as error:
        raise InputError(
            f"the language model's answer does not fit: {first_problem(error)}"
        ) from error


class PluginDecomposer:
    """Decompose by a user's own function: a claim to texts of its parts, or to `SubClaim`."""

    def __init__(self, name):
        self._name, self._split = name, callable_plugin(name, "claim -> list of texts")

    def __call__(self, claim):
        parts = called(self._name, self._split, checked_claim(claim))
        if (
            isinstance(parts, str)
            or not parts
            or not all(isinstance(part, str | SubClaim) for part in parts)
        ):
            raise InputError(f"{self._name} gave {parts!r}: give the texts of one part or more")
        return tuple(
            part
            if isinstance(part, SubClaim)
            else SubClaim(f"SC{n}", part, f"claim({part})", VERIFIABLE, names(part))
            for n, part in enumerate(parts, 1)
        )


DECOMPOSERS = {"rules": decompose, "documented": decompose_documented, "none": undivided}


def decomposer_of(name):
    """A decomposer by its name: ours, a language model's or the user's own."""
    if name.startswith("model:"):
        return ModelDecomposer(load_language_model(name.removeprefix("model:")))
    if is_plugin(name):
        return PluginDecomposer(name)
    check_choice("decomposition", name, DECOMPOSERS)
    return DECOMPOSERS[name]


JUDGEMENT, VAGUE_WORDS = listed(WORDS["judgement"]), listed(WORDS["vague"])
PATTERNS = {
    kind: re.compile("|".join(found), re.IGNORECASE) for kind, found in WORDS["patterns"].items()
}


def verifiability(text):
    """Whether a text can be checked against documents, by whole words."""
    found = words(text)
    if set(found) & JUDGEMENT or PATTERNS[OPINION].search(text):
        return OPINION
    if PATTERNS[PREDICTION].search(text):
        return PREDICTION
    if sum(word in VAGUE_WORDS for word in found) > 1 and not numbers(text):
        return VAGUE
    return VERIFIABLE


GRAMMAR = {name: listed(text) for name, text in WORDS["grammar"].items()}
AUXILIARIES, MODALS, ADVERBS = GRAMMAR["auxiliaries"], GRAMMAR["modals"], GRAMMAR["adverbs"]
HELPERS = AUXILIARIES | MODALS
BE = frozenset(("is", "are", "was", "were"))
NEGATIONS = frozenset(("not", "never", "cannot"))
BEFORE_NOUNS = GRAMMAR["determiners"] | GRAMMAR["prepositions"]
BEFORE_NAMES = GRAMMAR["articles"] | GRAMMAR["prepositions"]
LEADING = GRAMMAR["conditions"] | GRAMMAR["leading"]


def _inflected(verb, after_e, ending):
    """Add an ending to a regular verb: carries, carried."""
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return f"{verb[:-1]}ie{ending}"
    return verb + (f"e{ending}" if after_e else ending)


BASE = GRAMMAR["verbs"] | {"be", "have", "do"}
THIRD = {
    _inflected(verb, verb.endswith(("s", "sh", "ch", "x", "o")), "s") for verb in GRAMMAR["verbs"]
}
PAST = {_inflected(verb, not verb.endswith("e"), "d") for verb in GRAMMAR["verbs"]} | GRAMMAR[
    "participles"
]
FINITE = THIRD | GRAMMAR["pasts"]
VERBS = BASE | FINITE | PAST
PARTICIPLE = re.compile(r"[a-z]*[aeiouy][a-z]*[^e\W]ed")
CONJUNCTIONS = frozenset(("and", "or", "but"))
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
    return f"the {owned} of {_lower_article(head)} {predicate}"


def _lower_article(head):
    """What opened a sentence as it stands within one."""
    return head[:1].lower() + head[1:] if head.split(" ", 1)[0].lower() in STOP else head


def _coordinated(text):
    """Parts of a clause at the connectors after which a clause or a predicate follows."""
    parts = []
    verbal = None  # the last part with a verb, whose subject a predicate shares
    start = 0
    for match in _CONNECTOR.finditer(text):
        left, right = text[start : match.start()], text[match.end() :]
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


def _in_series(text, place):
    """Whether a comma stands in a series that a connector with a word ends."""
    return any(
        match.group().strip(" ,") in ("and", "but") for match in _CONNECTOR.finditer(text, place)
    )


def _is_complete(clause):
    """Whether a clause has a finite verb, and what the verb needs if an insertion parts them: "may, if asked, sell"."""
    place = _finite_verb(clause)
    if place is None:
        return False
    after = _spelled(clause)[place + 1 :]
    return after[:1] != [","] or "," in after[1:-1]


def _subject(clause):
    """Subject of a clause with a verb, and its modal if it has one."""
    token, start = _tokens(clause)[_finite_verb(clause)]
    return clause[:start].strip(), token if token in MODALS else ""


def _restored(part, before):
    """A predicate with the subject, and a bare verb with the modal, of the clause before."""
    subject, modal = _subject(before)
    spelled = _spelled(part)
    if spelled[:1] in (["it"], ["they"]):
        return f"{subject} {part.partition(' ')[2]}"
    if spelled[:1] in (["its"], ["their"]) and _finite_verb(part) is not None:
        owned = _subject(part)[0]
        return f"the {owned.partition(' ')[2]} of {_lower_article(subject)}{part[len(owned) :]}"
    if not _starts_predicate(part, after_modal=modal):
        return part
    first, second = [token for token in spelled if token not in ADVERBS][:2]
    helper = _tokens(before)[_finite_verb(before)][0]
    passive = helper in BE and _may_be_participle(first) and second in GRAMMAR["prepositions"]
    if passive or (modal and first in BASE):
        return f"{subject} {helper} {part}"
    return f"{subject} {part}"


def _tokens(text):
    return [(match.group().lower(), match.start()) for match in _TOKEN.finditer(text)]


def _spelled(text):
    """Tokens of a text without their places."""
    return [token for token, _ in _tokens(text)]


def _finite_verb(text):
    """Place of the first finite verb among the tokens of a clause."""
    spelled = _spelled(text)
    return next((place for place in range(1, len(spelled)) if _is_finite(spelled, place)), None)


def _is_finite(spelled, place):
    """Whether the token at a place, which is not the first, is a finite verb."""
    before, token, *after = spelled[place - 1 :]
    if token in HELPERS:
        # "in May", "the will"
        return token not in MODALS or before not in BEFORE_NAMES
    if before in BEFORE_NOUNS | CONJUNCTIONS or token in (",", ";"):
        return False
    if token in FINITE:
        return True
    if _may_be_participle(token):
        return after[:1] != ["by"] and not _helper_follows(after)
    plural = before in GRAMMAR["plurals"] or before.endswith("s")
    return token in BASE and (plural or not GRAMMAR["articles"].isdisjoint(after[:1]))


def _may_be_participle(token):
    """Whether a past could be a participle as well: "sold", "planted"."""
    return token in PAST or (
        PARTICIPLE.fullmatch(token) is not None and token not in GRAMMAR["no verbs"]
    )


def _helper_follows(found):
    for token in found:
        if token in (",", ";", "and", "but") or token in GRAMMAR["subordinate"]:
            return False
        if token in HELPERS:
            return True
    return False


def _starts_predicate(text, after_modal):
    """Whether a text starts with a finite verb whose subject stands before."""
    spelled = [token for token in _spelled(text) if token not in ADVERBS]
    if len(spelled) < 2:
        return False
    first, second = spelled[:2]
    if second in (",", ";", "and", "or"):  # a list of nouns: "interest, costs and fees"
        return False
    if first in HELPERS | FINITE | PAST or (after_modal and first in BASE):
        return True
    return _may_be_participle(first) and (second in BEFORE_NOUNS or second[0].isdigit())


def _starts_clause(text, *, sure=True, series=False):
    """Whether a text starts with a subject and its finite verb.

    After "and" a past that could be a participle is a verb if it has an object or a name for its subject: "covers the
    house and goods stored in it" has one clause. In a series no further connector stands before the verb.
    """
    place = _finite_verb(text)
    if place is None or place > 10:
        return False
    spelled = _spelled(text)
    before = set(spelled[:place])
    if before & GRAMMAR["subordinate"] or "," in before or (series and "and" in before):
        return False
    if sure or not _may_be_participle(spelled[place]) or place + 1 == len(spelled):
        return True
    subject = _subject(text)[0]
    named = subject != subject.lower() or not before.isdisjoint(GRAMMAR["plurals"])
    return named or spelled[place + 1] not in GRAMMAR["prepositions"]
