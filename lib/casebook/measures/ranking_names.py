"""From the name of a ranking measure to its formula.

Names follow ir_measures, ``nDCG@10``, ``P(rel=2)@5``, ``nDCG(dcg='exp-log2')@10``;
trec_eval's own names, ``ndcg_cut_10``, ``map``, ``recip_rank``, and everyday ones,
``mrr@10``, ``recall@10``, are accepted too, all in any letter case. The formula of a
document carries a prefix, ``original:map@1``, and nothing else means it.
"""

import difflib
import re
import warnings
from dataclasses import dataclass

import numpy as np

from casebook.errors import InputError, MeasureNote
from casebook.measures.ranking_catalogue import STANDARD
from casebook.measures.ranking_documented import DOCUMENTED, ORIGINAL
from casebook.measures.ranking_families import MeasureInfo

_CASE = {name.lower(): name for name in STANDARD}
_ALIASES = {"map": "AP", "mrr": "RR", "recall": "R", "precision": "P"}

# Spellings of a document, or of trec_eval, under which another measure is found here.
_NOTES = {
    "map@1": "AP@1; EmbeddingShift's map@1 is original:map@1, which is RR",
    "ndcg@3": "the standard nDCG@3; EmbeddingShift's ndcg@3 is original:ndcg@3",
    "rbp": "RBP(p=0.8), binary; trec_eval's rbp is RBP(p=0.9) on grades 0 and 1",
}
_GRAMMAR = re.compile(r"(?P<family>\w+)(?:\((?P<inner>[^()]*)\))?(?:@(?P<k>[^@]+))?")
_TREC_EVAL = {
    r"map": "AP",
    r"map_cut_(\d+)": r"AP@\1",
    r"ndcg": "nDCG",
    r"ndcg_cut_(\d+)": r"nDCG@\1",
    r"recip_rank": "RR",
    r"p_(\d+)": r"P@\1",
    r"recall_(\d+)": r"R@\1",
    r"success_(\d+)": r"Success@\1",
    r"iprec_at_recall_([\d.]+)": r"IPrec@\1",
    r"num_q": "NumQ",
    r"num_ret": "NumRet",
    r"num_rel": "NumRel",
    r"num_rel_ret": "NumRelRet",
}


@dataclass(frozen=True)
class Measure:
    """A measure ready to be computed."""

    name: str
    info: MeasureInfo
    formula: object
    aggregate: str

    def summarise(self, values):
        """Summarise the values of all queries."""
        if self.aggregate == "sum":
            return float(np.sum(values))
        if self.aggregate == "geometric":
            return float(np.exp(np.mean(np.log(np.maximum(values, 1e-5)))))
        return float(np.mean(values))


def parse_measure(name):
    """Find the measure of a name."""
    if name.startswith(ORIGINAL):
        return _original(name)
    match = _GRAMMAR.fullmatch(_standard_name(name))
    key = match and _ALIASES.get(match["family"].lower(), match["family"])
    family = STANDARD.get(_CASE.get(key.lower())) if match else None
    if family is None:
        raise InputError(_unknown(name))
    _note(name)
    cutoff = _parse_cutoff(name, match["family"], family, match["k"])
    parameters = _parse_parameters(name, family, match["inner"])
    formula = family.build(cutoff, **parameters)
    return Measure(name, family.info, formula, family.aggregate)


def _original(name):
    """Find the formula of a document, exactly as the document spells it."""
    bare = name.removeprefix(ORIGINAL)
    whole, match = DOCUMENTED.get(bare), _GRAMMAR.fullmatch(bare)
    if whole and whole.cutoff == "none":
        return Measure(name, whole.info, whole.build(np.inf), whole.aggregate)
    family = DOCUMENTED.get(match["family"]) if match else None
    if family is None:
        known = ", ".join(family.info.name for family in DOCUMENTED.values())
        raise InputError(f"unknown measure {name!r}; the documents' own are {known}")
    cutoff = _parse_cutoff(name, match["family"], family, match["k"])
    parameters = _parse_parameters(name, family, match["inner"])
    return Measure(name, family.info, family.build(cutoff, **parameters), "mean")


def _note(name):
    """Warn where a document's spelling finds the standard measure."""
    said = _NOTES.get(name.lower())
    if name.startswith("NDCG@"):
        said = f"the graded nDCG; COUNTERCASE's binary one is original:{name}"
    if said and name not in ("nDCG@3", "RBP"):
        note = f"{name} is {said}"
        warnings.warn(note, MeasureNote, stacklevel=6)


def describe(name):
    """Explain a measure."""
    if name.startswith(ORIGINAL) and name.removeprefix(ORIGINAL) in DOCUMENTED:
        return DOCUMENTED[name.removeprefix(ORIGINAL)].info
    return STANDARD[name].info if name in STANDARD else parse_measure(name).info


def list_measures():
    """List every measure."""
    return [family.info for table in (STANDARD, DOCUMENTED) for family in table.values()]


def _standard_name(name):
    for pattern, standard in _TREC_EVAL.items():
        match = re.fullmatch(pattern, name, re.IGNORECASE)
        if match:
            return match.expand(standard)
    return name


def _unknown(name):
    names = [*(info.name for info in list_measures()), "map", "ndcg_cut_k", "P_k"]
    generic = re.sub(r"\d+$", "k", name).lower()
    lowered = {known.lower() for known in names}
    near = difflib.get_close_matches(generic, sorted(lowered), n=3, cutoff=0.4)
    near = [known for key in near for known in names if known.lower() == key]
    return f"unknown measure {name!r}; near names: {', '.join(near or names)}"


def _parse_cutoff(name, family_name, family, text):
    if text is None and family.cutoff == "required":
        raise InputError(f"measure {name!r} needs a cutoff, such as {name}@10")
    if text is None:
        return np.inf
    if family.cutoff == "none":
        raise InputError(f"measure {name!r} takes no cutoff")
    share = family_name.lower() == "iprec"
    try:
        if share:
            return _in_range(float(text), 0.0, 1.0)
        return _in_range(int(text), 1, np.inf)
    except ValueError as error:
        wanted = "a recall of 0 to 1" if family_name.lower() == "iprec" else "an integer from 1"
        raise InputError(f"cutoff {text!r} of {name!r} must be {wanted}") from error


def _parse_parameters(name, family, inner):
    parameters = {}
    for part in filter(None, map(str.strip, (inner or "").split(","))):
        key, _, text = (piece.strip().strip("'\"") for piece in part.partition("="))
        if key not in family.parameters:
            allowed = ", ".join(family.parameters) or "none"
            raise InputError(f"parameter {key!r} of {name!r}: allowed are {allowed}")
        convert, wanted = _PARAMETERS[key]
        try:
            parameters[key] = convert(text)
        except ValueError as error:
            raise InputError(f"{key} of {name!r} must be {wanted}") from error
    return parameters


def _in_range(value, low, high):
    if not low <= value <= high:
        raise ValueError(value)
    return value


def _probability(text):
    value = float(text)
    if not 0.0 < value < 1.0:
        raise ValueError(text)
    return value


def _dcg(text):
    if text not in ("log2", "exp-log2"):
        raise ValueError(text)
    return text


_PARAMETERS = {
    "rel": (lambda text: _in_range(int(text), 1, np.inf), "an integer from 1"),
    "p": (_probability, "between 0 and 1"),
    "dcg": (_dcg, "'log2' or 'exp-log2'"),
}
