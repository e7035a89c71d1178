"""Why a document was found, and what an edit of one fact did to the results, in sentences from templates.

Corrected: a sentence is written only after the fact it names was found in the passage, and
carries the place. Documented: what the documented system writes, substring matches and
unchecked reasons included.
"""

import math
import re
from collections import Counter
from dataclasses import asdict, dataclass
from functools import lru_cache

from casebook.errors import InputError
from casebook.sensitivity.citations import find_citations
from casebook.sensitivity.edits import TEMPLATE_LABELS
from casebook.sensitivity.extract import extract_sheet
from casebook.sensitivity.facts import (
    NUMBERS,
    PARTY_SIDES,
    fact_at,
    fact_fields,
    fact_key,
    number_text,
    query_text,
)
from casebook.text import STOP_LIST, passages

MOST = 2  # sentences about one result
MAX_WORDS = 200  # of a passage
TERMS = 3  # named in a sentence
LISTED = 5  # cases named in a sentence


@dataclass(frozen=True)
class Support:
    """Words of a document that support a sentence: ``text[start:end] == quote``."""

    document_id: str
    start: int
    end: int
    quote: str


@dataclass(frozen=True)
class Sentence:
    """One sentence of an explanation."""

    text: str
    kind: str
    support: tuple = ()
    checked: bool = True


@dataclass(frozen=True)
class Passage:
    """The part of a document that an explanation was made from; `start` is its place there."""

    document_id: str
    text: str
    start: int = 0

    @property
    def end(self):
        """Where the passage ends in the document."""
        return self.start + len(self.text)

    def support(self, start, end):
        """Support at ``text[start:end]`` of the passage."""
        return Support(self.document_id, self.start + start, self.start + end, self.text[start:end])


@dataclass(frozen=True)
class Explanation:
    """Why a document was found, or what an edit did."""

    sentences: tuple
    passages: tuple = ()
    documented: bool = False

    @property
    def text(self):
        """The sentences in one line."""
        return " ".join(sentence.text for sentence in self.sentences)

    def to_dict(self):
        """Plain data, as the report of a tree holds it."""
        return {
            "text": self.text,
            "rules": "documented" if self.documented else "corrected",
            "sentences": [asdict(sentence) for sentence in self.sentences],
            "passages": [
                {
                    "document_id": p.document_id,
                    "start": p.start,
                    "end": p.end,
                    "words": len(p.text.split()),
                }
                for p in self.passages
            ],
        }


class Explainer:
    """Explain search results and edits of facts in sentences that point to their support.

    Parameters
    ----------
    texts : dict
        {document: text} of every document that may be explained.
    documented : bool
        Whether to write what the documented system writes, unchecked reasons included.
    max_words : int
        Words of the passage that is shown of a document.

    Raises
    ------
    InputError
        If there are no documents, or one that is asked for has no text.

    Examples
    --------
    >>> from casebook.sensitivity.extract import extract_sheet
    >>> from casebook.explain.templates import Explainer
    >>> texts = {"d1": "He was convicted under section 302 IPC.", "d2": "The rent was due."}
    >>> sheet = extract_sheet("The accused was charged under section 302 IPC.").sheet
    >>> explainer = Explainer(texts)
    >>> [explainer.result(sheet, document).text for document in texts]
    ['Both cite IPC-302.', 'No fact or term of the query was found in it.']
    """

    def __init__(self, texts, documented=False, max_words=MAX_WORDS):
        if not texts:
            raise InputError("there are no documents to explain results with")
        self.texts, self.documented, self.max_words = texts, documented, max_words
        self.weights, self._windows = TermWeights(texts.values()), {}

    def passage(self, sheet, document):
        """The passage of a document that shares most with a sheet, the first of equal ones."""
        if document not in self.texts:
            raise InputError(f"document {document!r} has no text to explain it with")
        if document not in self._windows:
            text, at, cut = self.texts[document], 0, []
            for window in passages(text, self.max_words) or (text,):
                at = text.index(window, at)
                cut.append(Passage(document, window, at))
            self._windows[document] = cut
        query, weights = query_text(sheet, words=True), self.weights

        def overlap(passage):
            return sum(weights.weight(term) for term, _, _ in weights.shared(query, passage.text))

        return max(self._windows[document], key=overlap)

    def result(self, sheet, document):
        """Explain one document for a sheet; see `explain_result`."""
        return explain_result(sheet, self.passage(sheet, document), self.weights, self.documented)

    def edge(self, node):
        """Explain the edit that leads to a node, None if a retrieval failed; see `explain_edge`."""
        before, after = node.parent.ranking, node.ranking
        if before.error or after.error:
            return None
        sheets = node.parent.sheet, node.sheet
        listed = {
            case: self.passage(sheet, document)
            for sheet, found in zip(sheets[::-1], (after, before), strict=True)
            for case, document in zip(found.cases, found.documents, strict=True)
        }
        return explain_edge(
            node.edit.fact_type, sheets, (before.cases, after.cases), listed, self.documented
        )

    def __call__(self, node):
        """Explain a node for its report: each result, and the edit."""
        listed = zip(node.ranking.cases, node.ranking.documents, strict=True)
        results = {case: self.result(node.sheet, document).to_dict() for case, document in listed}
        edge = self.edge(node) if node.parent else None
        return {"results": results, "edge": edge and edge.to_dict()}


