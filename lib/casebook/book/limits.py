"""What a chapter's data are, what may be done with them, and what to keep in mind."""

from casebook.book.markup import code
from casebook.data.cards import card_of, cards
from casebook.paths import data_folder
from casebook.runs.outputs import read_numbers


def limits(run, cell, parameters):
    """Write the section on the data of a chapter."""
    lines = []
    for card in _cards(run, cell, parameters):
        split = parameters.get("split") if card.key == parameters.get("dataset") else ""
        lines += _card_lines(card, split or card.default_split)
    named = parameters.get("dataset")
    own = data_folder(named) if isinstance(named, str) else None
    named = own[0] if own else named
    if own or (isinstance(named, str) and card_of(named) is None):
        lines += [f"No data card is known for {code(named)}: its limits are not known."]
    return ["## The data and their limits", "", *lines, ""] if lines else []


def _cards(run, cell, parameters):
    """Give the cards that parameters or numbers name, each once."""
    found = {}
    for value in parameters.values():
        for name in value if isinstance(value, list) else [value]:
            if isinstance(name, str) and name in cards():
                found[name] = cards()[name]
    for datasets in read_numbers(run, cell).values():
        for card in filter(None, map(card_of, datasets)):
            found[card.key] = card
    return found.values()


def _card_lines(card, split):
    use = ", non-commercial use only" if card.licence.non_commercial else ""
    lines = [
        f"[{card.title}](../../generated/cards/{card.key}.md): {_counts(card, split)}; {card.licence.name}{use}.",
        "",
    ]
    lines += [f"- {' '.join(caveat.split())}" for caveat in card.caveats]
    return [*lines, ""]


def _counts(card, split):
    held = card.splits.get(split)
    if held is None:
        return f"part {code(str(split))}"
    counts = {"documents": held.documents, "queries": held.queries, "judgements": held.judgements}
    shown = ", ".join(f"{number:,} {name}" for name, number in counts.items() if number)
    return f"split `{split}`: {shown}"
