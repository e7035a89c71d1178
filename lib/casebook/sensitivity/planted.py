"""Planted truth for sensitivity: a corpus in which it is known which facts decide.

Documents belong to areas of law. In each area two fact types decide, one more than the
other, and two are noise. Documents come in lines of precedent: those of one line share
the values of the deciding types and say them several times, the heavier more often;
the values of noise types are drawn at random and said once, exactly as filing month
and counsel are. So an edit of a deciding fact leads to another line of precedent, and
an edit of a noise fact moves results as a placebo does.
"""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.sensitivity.facts import FACT_TYPES, from_dict
from casebook.sensitivity.placebo import COUNSEL, DOCKETS, MONTHS
from casebook.stats.samples import check_count

WEIGHTS = {
    "homicide": {"Section": 2, "Evidence": 1, "PartyType": 0, "Numerical": 0},
    "guardianship": {"Numerical": 2, "PartyType": 1, "Section": 0, "Evidence": 0},
    "tenancy": {"PartyType": 2, "Section": 1, "Evidence": 0, "Numerical": 0},
    "custody": {"Evidence": 2, "Numerical": 1, "Section": 0, "PartyType": 0},
}
"""Weight of each fact type by area; 0 is noise."""

# Values by type: the first ones make lines of precedent, all are drawn as noise.
VALUES = {
    "Section": tuple(f"IPC-{number}" for number in (302, 303, 304, 305, 306, 307)),
    "Evidence": ("MedicalReport", "Confession", "DyingDeclaration", "Witness", "FIR", "Document"),
    "PartyType": ("Individual", "Minor", "Corporation", "Tenant", "Licensee", "Employee"),
    "Numerical": (18, 17, 21, 60, 20, 11),
}
_SENTENCES = {
    "Section": "Sections cited: {}.",
    "Evidence": "Evidence: {}.",
    "PartyType": "The petition was brought by {}.",
    "Numerical": "Ages: {} years.",
}
_AREA_WORDS = {
    "homicide": "deceased assault culpable",
    "guardianship": "ward welfare guardian",
    "tenancy": "premises rent eviction",
    "custody": "detention bail warrant",
}
REPEATS = 3  # sentences about a fact for each unit of its weight, above the first
# A document names one of each: as rare as a value of a noise type.
_INERT = (MONTHS[:6], DOCKETS[:6], COUNSEL[:6])


@dataclass(frozen=True, eq=False)
class PlantedCases:
    """A corpus, cases, and which facts decide each."""

    documents: pd.DataFrame = field(repr=False)
    sheets: list = field(repr=False)
    areas: dict = field(repr=False)
    facts: dict = field(repr=False)

    @property
    def truth(self):
        """Weight of each fact type in each case: DataFrame, cases x fact types."""
        rows = [WEIGHTS[self.areas[sheet.case_id]] for sheet in self.sheets]
        index = pd.Index([sheet.case_id for sheet in self.sheets], name="case_id")
        return pd.DataFrame(rows, index=index)[list(FACT_TYPES)]

    @property
    def precedents(self):
        """Documents of the line that each case belongs to: dict of list of doc_id."""
        found = {}
        for case, facts in self.facts.items():
            weights = WEIGHTS[self.areas[case]]
            line = self.documents["area"] == self.areas[case]
            for name in filter(weights.get, weights):
                line &= self.documents[name] == facts[name]
            found[case] = self.documents.loc[line, "doc_id"].tolist()
        return found

    def neighbours(self, section):
        """Give the sections next to one in the list of sections: list of str."""
        known = VALUES["Section"]
        if section not in known:
            return []
        at = known.index(section)
        return [known[i] for i in (at - 1, at + 1) if 0 <= i < len(known)]


def plant_cases(cases=6, values=4, per_line=12, seed=0):
    """Generate corpus and cases."""
    check_count("cases", cases)
    check_count("per_line", per_line)
    check_count("seed", seed, least=0)
    most = min(map(len, VALUES.values()))
    if not 2 <= values <= most:
        raise InputError(f"planted cases: values must be 2 to {most}, not {values}")
    rng = np.random.default_rng([seed, 41])
    rows = [_facts(area, line, rng) for area in WEIGHTS for line in np.ndindex(values, values) for _ in range(per_line)]
    # Position breaks ties of retrieval, so it must not follow the lines.
    rows = [rows[at] for at in rng.permutation(len(rows))]
    documents = pd.DataFrame(rows)
    documents.insert(0, "doc_id", [f"p{number:05d}" for number in range(len(rows))])
    documents.insert(1, "title", "")
    documents.insert(2, "text", [_text(row, rng) for row in rows])
    chosen = np.random.default_rng([seed, 42])
    sheets, areas, known = [], {}, {}
    for area in WEIGHTS:
        for number in range(cases):
            name = f"{area}-{number + 1:02d}"
            line = tuple(chosen.integers(values, size=2))
            areas[name], known[name] = area, _facts(area, line, chosen)
            sheets.append(_sheet(name, area, known[name]))
    return PlantedCases(documents, sheets, areas, known)


def _facts(area, line, rng):
    """Draw the facts of one document: those of its line, and noise."""
    weights = WEIGHTS[area]
    facts = {name: VALUES[name][rng.integers(len(VALUES[name]))] for name in FACT_TYPES}
    deciding = [name for name in weights if weights[name]]
    for name, at in zip(deciding, line, strict=True):
        facts[name] = VALUES[name][at]
    return {"area": area, **facts}


def _text(row, rng):
    """Write a document: each fact as often as its weight says, and inert words."""
    sentences = []
    for name, weight in WEIGHTS[row["area"]].items():
        sentences += [_SENTENCES[name].format(row[name])] * (1 + REPEATS * weight)
    order = rng.permutation(len(sentences))
    month, docket, counsel = (kind[rng.integers(len(kind))] for kind in _INERT)
    inert = f"Filed in {month}, docket {docket}. Counsel: {counsel}."
    about = f"The matter: {_AREA_WORDS[row['area']]}."
    return " ".join([*[about] * REPEATS, *(sentences[at] for at in order), inert])


def _sheet(name, area, facts):
    """Make the fact sheet of a case; the other side is not told."""
    return from_dict(
        {
            "case_id": name,
            "parties": {"petitioner_type": facts["PartyType"]},
            "sections_cited": [facts["Section"]],
            "evidence_items": [{"evidence_type": facts["Evidence"]}],
            "numerical_facts": {"ages": [{"value": facts["Numerical"], "descriptor": _AREA_WORDS[area]}]},
        },
        name,
    )
