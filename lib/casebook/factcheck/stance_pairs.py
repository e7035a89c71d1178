"""Pairs of claim and passage with a known stance, from claims with gold evidence."""

from casebook.factcheck.model import INSUFFICIENT, NEUTRAL, NOT_SUPPORTED, REFUTES, SUPPORTED, SUPPORTS
from casebook.factcheck.stance import Pair
from casebook.factcheck.words import sentences

_STANCE = {SUPPORTED: SUPPORTS, NOT_SUPPORTED: REFUTES}


def training_pairs(claims, base, neutral=2):
    """Make examples for a stance model out of gold atoms."""
    rows = {doc_id: n for n, doc_id in enumerate(base.documents["doc_id"])}
    pairs = []
    for claim in claims:
        for atom in claim.atoms:
            gold = rows[atom.doc_id]
            stance = _STANCE[atom.label]
            for passage in (*_gold_sentences(base, gold, atom), base.whole(gold)):
                pairs.append(Pair(atom.text, passage, stance, claim.group))
            pairs += [
                Pair(atom.text, passage, NEUTRAL, claim.group)
                for passage in base.extract(gold, atom.text, 3)
                if not _overlaps(passage, atom)
            ]
            pairs += _neutral_pairs(base, atom.text, gold, neutral, claim.group)
        if claim.label == INSUFFICIENT:
            pairs += _neutral_pairs(base, claim.text, None, neutral, claim.group)
    return pairs


def _overlaps(passage, atom):
    return passage.start < atom.end and atom.start < passage.end


def _gold_sentences(base, row, atom):
    spans = sentences(base.texts[row])
    passages = [base.passage(row, *span) for span in spans]
    return [passage for passage in passages if _overlaps(passage, atom)]


def _neutral_pairs(base, text, gold, most, group):
    others = [row for row in base.search(text) if row != gold][:most]
    passages = [p for row in others for p in base.extract(row, text, 1)]
    passages += [base.whole(row) for row in others]
    return [Pair(text, passage, NEUTRAL, group) for passage in passages]
