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
    NUMBERS,
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
        self._passages = {}

    def passage(self, sheet, document):
        """Give the passage of a document that shares most with a sheet, the first of equal ones."""
        if document not in self.texts:
            raise InputError(f"document {document!r} has no text to explain it with")
        if document not in self._passages:
            self._passages[document] = self._cut(document)
        query = query_text(sheet, words=True)

        def overlap(passage):
            shared = self.weights.shared(query, passage.text)
            return sum(self.weights.weight(term) for term, _, _ in shared)

        return max(self._passages[document], key=overlap)

    def _cut(self, document):
        """Cut a document into passages."""
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
        # Of a case that is in both lists, the passage for the sheet before the edit.
        case_passages = self._passages_by_case(node.sheet, after)
        case_passages |= self._passages_by_case(node.parent.sheet, before)
        return explain_edge(
            node.edit.fact_type,
            (node.parent.sheet, node.sheet),
            (before.cases, after.cases),
            case_passages,
            self.documented,
            self.domain,
        )

    def _passages_by_case(self, sheet, retrieval):
        pairs = zip(retrieval.cases, retrieval.documents, strict=True)
        return {case: self.passage(sheet, document) for case, document in pairs}

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


def explain_edge(fact_type, sheets, lists, passages, documented=False, domain=SHIPPED_DOMAIN):
    """Explain what an edit did to the results.

    Given are the sheets and the lists of cases before and after it, and {case: passage shown}.
    """
    before, after = lists
    dropped = [case for case in before if case not in after]
    new = [case for case in after if case not in before]
    changes = fact_changes(*sheets)
    sentences = _change_sentences(sheets, changes)
    sentences += _list_sentences(dropped, "left the list")
    sentences += _list_sentences(new, "came in")
    if dropped or new:
        if documented and fact_type in _ASSERTED:
            sentences.append(Sentence(_ASSERTED[fact_type], "reason", checked=False))
        else:
            sentences += _reasons(sheets, changes, (dropped, new), passages, documented, domain)
    elif documented:
        text = "The fact is not operative: the same cases are found."
        sentences.append(Sentence(text, "order", checked=False))
    else:
        order = "the same" if list(before) == list(after) else "another"
        sentences.append(Sentence(f"The same cases, in {order} order.", "order"))
    used = tuple(passages[case] for case in (*dropped, *new) if case in passages)
    return Explanation(tuple(sentences), used, documented)


def _list_sentences(cases, what):
    """Say which cases left or came in, if any did."""
    if not cases:
        return []
    number = "1 case" if len(cases) == 1 else f"{len(cases)} cases"
    others = " and others" if len(cases) > MOST_CASES else ""
    names = ", ".join(cases[:MOST_CASES])
    return [Sentence(f"{number} {what}: {names}{others}.", "lists")]


def _change_sentences(sheets, changes):
    """Write a sentence for each fact that changed, was added or was taken away."""
    if not changes:
        return [Sentence("No fact changed.", "change")]
    before, after = sheets
    sentences = []
    for fact_type, old_field, new_field in changes:
        if new_field is None:
            text = f"{fact_type} taken away: {_described(before, old_field)}"
            if fact_key(before, old_field) in facts_by_key(after):
                text += " (another fact still says so)"
        else:
            new = _described(after, new_field)
            text = f"{fact_type} added: {new}"
            if old_field is not None:
                text = f"{fact_type} changed: {_described(before, old_field)} became {new}"
            keys = [fact_key(after, field) for field in fact_fields(after)]
            if keys.count(fact_key(after, new_field)) > 1:
                text += " (another fact says so too)"
        sentences.append(Sentence(f"{text}.", "change"))
    return sentences


def _reasons(sheets, changes, cases, passages, documented, domain):
    """Say where cases that left state the old fact, and cases that came in the new one."""
    before, after = sheets
    dropped, new = cases
    old_fields = [old_field for _, old_field, _ in changes]
    new_fields = [new_field for _, _, new_field in changes]
    sentences = [
        *_fact_sentences(before, old_fields, dropped, "left", passages, documented, domain),
        *_fact_sentences(after, new_fields, new, "came in", passages, documented, domain),
    ]
    if not sentences and not documented:
        text = (
            "No passage shown of a case that left tells of the old fact, "
            "and none of a case that came in of the new one."
        )
        sentences.append(Sentence(text, "reason"))
    return sentences


def _fact_sentences(sheet, fields, cases, what, passages, documented, domain):
    """Write a sentence for each known fact that passages of cases state."""
    names = {}
    for field in fields:
        if field is not None and fact_at(sheet, field) != "Unknown":
            names[fact_key(sheet, field)] = fact_text(sheet, field)
    sentences = []
    for key, name in names.items():
        support = []
        for case in cases:
            if case in passages:
                position = facts_of(passages[case].text, domain).get(key)
                if position:
                    support.append(passages[case].support(*position))
        if not support:
            continue
        if documented:
            text = f"{name} is cited by a case of the list."
        else:
            verb = "tells" if len(support) == 1 else "tell"
            text = (
                f"Of {len(cases)} that {what}, {len(support)} {verb} of {name} "
                "in the passage shown."
            )
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


def _described(sheet, field):
    """Write a fact with what it is about, if the sheet says so."""
    fact = fact_at(sheet, field)
    if hasattr(fact, "fact_type"):
        return further_text(fact)
    text = fact_text(sheet, field)
    about = getattr(fact, "context", "") or getattr(fact, "descriptor", "")
    return f"{text} ({about})" if about else text


def fact_changes(before, after):
    """List what differs between two sheets: (fact type, field before or None, after or None)."""
    changes = []
    for side in PARTY_SIDES:
        field = f"parties.{side}_type"
        if fact_at(before, field) != fact_at(after, field):
            changes.append(("PartyType", field, field))
    changes += _list_changes("Evidence", "evidence_items", before, after)
    changes += _list_changes("Section", "sections_cited", before, after)
    for kind in NUMBERS:
        changes += _list_changes("Numerical", f"numerical_facts.{kind}", before, after)
    for _, old_field, new_field in _list_changes("", "further_facts", before, after):
        sheet, field = (after, new_field) if new_field else (before, old_field)
        changes.append((fact_at(sheet, field).fact_type, old_field, new_field))
    return changes


def _list_changes(fact_type, field, before, after):
    """List what differs between two lists of facts; of as many facts each one by its position."""
    old = fact_at(before, field)
    new = fact_at(after, field)
    if len(old) == len(new):
        return [
            (fact_type, f"{field}.{i}", f"{field}.{i}") for i in range(len(old)) if old[i] != new[i]
        ]
    removed = [(fact_type, f"{field}.{i}", None) for i in _unmatched(old, new)]
    added = [(fact_type, None, f"{field}.{i}") for i in _unmatched(new, old)]
    return removed + added


def _unmatched(facts, others):
    """Give the positions of facts that have no equal among others, each of which counts once."""
    left = list(others)
    positions = []
    for i, fact in enumerate(facts):
        if fact in left:
            left.remove(fact)
        else:
            positions.append(i)
    return positions


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
