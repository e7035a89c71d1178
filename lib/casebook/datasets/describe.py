"""Dataset cards as readers see them: Markdown and tables."""

import pandas as pd

from casebook.datasets import sources
from casebook.datasets.cards import cards


def licence_table():
    """Tabulate what each dataset may be used for."""
    rows = [
        {
            "dataset": key,
            "title": card.title,
            "licence": card.licence.name,
            "non_commercial": _yes_no(card.licence.non_commercial),
            "citation": _one_line(card.citation),
        }
        for key, card in cards().items()
    ]
    return pd.DataFrame(rows)


def overview():
    """Tabulate the datasets and say which ones are on this machine."""
    table = licence_table().drop(columns="citation")
    known = cards().values()
    table.insert(1, "status", [sources.status(card)[0] for card in known])
    table.insert(2, "splits", [", ".join(card.splits) for card in known])
    return table[[*table.columns.drop("title"), "title"]]


def as_markdown(card):
    """Write a card as Markdown."""
    lines = [f"# {card.title}", "", f"`{card.key}`: {_one_line(card.description)}", ""]
    lines += _licence_lines(card.licence)
    lines += [f"- Citation: {_one_line(card.citation)}", "", "## Splits", ""]
    lines += ["| split | documents | queries | judgements |"]
    lines += ["|---|---:|---:|---:|"]
    for name, split in card.splits.items():
        shown = f"{name} (default)" if name == card.default_split else name
        numbers = f"{split.documents:,} | {split.queries:,} | {split.judgements:,}"
        lines.append(f"| {shown} | {numbers} |")
    notes = {name: split.note for name, split in card.splits.items() if split.note}
    lines += ["", *(f"- `{name}`: {_one_line(note)}" for name, note in notes.items())]
    if card.files:
        lines += ["", "## Files", ""]
        for name, file in card.files.items():
            known = f"sha256 `{file.sha256}`" if file.sha256 else "known by its content"
            lines.append(f"- `{name}`: {known}")
        if card.fingerprint:
            lines.append(f"- content of whichever files: sha256 `{card.fingerprint}`")
        lines += ["", "Taken from, in this order: "]
        lines[-1] += ", ".join(str(source) for source in card.sources) + "."
    if card.caveats:
        lines += ["", "## Caveats", ""]
        lines += [f"- {_one_line(caveat)}" for caveat in card.caveats]
    return "\n".join(lines) + "\n"


def _licence_lines(licence):
    """Write the licence; that it forbids commercial use is said aloud."""
    yield f"- Licence: {licence.name}" + (f" ({licence.url})" if licence.url else "")
    yield f"- Non-commercial use only: {_yes_no(licence.non_commercial)}"
    if licence.notes:
        yield f"- About the licence: {_one_line(licence.notes)}"


def _yes_no(flag):
    return "yes" if flag else "no"


def _one_line(text):
    return " ".join(text.split())
