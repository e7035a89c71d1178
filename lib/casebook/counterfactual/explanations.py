"""Why a document was found, and what an edit of one fact did to the results.

Corrected: a sentence is written only after the fact it names was found in the passage,
and carries the place. Documented: what the documented system writes, substring matches
and unchecked reasons included.
"""

from casebook.counterfactual.explanation_edges import explain_edge
from casebook.counterfactual.explanation_facts import GROUPS, KIND_OF_GROUP, facts_of, group_of, keys_of
from casebook.counterfactual.explanation_terms import TERMS, TermWeights
from casebook.counterfactual.explanation_types import (
    Explanation,
    Passage,
    Sentence,
    Support,
    as_markdown,
    node_markdown,
)
from casebook.errors import InputError
from casebook.measures.legal_text import passages
from casebook.sensitivity.citations import find_citations
from casebook.sensitivity.facts import query_text

__all__ = [
    "Explainer",
    "Explanation",
    "Passage",
    "Sentence",
    "Support",
    "as_markdown",
    "explain_edge",
    "explain_result",
    "node_markdown",
]
MOST = 2  # sentences about one result
MAX_WORDS = 200
_SAYS = {
    "Section": "Both cite {}.",
    "petitioner": "The petitioner is of the same kind: {}.",
    "respondent": "The respondent is of the same kind: {}.",
    "Evidence": "Both have evidence of the kind {}.",
    "number": "Both state {}.",
}


def explain_result(sheet, passage, weights, documented=False):
    """Explain one result of a search."""
    make = _documented if documented else _corrected
    sentences = list(make(sheet, passage))
    if len(sentences) < MOST:
        sentences += _terms(sheet, passage, weights, documented)
    if not sentences:
        sentences = [_nothing(documented)]
    return Explanation(tuple(sentences[:MOST]), (passage,), documented)


def _corrected(sheet, passage):
    """Yield a sentence for each group of facts that sheet and passage share."""
    told, names_of, groups = facts_of(passage.text), keys_of(sheet), {}
    for key in names_of:
        if key in told:
            groups.setdefault(group_of(key), []).append(key)
    for group in GROUPS:
        if keys := groups.get(group):
            names = ", ".join(names_of[key] for key in keys)
            support = tuple(passage.support(*told[key]) for key in keys)
            kind = KIND_OF_GROUP.get(group, group)
            yield Sentence(_SAYS[group].format(names), kind, support)


def _documented(sheet, passage):
    """Yield the documented sentences: a party's name anywhere in the text counts."""
    cited = {one.id for one in find_citations(passage.text)}
    both = [section for section in sheet.sections_cited if section in cited]
    if both:
        yield Sentence(_SAYS["Section"].format(", ".join(both)), "sections")
    for side in ("petitioner", "respondent"):
        party = getattr(sheet.parties, f"{side}_type")
        at = passage.text.lower().find(party.lower())
        if party != "Unknown" and at >= 0:
            support = (passage.support(at, at + len(party)),)
            yield Sentence(_SAYS[side].format(party), side, support, checked=False)


def _terms(sheet, passage, weights, documented):
    query = query_text(sheet, outcome=documented, words=not documented)
    found = weights.shared(query, passage.text, documented)[:TERMS]
    if not found:
        return []
    names = ", ".join(term for term, _, _ in found)
    support = tuple(passage.support(start, end) for _, start, end in found)
    return [Sentence(f"Terms in common: {names}.", "terms", support)]


def _nothing(documented):
    if documented:
        text = "The texts are close in meaning."
        return Sentence(text, "similarity", checked=False)
    return Sentence("No fact or term of the query was found in it.", "nothing")


class Explainer:
    """Explanations of the results and edges of a tree, from the documents' texts."""

    def __init__(self, texts, documented=False, max_words=MAX_WORDS):
        if not texts:
            raise InputError("there are no documents to explain results with")
        self.texts, self.documented = texts, documented
        self.max_words, self.weights = max_words, TermWeights(texts.values())
        self._windows = {}

    def passage(self, sheet, document):
        """Choose the passage of a document to show for a sheet."""
        query = query_text(sheet, words=True)
        windows = self._cut(document)

        def overlap(passage):
            found = self.weights.shared(query, passage.text)
            return sum(self.weights.weight(term) for term, _, _ in found)

        return max(windows, key=overlap)  # the first of equal ones

    def result(self, sheet, document):
        """Explain one document for a sheet; see `explain_result`."""
        passage = self.passage(sheet, document)
        return explain_result(sheet, passage, self.weights, self.documented)

    def edge(self, node):
        """Explain the edit that leads to a node; see `explain_edge`."""
        before, after = node.parent.found, node.found
        if before.error or after.error:
            return None
        listed = {
            case: self.passage(sheet, document)
            for sheet, found in ((node.sheet, after), (node.parent.sheet, before))
            for case, document in zip(found.cases, found.documents, strict=True)
        }
        return explain_edge(
            node.edit.fact_type, (node.parent.sheet, node.sheet), (before.cases, after.cases), listed, self.documented
        )

    def __call__(self, node):
        """Explain a node for its report: each result, and the edit."""
        found = node.found
        results = {
            case: self.result(node.sheet, document).to_dict()
            for case, document in zip(found.cases, found.documents, strict=True)
        }
        edge = self.edge(node) if node.parent else None
        return {"results": results, "edge": edge and edge.to_dict()}

    def _cut(self, document):
        if document not in self.texts:
            raise InputError(f"document {document!r} has no text to explain it with")
        if document not in self._windows:
            text, at, cut = self.texts[document], 0, []
            for window in passages(text, self.max_words) or (text,):
                at = text.index(window, at)
                cut.append(Passage(document, window, at))
            self._windows[document] = cut
        return self._windows[document]