# Results


_SAYS = {  # what the sentences say, by their kind and in their order
    "sections": "Both cite {}.",
    "petitioner": "The petitioner is of the same kind: {}.",
    "respondent": "The respondent is of the same kind: {}.",
    "evidence": "Both have evidence of the kind {}.",
    "numbers": "Both state {}.",
}


def explain_result(sheet, passage, weights, documented=False):
    """Explain by at most two sentences what a fact sheet and a passage have in common."""
    sentences = list((_documented if documented else _corrected)(sheet, passage))
    if len(sentences) < MOST:
        query = query_text(sheet, outcome=documented, words=not documented)
        if found := weights.shared(query, passage.text, documented)[:TERMS]:
            names = ", ".join(term for term, _, _ in found)
            support = tuple(passage.support(start, end) for _, start, end in found)
            sentences.append(Sentence(f"Terms in common: {names}.", "terms", support))
    if not sentences and documented:
        sentences = [Sentence("The texts are close in meaning.", "similarity", checked=False)]
    elif not sentences:
        sentences = [Sentence("No fact or term of the query was found in it.", "nothing")]
    return Explanation(tuple(sentences[:MOST]), (passage,), documented)


def _corrected(sheet, passage):
    """A sentence for each group of facts that sheet and passage share."""
    told, known = facts_of(passage.text), keys_of(sheet)
    for kind, says in _SAYS.items():
        if keys := [key for key in known if key in told and kind_of(key) == kind]:
            names = ", ".join(known[key] for key in keys)
            yield Sentence(
                says.format(names), kind, tuple(passage.support(*told[key]) for key in keys)
            )


def _documented(sheet, passage):
    """The documented sentences: a party's name anywhere in the text counts."""
    cited = {one.id for one in find_citations(passage.text)}
    if both := [section for section in sheet.sections_cited if section in cited]:
        yield Sentence(_SAYS["sections"].format(", ".join(both)), "sections")
    for side in PARTY_SIDES:
        party = getattr(sheet.parties, f"{side}_type")
        at = passage.text.lower().find(party.lower())
        if party != "Unknown" and at >= 0:
            yield Sentence(
                _SAYS[side].format(party),
                side,
                (passage.support(at, at + len(party)),),
                checked=False,
            )


# Edits


_ASSERTED = {
    "PartyType": "Other kinds of parties call for other precedents.",
    "Evidence": "What evidence there is decides which precedents compare.",
    "Numerical": "The number lies on another side of a limit that precedents draw.",
}


