"""FIRE-2017 IRLeD, task 2: the precedents that a judgment cites."""

from casebook.datasets.beir import load_trec


def irled(card, files, split):
    """Read the precedents, the citing judgments and the true citations."""
    return load_trec(
        files["prior_cases.jsonl.xz"],
        files["current_cases.jsonl.xz"],
        files["irled-qrel.txt"],
        key=card.key,
        split=split,
        card=card,
        titles=False,  # the registry joins them, as for every dataset
    )
