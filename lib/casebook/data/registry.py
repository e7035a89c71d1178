"""Datasets by name: load, list, pull, check and describe them."""

import contextlib
import sys
from dataclasses import replace

import pandas as pd

from casebook import paths
from casebook.data import sets, sources
from casebook.data.cards import cards
from casebook.data.folders import MAX_MISSING, folder_defects, load_folder, with_titles
from casebook.data.splits import RetrievalDataset
from casebook.errors import InputError
from casebook.plugins import callable_plugin, called, is_plugin
from casebook.readers import did_you_mean
from casebook.stats.samples import check_choice


def load(name, split=None, kind="retrieval", titles=True, max_missing=MAX_MISSING):
    """Load one split of a dataset that is on this machine.

    Parameters
    ----------
    name : str or pathlib.Path
        A key (``"privacy_qa"``), a key with a split (``"privacy_qa_test"``), or the
        path of a folder in the BEIR layout (with a separator, or as ``NAME=./folder``,
        which says what to call it), or ``module:object``, a function that gives a
        `RetrievalDataset`, with the split as its argument if one is named.
    split : str, optional
        Which questions; the card's default split, or ``"test"`` for a folder.
    kind : {"retrieval", "claims", "votes"}
        What the caller can work with.
    titles : bool
        Whether the text of a document begins with its title (retrieval only).
    max_missing : float
        For a folder: largest share of judgements, 0 to 1, that may name a document or
        query that it lacks, see `casebook.data.folders.load_folder`.

    Returns
    -------
    RetrievalDataset or StudySet
        The split, with the counts of its card. `documents` has the columns ``doc_id``,
        ``title`` and ``text`` and the collection's own, `queries` ``query_id`` and
        ``text``; `qrels` is ``{query_id: {doc_id: grade}}``.

    Raises
    ------
    InputError
        If the name or the split is unknown, the dataset is of another kind, the files
        are not here (`casebook.data.sources.Absent`), or not what the card says.

    Examples
    --------
    >>> from casebook.data import load
    >>> smoke = load("smoke")
    >>> smoke.counts
    {'documents': 48, 'queries': 34, 'judgements': 310}
    >>> smoke.documents["doc_id"].iloc[0], load("smoke_test").name
    ('home-1', 'smoke_test')
    """
    location = paths.data_folder(name)
    if location:
        key, folder = location
        dataset = load_folder(folder, split or "test", key=key, max_missing=max_missing)
    elif is_plugin(name):
        dataset = _of_plugin(name, split)
    else:
        dataset = _of_card(name, split, kind)
    if titles and isinstance(dataset, RetrievalDataset):
        return replace(dataset, documents=with_titles(dataset.documents))
    return dataset


def _of_card(name, split, kind):
    card, split_in_name = resolve(name)
    fitting = [key for key, candidate in cards().items() if candidate.kind == kind]
    check_choice(f"dataset of {kind} data", card.key, fitting)
    allowed = [split_in_name] if split_in_name else card.splits
    split = split or split_in_name or card.default_split
    check_choice(f"split of {name}", split, allowed)
    return read_split(card, sources.present(card), split)


def _of_plugin(name, split):
    function = callable_plugin(name, "() -> RetrievalDataset")
    dataset = called(name, function, *filter(None, [split]))
    if not isinstance(dataset, RetrievalDataset):
        raise InputError(
            f"{name}: expected a RetrievalDataset, found {type(dataset).__name__}"
        )
    paths.valid_name(dataset.key, "dataset")
    return dataset


def read_split(card, files, split):
    """Run the card's loader on {name: path}, and compare counts with the card."""
    dataset = getattr(sets, card.loader)(card, files, split)
    expected = card.splits[split].model_dump(exclude={"note"})
    if dataset.counts != expected:
        problem = f"expected {_counted(expected)}, found {_counted(dataset.counts)}"
        raise InputError(
            f"{card.key}, split {split}: {problem}: these are not the card's files"
        )
    return dataset


def _counted(counts):
    return ", ".join(f"{n:,} {name}" for name, n in counts.items())


def list_datasets():
    """Names of the datasets that have a card.

    Returns
    -------
    list of str
        Keys, in alphabetical order; each is a `name` for `load`.

    Examples
    --------
    >>> from casebook.data import list_datasets
    >>> "smoke" in list_datasets()
    True
    """
    return list(cards())


def resolve(name):
    """Card, and split if one is named, behind a dataset name."""
    known = cards()
    for key, card in known.items():
        split = name.removeprefix(f"{key}_")
        if name == key or (split != name and split in card.splits):
            return card, None if name == key else split
    choice = f"{did_you_mean(name, known)}; known are {', '.join(known)}"
    raise InputError(f"unknown dataset {name!r}{choice}; a folder is written ./{name}")


def pull(names=()):
    """Fetch datasets (all by default) into the cache and list their files.

    Without names, what only an absent mirror has is left out and said.
    """
    files = []
    for name in names or cards():
        card, _ = resolve(name)
        if names or sources.reachable(card):
            files += sources.pull(card).values()
        else:
            print(
                f"{card.key}: left out: {sources.MIRROR_VARIABLE} is not set",
                file=sys.stderr,
            )
    return files


def check(names=()):
    """Verify hashes and counts of the datasets on this machine: a row per dataset and split.

    A folder of one's own is read, and has a row for each of its `folder_defects`. ``status`` is
    ``ok``, ``absent`` or ``bad``, ``detail`` says the counts or what is wrong.
    """
    rows = []
    for name in names or cards():
        location = paths.data_folder(name)
        if location:
            rows += _check_folder(name, *location)
        else:
            card, _ = resolve(name)
            rows += [
                _check_split(card.key, split, card.key, card.kind)
                for split in card.splits
            ]
    return pd.DataFrame(rows, columns=["dataset", "split", "status", "detail"])


def _check_folder(name, key, folder):
    splits = sorted(path.stem for path in folder.glob("qrels/*.tsv")) or ["test"]
    rows = [_check_split(key, split, name) for split in splits]
    # Of a folder that no split could be read with, the rows above say why.
    with contextlib.suppress(InputError, ValueError):
        rows += [(key, "", "bad", defect) for defect in folder_defects(folder)]
    return rows


def _check_split(key, split, name, kind="retrieval"):
    try:
        dataset = load(name, split, kind)
    except InputError as error:
        status = "absent" if isinstance(error, sources.Absent) else "bad"
        return key, split, status, str(error)
    detail = [_counted(dataset.counts), getattr(dataset, "missing", "")]
    return key, split, "ok", "; ".join(filter(None, detail))


def overview():
    """Licences of the datasets, their splits, and which ones are on this machine."""
    return pd.DataFrame(
        {
            "dataset": card.key,
            "status": sources.status(card),
            "splits": ", ".join(card.splits),
            "licence": card.licence.name,
            "non_commercial": "yes" if card.licence.non_commercial else "no",
            "title": card.title,
        }
        for card in cards().values()
    )
