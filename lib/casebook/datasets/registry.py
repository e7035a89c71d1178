"""Datasets by name: list, pull, check, load, describe."""

import importlib
import os
import sys
from dataclasses import replace

import pandas as pd
from tqdm import tqdm

from casebook import paths
from casebook.datasets import sources
from casebook.datasets.cards import cards
from casebook.datasets.corpus import MAX_MISSING, with_titles
from casebook.datasets.describe import as_markdown, licence_table, overview
from casebook.datasets.loaders import check_kind, read_split
from casebook.errors import InputError

__all__ = ["available", "card_text", "check", "licence_table", "list_datasets", "load", "overview", "pull", "resolve"]


def list_datasets():
    """Name the datasets that have a card."""
    return list(cards())


def available(name):
    """Tell whether the files of a dataset lie here, whatever they hold."""
    return sources.available(resolve(name)[0])


def resolve(name):
    """Find the card, and the split if one is named, behind a dataset name."""
    paths.valid_name(name, "dataset")
    known = cards()
    if name in known:
        return known[name], None
    for key, card in known.items():
        split = name.removeprefix(f"{key}_")
        if split != name and split in card.splits:
            return card, split
    raise InputError(
        f"unknown dataset {name!r}: known are {', '.join(known)}; a folder is given with a separator, as in ./{name}"
    )


def load(name, split=None, kind="retrieval", titles=True, max_missing=MAX_MISSING):
    """Load one split of a dataset that is on this machine.

    Parameters
    ----------
    name : str or pathlib.Path
        A key (``"privacy_qa"``), a key with a split (``"privacy_qa_test"``), or the
        path of a folder in the BEIR layout (with a separator, or as ``NAME=./folder``,
        which says what to call it).
    split : str, optional
        Which questions; the card's default split, or ``"test"`` for a folder.
    kind : {"retrieval", "claims", "annotations", "ratings"}
        What the caller can work with.
    titles : bool
        Whether the text of a document begins with its title (retrieval only).
    max_missing : float
        For a folder: largest share of judgements that may name a document or query
        that it lacks, see `casebook.datasets.beir.load_beir`.

    Returns
    -------
    RetrievalDataset, casebook.datasets.claims.ClaimSet,
    casebook.datasets.annotated.AnnotatedSet or casebook.datasets.ratings.RatingSet
        The split, with the counts of its card.

    Raises
    ------
    InputError
        If the name or the split is unknown, the dataset is of another kind, the files
        are not here, or they are not what the card says.

    Examples
    --------
    >>> from casebook.datasets import load
    >>> load("smoke").counts["documents"]
    48
    """
    if own := paths.data_folder(name):
        return _load_folder(*own, split or "test", titles, max_missing)
    card, named = resolve(name)
    check_kind(card, kind)
    if named and split not in (None, named):
        raise InputError(f"dataset {name!r} names split {named!r}, not {split!r}")
    split = named or split or card.default_split
    if split not in card.splits:
        known = ", ".join(card.splits)
        raise InputError(f"{card.key} has no split {split!r}: it has {known}")
    found = read_split(card, sources.present(card), split)
    if kind == "retrieval" and titles:
        return replace(found, documents=with_titles(found.documents))
    return found


def _load_folder(key, folder, split, titles, max_missing):
    if not folder.is_dir():
        raise InputError(f"dataset {str(folder)!r}: no such folder")
    beir = importlib.import_module("casebook.datasets.beir")
    if isinstance(titles, str) or not 0 <= max_missing <= 1:
        raise InputError("titles is true or false, max_missing a share from 0 to 1")
    split = paths.valid_name(split, "split")
    reading = {"titles": titles, "max_missing": max_missing}
    return beir.load_beir(folder, split, key=key, **reading)


def pull(names=None):
    """Fetch the files of datasets into the cache."""
    quiet = bool(os.environ.get("TQDM_DISABLE")) or None  # None: only on a terminal
    found, problems = [], []
    for card in tqdm(_chosen(names), desc="datasets", unit="set", disable=quiet):
        if names is None and not sources.reachable(card):
            reason = f"in no public place, and {sources.MIRROR_VARIABLE} is not set"
            tqdm.write(f"{card.key}: left out: {reason}", file=sys.stderr)
            continue
        try:
            found += sources.pull(card).values()
        except InputError as error:
            problems.append(str(error))
    if problems:
        raise InputError("; ".join(problems))
    return found


def _chosen(names):
    """Give the distinct cards of some names, or all."""
    if names is None:
        return list(cards().values())
    return list({card.key: card for card, _ in map(resolve, names)}.values())


def check(names=None):
    """Verify hashes and counts of the datasets on this machine; downloads nothing.

    Parameters
    ----------
    names : sequence of str, optional
        Names of datasets; all by default.

    Returns
    -------
    pandas.DataFrame
        One row per dataset and split: ``dataset``, ``split``, ``status`` (``ok``,
        ``absent`` or ``bad``) and ``detail`` (counts, or what is wrong).
    """
    columns = ["dataset", "split", "status", "detail"]
    rows = [row for card in _chosen(names) for row in _check(card)]
    return pd.DataFrame(rows, columns=columns)


def _check(card):
    """Yield the rows of one dataset: a single one if its files cannot be read."""
    status, detail = sources.status(card)
    if status != "ok":
        yield card.key, "", status, detail
        return
    for split in card.splits:
        try:
            counts = read_split(card, detail, split).counts
        except InputError as error:
            yield card.key, split, "bad", str(error)
        else:
            found = ", ".join(f"{n:,} {name}" for name, n in counts.items())
            yield card.key, split, "ok", found


def card_text(name):
    """Describe a dataset."""
    return as_markdown(resolve(name)[0])
