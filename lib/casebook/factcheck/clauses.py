"""Clauses and predicates of a claim that can be judged alone, by rules on whole words.

What a connector joins is parted; the subject, a leading condition and a modal are
restored. A list of things under one verb, a condition and a reported clause stay whole.
"""

import re

from casebook.factcheck import grammar
from casebook.factcheck.words import STOP, sentences, words

_RELATIVE = re.compile(r"^(?P<head>[^,]+), (?P<pro>which|who|whose) (?P<rest>.+)$")
_DETERMINER = re.compile(r"\b(?:the|a|an)\b", re.IGNORECASE)


def split(claim):
    """Part a claim into the texts of its atomic claims."""
    parts = []
    for start, end in sentences(claim):
        lead, body = leading(claim[start:end].rstrip(" .;"))
        for clause in _relative_clauses(body):
            parts += [_sentence(lead, part) for part in _coordinated(clause)]
    return parts or [claim]


def _sentence(lead, text):
    text = f"{lead} {text}" if lead else text
    text = text.strip(" ,;")
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith("?") else ".")


def leading(sentence):
    """Take a condition or a frame off the front of a sentence, up to its comma."""
    first = (words(sentence) or ("",))[0]
    comma = sentence.find(", ")
    if first not in grammar.LEADING or not 0 < comma < len(sentence) - 2:
        return "", sentence
    lead = sentence[: comma + 1]
    # "Under the lease the rent is 900, ..." holds the first clause, and is no frame.
    if first not in grammar.CONDITIONS and grammar.finite_verb(lead) is not None:
        return "", sentence
    return lead, sentence[comma + 2 :]


def _relative_clauses(text):
    """Part a non-restrictive relative clause from its main clause."""
    match = _RELATIVE.match(text)
    if not match:
        return [text]
    head, pronoun, rest = match["head"], match["pro"], match["rest"]
    inner, comma, after = rest.partition(", ")
    if comma and grammar.starts_predicate(after, False):
        return [f"{head} {after}", _relative(head, pronoun, inner)]
    if grammar.finite_verb(head) is None:
        return [text]
    places = [found.start() for found in _DETERMINER.finditer(head)]
    noun = head[places[-1] :] if places else head
    return [head, _relative(noun, pronoun, rest)]


def _relative(head, pronoun, rest):
    if pronoun == "whose":
        owned, _, predicate = rest.partition(" ")
        return f"the {owned} of {_lower_first(head)} {predicate}"
    return f"{head} {rest}"


def _lower_first(text):
    first = text.split(" ", 1)[0]
    return text[:1].lower() + text[1:] if first.lower() in STOP else text


def _coordinated(text):
    """Part a clause at its connectors where a clause or a predicate follows."""
    parts, start = [], 0
    for match in grammar.CONNECTOR.finditer(text):
        left, right = text[start : match.start()], text[match.end() :]
        if match.group().strip() == "," and not _series(text, match.end()):
            continue
        verb = grammar.finite_verb(left)
        bare = start and verb is None and grammar.starts_predicate(left, True)
        if verb is None and not bare:
            continue
        known = left if not parts else _restored(left, parts[-1])
        modal = _subject(known)[1] is not None
        if grammar.starts_predicate(right, modal) or grammar.starts_clause(right):
            parts.append(known)
            start = match.end()
    last = text[start:]
    return [*parts, _restored(last, parts[-1]) if parts else last]


def _series(text, place):
    """Tell whether a comma stands in a series that a connector with a word ends."""
    later = [m.group() for m in grammar.CONNECTOR.finditer(text, place)]
    return any(word.strip(" ,") in ("and", "but") for word in later)


def _subject(clause):
    """Give the subject of a clause, and its modal if the verb has one."""
    place = grammar.finite_verb(clause)
    if place is None:
        return None, None
    listed = grammar.tokens(clause)
    token, start = listed[place]
    return clause[:start].strip(), token if token in grammar.MODALS else None


def _restored(part, before):
    """Give a predicate the subject, and a bare verb the modal, of the clause before."""
    subject, modal = _subject(before)
    if subject is None:
        return part
    listed = [token for token, _ in grammar.tokens(part)]
    if listed and listed[0] in ("it", "they"):
        return f"{subject} {part.partition(' ')[2]}"
    if not grammar.starts_predicate(part, modal is not None):
        return part
    first = next(token for token in listed if token not in grammar.ADVERBS)
    if modal and first in grammar.BASE:
        return f"{subject} {modal} {part}"
    return f"{subject} {part}"