def explain_edge(fact_type, sheets, lists, listed, documented=False):
    """Explain what an edit did: sheets and lists of cases before and after, and {case: passage} shown."""
    before, after = lists
    dropped, new = (
        [case for case in one if case not in other]
        for one, other in ((before, after), (after, before))
    )
    changes = fact_changes(*sheets)
    sentences = list(_change(sheets, changes))
    for cases, what in ((dropped, "left the list"), (new, "came in")):
        if cases:
            number = "1 case" if len(cases) == 1 else f"{len(cases)} cases"
            more = " and others" if len(cases) > LISTED else ""
            sentences.append(
                Sentence(f"{number} {what}: {', '.join(cases[:LISTED])}{more}.", "lists")
            )
    if dropped or new:
        if documented and fact_type in _ASSERTED:
            sentences.append(Sentence(_ASSERTED[fact_type], "reason", checked=False))
        else:
            sentences += _reasons(sheets, changes, (dropped, new), listed, documented)
    elif documented:
        sentences.append(
            Sentence("The fact is not operative: the same cases are found.", "order", checked=False)
        )
    else:
        order = "the same" if list(before) == list(after) else "another"
        sentences.append(Sentence(f"The same cases, in {order} order.", "order"))
    used = tuple(listed[case] for case in (*dropped, *new) if case in listed)
    return Explanation(tuple(sentences), used, documented)


def _change(sheets, changes):
    """A sentence for each fact that changed, was added or was taken away."""
    if not changes:
        yield Sentence("No fact changed.", "change")
    for fact_type, *fields in changes:
        old, new = (
            field and _named(sheet, field) for sheet, field in zip(sheets, fields, strict=True)
        )
        if new:
            text = (
                f"{fact_type} changed: {old} became {new}" if old else f"{fact_type} added: {new}"
            )
            same = [fact_key(sheets[1], name) for name in fact_fields(sheets[1])]
            text += (
                " (another fact says so too)"
                if same.count(fact_key(sheets[1], fields[1])) > 1
                else ""
            )
        else:
            text = f"{fact_type} taken away: {old}"
            text += (
                " (another fact still says so)"
                if fact_key(sheets[0], fields[0]) in keys_of(sheets[1])
                else ""
            )
        yield Sentence(f"{text}.", "change")


def _reasons(sheets, changes, cases, listed, documented):
    """Where the old fact is told by cases that left, the new one by cases that came in."""
    found = []
    for side, (sheet, part, which) in enumerate(
        zip(sheets, cases, ("left", "came in"), strict=True), 1
    ):
        fields = [
            change[side]
            for change in changes
            if change[side] and fact_at(sheet, change[side]) != "Unknown"
        ]
        for key, name in {
            fact_key(sheet, field): written(sheet, field) for field in fields
        }.items():
            told = [
                (listed[case], facts_of(listed[case].text).get(key))
                for case in part
                if case in listed
            ]
            if support := tuple(passage.support(*place) for passage, place in told if place):
                verb = "tells" if len(support) == 1 else "tell"
                text = f"Of {len(part)} that {which}, {len(support)} {verb} of {name} in the passage shown."
                text = f"{name} is cited by a case of the list." if documented else text
                found.append(Sentence(text, "reason", support))
    if not found and not documented:
        text = "No passage shown of a case that left tells of the old fact, and none "
        found.append(Sentence(f"{text}of a case that came in of the new one.", "reason"))
    return found


# Facts


@lru_cache(maxsize=4096)
def facts_of(text):
    """Facts that a passage tells, {key: (start, end)}, the outcome apart."""
    if not text.strip():
        return {}
    found = extract_sheet(text)
    spans = [span for span in found.spans if span.field != "outcome"]
    return {fact_key(found.sheet, span.field): (span.start, span.end) for span in spans}


def keys_of(sheet):
    """Facts of a sheet, {key: how it is written}, the outcome apart."""
    found = {}
    for field in fact_fields(sheet):
        if field != "outcome":
            found.setdefault(fact_key(sheet, field), written(sheet, field))
    return found


def kind_of(key):
    """Kind of the sentence that tells of a fact that two texts share."""
    kind, value = key
    if kind == "PartyType":
        return value[0].removesuffix("_type")
    return {"Section": "sections", "Evidence": "evidence"}.get(kind, "numbers")


def written(sheet, field):
    """A fact of a sheet in its own unit."""
    fact = fact_at(sheet, field)
    if hasattr(fact, "unit"):
        return f"{number_text(fact.value)} {fact.unit}"
    return (
        f"age {number_text(fact.value)}"
        if hasattr(fact, "value")
        else getattr(fact, "evidence_type", fact)
    )


