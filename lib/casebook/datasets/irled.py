"""FIRE-2017 IRLeD, task 2: the precedents that a judgment cites."""

from casebook.datasets.beir import load_trec


def irled(card, files, split):
    """Read the precedents, the citing judgments and the true citations.

    Parameters
    ----------
    card : Card
        Card of the dataset.
    files : dict of pathlib.Path
        Verified files by name.
    split : str
        ``all``; the task's participants had no other.

    Returns
    -------
    RetrievalDataset
        2,000 precedents; the text of a query is the whole citing judgment, in which
        each citation is replaced by ``[?CITATION?]``.

    References
    ----------
    Mandal et al. (2017), Overview of the FIRE 2017 IRLeD track, CEUR-WS 2036.
    """
    return load_trec(
        files["prior_cases.jsonl.xz"],
        files["current_cases.jsonl.xz"],
        files["irled-qrel.txt"],
        key=card.key,
        split=split,
        card=card,
        titles=False,  # the registry joins them, as for every dataset
    )
