"""How good a decomposition is, on annotated sentences."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

from casebook import paths
from casebook.datasets.jsonl import read_jsonl
from casebook.errors import CasebookError, InputError
from casebook.factcheck.decompose import decompose
from casebook.factcheck.decompose_documented import decompose_documented
from casebook.factcheck.model import VERIFIABILITY, VERIFIABLE
from casebook.factcheck.words import jaccard, stems
from casebook.inference.bootstrap import bootstrap_statistic
from casebook.inference.proportions import wilson

ANNOTATED = paths.DATA / "factcheck" / "decomposition.jsonl"
SYSTEMS = {"rules": decompose, "documented": decompose_documented}
MATCH = 0.8  # least Jaccard of stems, function words and negations included


@dataclass(frozen=True)
class Sentence:
    """A sentence and its atomic claims as annotated.

    Attributes
    ----------
    id, text, split : str
        The sentence; ``dev`` was looked at when the rules were written, ``test`` not.
    atoms : tuple of (str, str)
        Text and verifiability of each atomic claim.
    """

    id: str
    text: str
    split: str
    atoms: tuple


def read_annotated(path=ANNOTATED):
    """Read annotated sentences.

    Parameters
    ----------
    path : path-like
        JSON lines with ``id``, ``text``, ``split`` and ``atoms``.

    Returns
    -------
    list of Sentence
        In file order.

    Raises
    ------
    InputError
        If a line has a defect; names file and line.
    """
    fields = {"id": str, "text": str, "split": str, "atoms": list}
    found = []
    for number, row in read_jsonl(path, fields):
        try:
            atoms = tuple((a["text"], a["verifiability"]) for a in row["atoms"])
        except (KeyError, TypeError) as error:
            problem = "atoms need text and verifiability"
            raise InputError.at(path, number, problem) from error
        if not atoms or any(kind not in VERIFIABILITY for _, kind in atoms):
            raise InputError.at(path, number, "no atoms, or unknown verifiability")
        found.append(Sentence(row["id"], row["text"], row["split"], atoms))
    return found


def match(found, wanted, least=MATCH):
    """Pair found and wanted atomic claims, each at most once.

    Parameters
    ----------
    found, wanted : sequence of str
        Texts.
    least : float
        Least Jaccard similarity of their stems.

    Returns
    -------
    list of (int, int)
        Positions of the pairs of the assignment with the largest total similarity.
    """
    if not found or not wanted:
        return []
    table = np.array(
        [
            [jaccard(frozenset(stems(f)), frozenset(stems(w))) for w in wanted]
            for f in found
        ]
    )
    rows, columns = linear_sum_assignment(-np.where(table >= least, table, 0))
    pairs = zip(rows.tolist(), columns.tolist(), strict=True)
    return [(f, w) for f, w in pairs if table[f, w] >= least]


def compare(sentences, systems=None):
    """Put every sentence through every system.

    Parameters
    ----------
    sentences : sequence of Sentence
        Annotated sentences.
    systems : dict of callable, optional
        By name; each maps a claim to its sub-claims. Rules and documented by default.

    Returns
    -------
    pandas.DataFrame
        One row per sentence and system: counts ``found``, ``wanted``, ``matched``,
        ``right_kind`` (matched with the right verifiability), ``kept`` (verifiable
        ones matched and kept), ``checkable`` (verifiable ones wanted), ``exact``
        (all matched, none too many), and ``error`` where a system failed.
    """
    rows = []
    for system, decomposer in (systems or SYSTEMS).items():
        for sentence in sentences:
            row = {"sentence": sentence.id, "split": sentence.split, "system": system}
            rows.append(row | _counts(sentence, decomposer))
    return pd.DataFrame(rows)


def _counts(sentence, decomposer):
    try:
        parts, error = decomposer(sentence.text), None
    except CasebookError as problem:
        parts, error = (), str(problem)
    wanted = [text for text, _ in sentence.atoms]
    pairs = match([part.text for part in parts], wanted)
    kinds = [(parts[f].verifiability, sentence.atoms[w][1]) for f, w in pairs]
    return {
        "found": len(parts),
        "wanted": len(wanted),
        "matched": len(pairs),
        "right_kind": sum(ours == theirs for ours, theirs in kinds),
        "kept": sum(ours == theirs == VERIFIABLE for ours, theirs in kinds),
        "checkable": sum(kind == VERIFIABLE for _, kind in sentence.atoms),
        "exact": len(pairs) == len(wanted) == len(parts),
        "error": error,
    }


MEASURES = {
    "precision": ("matched", "found"),
    "recall": ("matched", "wanted"),
    "verifiability accuracy": ("right_kind", "wanted"),
    "verifiable parts kept": ("kept", "checkable"),
}


def _share(counts):
    over, under = counts.sum(axis=0)
    return over / under if under else None


def summary(table, n_boot=2_000, seed=0):
    """Summarise a comparison with intervals.

    Parameters
    ----------
    table : pandas.DataFrame
        As `compare` gives it.
    n_boot, seed : int
        Of the bootstrap over sentences.

    Returns
    -------
    pandas.DataFrame
        One row per split, system and measure: ``value``, ``low``, ``high``, ``n``
        (sentences), ``failed``. Atoms not matched count as wrong in every share;
        ``exact`` has Wilson's interval.
    """
    rows = []
    for (part, system), group in table.groupby(["split", "system"], sort=False):
        head = {"split": part, "system": system}
        tail = {"n": len(group), "failed": int(group["error"].notna().sum())}
        for name, columns in MEASURES.items():
            counts = group[list(columns)].to_numpy(float)
            found = bootstrap_statistic(counts, _share, n_boot=n_boot, seed=seed)
            rows.append(head | _cells(name, found) | tail)
        exact = wilson(int(group["exact"].sum()), len(group))
        rows.append(head | _cells("exact", exact) | tail)
    return pd.DataFrame(rows)


def _cells(name, interval):
    return {
        "measure": name,
        "value": interval.estimate,
        "low": interval.low,
        "high": interval.high,
    }
