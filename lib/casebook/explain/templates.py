"""Why a document was found, and what an edit of one fact did to the results, in sentences.

The sentences come from templates. Corrected: a sentence is written only after the fact that it
names was found in the passage, and carries the position. Documented: what the documented system
writes, substring matches and unchecked reasons included.
"""

import math
from collections import Counter
from dataclasses import asdict, dataclass, replace
from functools import lru_cache

from casebook.errors import InputError
from casebook.sensitivity.citations import find_provisions
from casebook.sensitivity.domain import SHIPPED_DOMAIN
from casebook.sensitivity.edits import TEMPLATE_LABELS
from casebook.sensitivity.extract import extract_sheet
from casebook.sensitivity.facts import (
    PARTY_SIDES,
    fact_at,
    fact_fields,
    fact_key,
    further_text,
    number_text,
    query_text,
)
from casebook.tables import escape_markdown
from casebook.text import STOP_LIST, passages, token_spans, tokens

MOST_SENTENCES = 2  # about one result
MAX_WORDS = 200  # of a passage
MOST_TERMS = 3  # named in a sentence
MOST_CASES = 5  # named in a sentence


@dataclass(frozen=True)
class SupportingText:
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
    """The part of a document that an explanation was made from; `start` is its position there."""

    document_id: str
    text: str
    start: int = 0

    @property
    def end(self):
        """Where the passage ends in the document."""
        return self.start + len(self.text)

    def support(self, start, end):
        """Give ``text[start:end]`` of the passage as support of a sentence."""
        return SupportingText(
            self.document_id, self.start + start, self.start + end, self.text[start:end]
        )


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
        """Give the explanation as plain data, as the report of a tree holds it."""
        return {
            "text": self.text,
            "rules": "documented" if self.documented else "corrected",
            "sentences": [asdict(sentence) for sentence in self.sentences],
            "passages": [
                {
                    "document_id": passage.document_id,
                    "start": passage.start,
                    "end": passage.end,
                    "words": len(passage.text.split()),
                }
                for passage in self.passages
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
    domain : Domain, optional
        Acts and fact types of the user's own that documents are searched for.

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

    def __init__(self, texts, documented=False, max_words=MAX_WORDS, domain=SHIPPED_DOMAIN):
        if not texts:
            raise InputError("there are no documents to explain results with")
        self.texts = texts
        self.documented = documented
        self.max_words = max_words
        self.domain = domain
        self.weights = TermWeights(texts.values())
        self._cut = lru_cache(maxsize=None)(self._cut)

    def passage(self, sheet, document):
        """The passage of a document that shares most with a sheet, the first of equal ones."""
        if document not in self.texts:
            raise InputError(f"document {document!r} has no text to explain it with")
        query = query_text(sheet, words=True)

        def overlap(passage):
            shared = self.weights.shared(query, passage.text)
            return sum(self.weights.weight(term) for term, _, _ in shared)

        return max(self._cut(document), key=overlap)

    def _cut(self, document):
        text = self.texts[document]
        start = 0
        cut = []
        for window in passages(text, self.max_words) or (text,):
            start = text.index(window, start)
            cut.append(Passage(document, window, start))
        return cut

    def result(self, sheet, document):
        """Explain one document for a sheet; see `explain_result`."""
        passage = self.passage(sheet, document)
        return explain_result(sheet, passage, self.weights, self.documented, self.domain)

    def edge(self, node):
        """Explain the edit that leads to a node, None if a retrieval failed; see `explain_edge`."""
        before = node.parent.ranking
        after = node.ranking
        if before.error or after.error:
            return None
        shown = {}  # of a case that is in both lists, the passage for the sheet before the edit
        for sheet, ranking in [(node.sheet, after), (node.parent.sheet, before)]:
            for case, document in zip(ranking.cases, ranking.documents, strict=True):
                shown[case] = self.passage(sheet, document)
        lists = before.cases, after.cases
        sheet = node.parent.sheet
        return explain_edge(sheet, node.edit, lists, shown, self.documented, self.domain)

    def __call__(self, node):
        """Explain a node for its report: each result, and the edit."""
        results = {}
        for case, document in zip(node.ranking.cases, node.ranking.documents, strict=True):
            results[case] = self.result(node.sheet, document).to_dict()
        edge = self.edge(node) if node.parent else None
        return {"results": results, "edge": edge and edge.to_dict()}


# --- results


_COMMON_FACTS = {  # sentences by kind, in their order
    "sections": "Both cite {}.",
    "petitioner": "The petitioner is of the same kind: {}.",
    "respondent": "The respondent is of the same kind: {}.",
    "evidence": "Both have evidence of the kind {}.",
    "numbers": "Both state {}.",
    "further": "Both tell of {}.",
}


def explain_result(sheet, passage, weights, documented=False, domain=SHIPPED_DOMAIN):
    """Explain by at most two sentences what a fact sheet and a passage have in common."""
    if documented:
        sentences = _documented_sentences(sheet, passage, domain)
    else:
        sentences = _corrected_sentences(sheet, passage, domain)
    if len(sentences) < MOST_SENTENCES:
        others = replace(sheet, sections_cited=())  # which have a sentence of their own
        query = query_text(others, outcome=documented, words=not documented)
        shared = weights.shared(query, passage.text, documented)[:MOST_TERMS]
        if shared:
            names = ", ".join(term for term, _, _ in shared)
            support = tuple(passage.support(start, end) for _, start, end in shared)
            sentences.append(Sentence(f"Terms in common: {names}.", "terms", support))
    if not sentences and documented:
        sentences = [Sentence("The texts are close in meaning.", "similarity", checked=False)]
    elif not sentences:
        sentences = [Sentence("No fact or term of the query was found in it.", "nothing")]
    return Explanation(tuple(sentences[:MOST_SENTENCES]), (passage,), documented)


def _corrected_sentences(sheet, passage, domain):
    """Write a sentence for each kind of facts that sheet and passage share."""
    positions = facts_of(passage.text, domain)
    shared = {key: name for key, name in facts_by_key(sheet).items() if key in positions}
    sentences = []
    for kind, template in _COMMON_FACTS.items():
        keys = [key for key in shared if kind_of(key) == kind]
        if keys:
            text = template.format(", ".join(shared[key] for key in keys))
            support = tuple(passage.support(*positions[key]) for key in keys)
            sentences.append(Sentence(text, kind, support))
    return sentences


def _documented_sentences(sheet, passage, domain):
    """Write the documented sentences: a party's name anywhere in the text counts."""
    sentences = []
    cited = {provision.id for provision in find_provisions(passage.text, domain=domain)}
    sections = [section for section in sheet.sections_cited if section in cited]
    if sections:
        text = _COMMON_FACTS["sections"].format(", ".join(sections))
        sentences.append(Sentence(text, "sections"))
    for side in PARTY_SIDES:
        party = getattr(sheet.parties, f"{side}_type")
        start = passage.text.lower().find(party.lower())
        if party != "Unknown" and start >= 0:
            support = (passage.support(start, start + len(party)),)
            text = _COMMON_FACTS[side].format(party)
            sentences.append(Sentence(text, side, support, checked=False))
    return sentences


# --- edits


_ASSERTED = {
    "PartyType": "Other kinds of parties call for other precedents.",
    "Evidence": "What evidence there is decides which precedents compare.",
    "Numerical": "The number lies on another side of a limit that precedents draw.",
}


def explain_edge(sheet, edit, lists, passages, documented=False, domain=SHIPPED_DOMAIN):
    """Explain what an edit of a sheet did to the results.

    Given are the lists of cases before and after it, and {case: passage shown}.
    """
    before, after = lists
    dropped = [case for case in before if case not in after]
    new = [case for case in after if case not in before]
    sentences = [Sentence(f"{edit.description}.", "change")]
    for cases, what in [(dropped, "left the list"), (new, "came in")]:
        if cases:
            number = "1 case" if len(cases) == 1 else f"{len(cases)} cases"
            others = " and others" if len(cases) > MOST_CASES else ""
            names = ", ".join(cases[:MOST_CASES])
            sentences.append(Sentence(f"{number} {what}: {names}{others}.", "lists"))
    if dropped or new:
        if documented and edit.fact_type in _ASSERTED:
            sentences.append(Sentence(_ASSERTED[edit.fact_type], "reason", checked=False))
        else:
            old_facts = facts_by_key(sheet)
            new_facts = facts_by_key(edit.sheet)
            shown = [
                {case: passages[case] for case in cases if case in passages}
                for cases in (dropped, new)
            ]
            reasons = _reasons(
                old_facts, new_facts, len(dropped), "left", shown[0], documented, domain
            )
            reasons += _reasons(
                new_facts, old_facts, len(new), "came in", shown[1], documented, domain
            )
            if not reasons and not documented:
                text = (
                    "No passage shown of a case that left tells of the old fact, "
                    "and none of a case that came in of the new one."
                )
                reasons = [Sentence(text, "reason")]
            sentences += reasons
    elif documented:
        text = "The fact is not operative: the same cases are found."
        sentences.append(Sentence(text, "order", checked=False))
    else:
        order = "the same" if list(before) == list(after) else "another"
        sentences.append(Sentence(f"The same cases, in {order} order.", "order"))
    used = tuple(passages[case] for case in (*dropped, *new) if case in passages)
    return Explanation(tuple(sentences), used, documented)


def _reasons(facts, others, n_cases, what, shown, documented, domain):
    """A sentence for each fact that only one of two sheets has, and that passages shown state."""
    sentences = []
    for key in [key for key in facts if key not in others]:
        support = []
        for passage in shown.values():
            position = facts_of(passage.text, domain).get(key)
            if position:
                support.append(passage.support(*position))
        verb = "tells" if len(support) == 1 else "tell"
        text = (
            f"Of {n_cases} that {what}, {len(support)} {verb} of {facts[key]} in the passage shown."
        )
        if documented:
            text = f"{facts[key]} is cited by a case of the list."
        if support:
            sentences.append(Sentence(text, "reason", tuple(support)))
    return sentences


# --- facts


@lru_cache(maxsize=4096)
def facts_of(text, domain=SHIPPED_DOMAIN):
    """Give the facts that a passage states but the outcome, {key: (start, end)}."""
    if not text.strip():
        return {}
    extraction = extract_sheet(text, domain=domain)
    positions = {}
    for span in extraction.spans:
        if span.field != "outcome":
            positions[fact_key(extraction.sheet, span.field)] = (span.start, span.end)
    return positions


def facts_by_key(sheet):
    """Give the facts of a sheet but the outcome, {key: text}."""
    texts = {}
    for field in fact_fields(sheet):
        if field != "outcome":
            texts.setdefault(fact_key(sheet, field), fact_text(sheet, field))
    return texts


def kind_of(key):
    """Give the kind of the sentence on a fact that two texts share."""
    fact_type, value = key
    if fact_type == "PartyType":
        return value[0].removesuffix("_type")
    kinds = {"Section": "sections", "Evidence": "evidence"}
    kinds |= dict.fromkeys(["Amount", "Age", "Duration"], "numbers")
    return kinds.get(fact_type, "further")


def fact_text(sheet, field):
    """Write a fact of a sheet in its own unit."""
    fact = fact_at(sheet, field)
    if hasattr(fact, "fact_type"):
        return f"{fact.fact_type} {further_text(fact)}"
    if hasattr(fact, "unit"):
        return f"{number_text(fact.value)} {fact.unit}"
    if hasattr(fact, "value"):
        return f"age {number_text(fact.value)}"
    return getattr(fact, "evidence_type", fact)


# --- terms


_SHORTEST = 3
_TEMPLATE_WORDS = TEMPLATE_LABELS | {"versus", "unknown", "years", "months", "days"}


@lru_cache(maxsize=4096)
def terms(text):
    """List the terms of a text: (term, start, end)."""
    return tuple(span for span in token_spans(text) if _is_term(span[0]))


def _is_term(word):
    return len(word) >= _SHORTEST and word not in STOP_LIST


class TermWeights:
    """Inverse document frequencies of a collection: ln((N + 1) / (df + 1)) + 1."""

    def __init__(self, texts):
        self.n = 0
        self.df = Counter()
        for text in texts:
            self.n += 1
            self.df.update({word for word in tokens(text) if _is_term(word)})

    def weight(self, term):
        """Weight of a term, at least 1."""
        return math.log((self.n + 1) / (self.df[term] + 1)) + 1

    def shared(self, query, text, documented=False):
        """List the terms that a query and a text share, the rarest first: (term, start, end)."""
        query_terms = {term for term, _, _ in terms(query)}
        if not documented:
            query_terms -= _TEMPLATE_WORDS
        first_positions = {}
        for term, start, end in terms(text):
            if term in query_terms:
                first_positions.setdefault(term, (term, start, end))
        return sorted(
            first_positions.values(), key=lambda shared: (-self.weight(shared[0]), shared[0])
        )


# --- Markdown


def explanation_markdown(explanation):
    """Write an explanation, as `Explanation.to_dict` gives it, with quotations of its support."""
    lines = []
    for sentence in explanation["sentences"]:
        mark = "" if sentence["checked"] else " (not checked)"
        lines.append(f"- {escape_markdown(sentence['text'])}{mark}")
        for support in sentence["support"]:
            quote = escape_markdown(support["quote"])
            where = f"{support['document_id']}, {support['start']} to {support['end']}"
            lines.append(f"  - “{quote}” ({escape_markdown(where)})")
    return "\n".join(lines) + "\n"


def node_markdown(node):
    """Write the explanations of one state of a tree's report."""
    explanations = []
    if node["edge"]:
        explanations.append(("The edit", node["edge"].get("explanation")))
    for result in node["retrieval_results"]:
        title = f"{result['rank']}. {escape_markdown(result['case_id'])}"
        explanations.append((title, result.get("explanation")))
    return "\n".join(
        f"**{title}**\n\n{explanation_markdown(explanation)}"
        for title, explanation in explanations
        if explanation
    )
