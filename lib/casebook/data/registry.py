"""Datasets by name: load, list, pull, check and describe them."""

import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd

from casebook import paths
from casebook.data import claims, folders, sets, sources
from casebook.data.cards import cards
from casebook.data.defects import folder_defects
from casebook.data.folders import MAX_MISSING, with_titles
from casebook.data.splits import RetrievalDataset
from casebook.errors import InputError
from casebook.plugins import callable_plugin, called, is_plugin
from casebook.readers import did_you_mean


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
    kind : {"retrieval", "claims", "annotations", "ratings", "votes"}
        What the caller can work with.
    titles : bool
        Whether the text of a document begins with its title (retrieval only).
    max_missing : float
        For a folder: largest share of judgements, 0 to 1, that may name a document or
        query that it lacks, see `casebook.data.folders.load_beir`.

    Returns
    -------
    RetrievalDataset, StudySet or ClaimSet
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
        return _load_folder(key, folder, split or "test", titles, max_missing)
    dataset = _load_plugin(name, split) if is_plugin(name) else _load_card(name, split, kind)
    if titles and isinstance(dataset, RetrievalDataset):
        return replace(dataset, documents=with_titles(dataset.documents))
    return dataset


def _load_card(name, split, kind):
    card, split_in_name = resolve(name)
    if card.kind != kind:
        keys = ", ".join(key for key, candidate in cards().items() if candidate.kind == kind)
        raise InputError(
            f"dataset {card.key!r} holds {card.kind} data, not {kind} data: choose from {keys}"
        )
    if split_in_name and split not in (None, split_in_name):
        raise InputError(f"dataset {name!r} names split {split_in_name!r}, not {split!r}")
    split = split_in_name or split or card.default_split
    if split not in card.splits:
        raise InputError(f"{card.key} has no split {split!r}: it has {', '.join(card.splits)}")
    return read_split(card, sources.present(card), split)


def _load_folder(key, folder, split, titles, max_missing):
    folders.check_folder(folder)
    if isinstance(titles, str) or not 0 <= max_missing <= 1:
        raise InputError("titles is true or false, max_missing a share from 0 to 1")
    split = paths.valid_name(split, "split")
    if (folder / "policies").is_dir():
        if split != "test":
            raise InputError(
                f"{folder}: the Mini-Insurance layout has the split 'test' only, not {split!r}"
            )
        return folders.read_mini_insurance(folder, key=key)
    return folders.load_beir(folder, split, key=key, titles=titles, max_missing=max_missing)


def _load_plugin(name, split):
    function = callable_plugin(name, "() -> RetrievalDataset")
    dataset = called(name, function, split) if split else called(name, function)
    if not isinstance(dataset, RetrievalDataset):
        raise InputError(
            f"{name}: expected a casebook.data.splits.RetrievalDataset, "
            f"found {type(dataset).__name__}"
        )
    paths.valid_name(dataset.key, "dataset")
    return dataset


def read_split(card, files, split):
    """Run the card's loader on {name: path}, and compare counts and fingerprint with the card."""
    module = claims if card.kind == "claims" else sets
    loader = getattr(module, card.loader)
    dataset = loader(card, files, split)
    for name, count in dataset.counts.items():
        expected = getattr(card.splits[split], name)
        if count != expected:
            raise InputError(
                f"{card.key}, split {split}: expected {expected:,} {name}, found "
                f"{count:,}: the files are not the ones of the card"
            )
    if card.fingerprint not in (None, dataset.fingerprint):
        raise InputError(
            f"{card.key}: the content has the fingerprint {dataset.fingerprint}, not "
            f"{card.fingerprint}: these are not the votes, texts or ratings of the card"
        )
    return dataset


def list_datasets():
    """Name the datasets that have a card.

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
    all_cards = cards()
    if name not in all_cards and str(name).strip(".") and Path(str(name)).is_dir():
        raise InputError(f"dataset {name!r} is a folder here: write ./{name}")
    if name not in all_cards and Path(str(name)).is_file():
        folders.check_folder(name)
    paths.valid_name(name, "dataset")
    if name in all_cards:
        return all_cards[name], None
    for key, card in all_cards.items():
        split = name.removeprefix(f"{key}_")
        if split != name and split in card.splits:
            return card, split
    raise InputError(
        f"unknown dataset {name!r}{did_you_mean(name, all_cards)}; known are "
        f"{', '.join(all_cards)}; a folder is written ./{name}"
    )


def pull(names=None):
    """Fetch datasets (all by default) into the cache and list their files.

    Without names, what only an absent mirror has is left out and said; with names it is an error.
    """
    files = []
    problems = []
    for card in _chosen(names):
        try:
            if names is not None or sources.reachable(card):
                files += sources.pull(card).values()
            else:
                reason = f"in no public place, and {sources.MIRROR_VARIABLE} is not set"
                print(f"{card.key}: left out: {reason}", file=sys.stderr)
        except InputError as error:
            problems.append(str(error))
    if problems:
        raise InputError("; ".join(problems))
    return files


def _chosen(names):
    """Distinct cards of some names, or all."""
    if names is None:
        return list(cards().values())
    chosen = {}
    for name in names:
        card, _ = resolve(name)
        chosen[card.key] = card
    return list(chosen.values())


def check(names=None):
    """Verify hashes and counts of the datasets on this machine: a row per dataset and split.

    A folder of the user's own is read, and has a row for each of its `folder_defects`. ``status``
    is ``ok``, ``absent`` or ``bad``, ``detail`` says the counts or what is wrong.
    """
    rows = []
    if names is not None:
        for location in filter(None, map(paths.data_folder, names)):
            rows += _check_folder(*location)
        names = [name for name in names if paths.data_folder(name) is None]
    for card in _chosen(names):
        status, files_or_problem = sources.status(card)
        if status != "ok":
            rows.append((card.key, "", status, files_or_problem))
            continue
        for split in card.splits:
            try:
                dataset = read_split(card, files_or_problem, split)
            except InputError as error:
                rows.append((card.key, split, "bad", str(error)))
            else:
                counts = ", ".join(f"{n:,} {name}" for name, n in dataset.counts.items())
                rows.append((card.key, split, "ok", counts))
    return pd.DataFrame(rows, columns=["dataset", "split", "status", "detail"])


def _check_folder(key, folder):
    """Read every split of a folder, and look for defects: rows as those of `check`."""
    splits = sorted(path.stem for path in folder.glob("qrels/*.tsv")) or ["test"]
    rows = []
    for split in splits:
        try:
            dataset = _load_folder(key, folder, split, titles=True, max_missing=MAX_MISSING)
        except InputError as error:
            rows.append((key, split, "bad", str(error)))
        else:
            counts = ", ".join(f"{n:,} {name}" for name, n in dataset.counts.items())
            rows.append((key, split, "ok", "; ".join(filter(None, [counts, dataset.missing]))))
    try:
        defects = folder_defects(folder)
    except InputError:  # of a file that none of the splits could be read with
        return rows
    for defect in defects.itertuples():
        counts = f"{defect.check}: {defect.n:,} of {defect.of:,}"
        rows.append((key, defect.split, "bad", f"{counts}, such as {defect.examples}"))
    return rows


def overview():
    """Licences of the datasets, their splits, and which ones are on this machine."""
    return pd.DataFrame(
        {
            "dataset": card.key,
            "status": sources.status(card)[0],
            "splits": ", ".join(card.splits),
            "licence": card.licence.name,
            "non_commercial": "yes" if card.licence.non_commercial else "no",
            "title": card.title,
        }
        for card in cards().values()
    )
