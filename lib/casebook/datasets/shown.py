"""Which texts of a data set may stand in a report, by the licence on its card."""

# Licences that permit passing texts on; of data under a non-commercial one only what
# its authors wrote is shown, which is the questions or claims and not the documents.
_FREE = ("MIT", "Apache-2.0", "BSD-", "CC0-", "CC-BY-3", "CC-BY-4", "CC-BY-SA-")
_NON_COMMERCIAL = "CC-BY-NC"


def may_show(card):
    """Decide by the data card which texts a report may show."""
    spdx = (card.licence.spdx if card else None) or ""
    if spdx.startswith(_NON_COMMERCIAL):
        return frozenset({"items"})
    if spdx.startswith(_FREE) and not card.licence.non_commercial:
        return frozenset({"items", "documents"})
    return frozenset()