def _named(sheet, field):
    """A fact with what it is about, if the sheet says so."""
    fact = fact_at(sheet, field)
    about = getattr(fact, "context", "") or getattr(fact, "descriptor", "")
    return f"{written(sheet, field)} ({about})" if about else written(sheet, field)


def fact_changes(before, after):
    """What differs between two sheets: (fact type, field before or None, field after or None)."""
    sides = [f"parties.{side}_type" for side in PARTY_SIDES]
    found = [
        ("PartyType", side, side) for side in sides if fact_at(before, side) != fact_at(after, side)
    ]
    lists = {"evidence_items": "Evidence", "sections_cited": "Section"}
    for name, fact_type in (
        lists | {f"numerical_facts.{kind}": "Numerical" for kind in NUMBERS}
    ).items():
        old, new = fact_at(before, name), fact_at(after, name)
        if len(old) == len(new):
            places = [(at, at) for at in range(len(old)) if old[at] != new[at]]
        else:
            places = [(at, None) for at in _unmatched(old, new)] + [
                (None, at) for at in _unmatched(new, old)
            ]
        found += [
            (fact_type, *(None if at is None else f"{name}.{at}" for at in place))
            for place in places
        ]
    return found


def _unmatched(facts, others):
    """Places of facts that have no equal among others, each used once."""
    left, places = list(others), []
    for at, fact in enumerate(facts):
        if fact in left:
            left.remove(fact)
        else:
            places.append(at)
    return places


# Terms


_TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*")
_SHORTEST = 3
_TEMPLATE = TEMPLATE_LABELS | {"versus", "unknown", "years", "months", "days"}


@lru_cache(maxsize=4096)
def terms(text):
    """Terms of a text: (term, start, end)."""
    found = ((match.group().lower(), match.start(), match.end()) for match in _TOKEN.finditer(text))
    return tuple(one for one in found if _counts(one[0]))


def _counts(word):
    return len(word) >= _SHORTEST and word not in STOP_LIST


class TermWeights:
    """Inverse document frequencies of a collection: ln((N + 1) / (df + 1)) + 1."""

    def __init__(self, texts):
        self.n, self.df = 0, Counter()
        for text in texts:
            self.n += 1
            self.df.update(
                filter(_counts, set(_TOKEN.findall(text.lower())))
            )  # places are not needed here

    def weight(self, term):
        """Weight of a term, at least 1."""
        return math.log((self.n + 1) / (self.df[term] + 1)) + 1

    def shared(self, query, text, documented=False):
        """Terms that a query and a text share, the rarest first: (term, start, end) in the text."""
        asked = {term for term, _, _ in terms(query)} - (set() if documented else _TEMPLATE)
        first = {}
        for term, start, end in terms(text):
            if term in asked:
                first.setdefault(term, (term, start, end))
        return sorted(first.values(), key=lambda one: (-self.weight(one[0]), one[0]))


# Markdown


def as_markdown(explanation):
    """An explanation, as `Explanation.to_dict` gives it, with its supports quoted below it."""
    lines = []
    for sentence in explanation["sentences"]:
        lines.append(
            f"- {plain(sentence['text'])}{'' if sentence['checked'] else ' (not checked)'}"
        )
        for one in sentence["support"]:
            place = f"{one['document_id']}, {one['start']} to {one['end']}"
            lines.append(f"  - “{plain(one['quote'])}” ({plain(place)})")
    return "\n".join(lines) + "\n"


def node_markdown(node):
    """Explanations of one state of a tree's report."""
    told = [("The edit", (node["edge"] or {}).get("explanation"))]
    told += [
        (f"{one['rank']}. {plain(one['case_id'])}", one.get("explanation"))
        for one in node["retrieval_results"]
    ]
    return "\n".join(
        f"**{title}**\n\n{as_markdown(explanation)}" for title, explanation in told if explanation
    )


_ESCAPED = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;"} | {mark: f"\\{mark}" for mark in "\\`*_[]#|"}
)


def plain(text):
    """Text of others, made safe for one line of Markdown."""
    return " ".join(str(text).split()).translate(_ESCAPED)
