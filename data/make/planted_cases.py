"""Write the planted cases again: ``data/counterfactual/planted*``, at three sizes.

    python data/make/planted_cases.py

In each area of law two fact types decide, unequally, and two are noise. Documents come in lines of
precedent: those of one line share the values of the deciding types and state them several times,
the heavier more often; the values of noise types are drawn at random and stated once, exactly as
filing month and counsel are. So an edit of a deciding fact leads to another line of precedent, and
an edit of a noise fact moves results as a placebo does.
"""

import gzip
import json

import numpy as np
import pandas as pd

from casebook import paths
from casebook.readers import read_yaml
from casebook.sensitivity.cases import ANNOTATION_COLUMNS, PLANTED, CaseCollection, near_planted
from casebook.sensitivity.domain import FACT_TYPES
from casebook.sensitivity.edits import ALL_WORDS
from casebook.sensitivity.facts import from_dict

_PLANTED = read_yaml(paths.DATA / "make" / "planted_cases.yml")
AREA_WEIGHTS = _PLANTED["weights"]
PLANTED_VALUES = _PLANTED["values"]
SENTENCES_PER_WEIGHT = 3  # sentences about a fact for each unit of its weight, above the first


def plant_cases(cases=6, values=4, per_line=12, seed=0):
    documents = _planted_documents(values, per_line, np.random.default_rng([seed, 41]))
    rng = np.random.default_rng([seed, 42])
    sheets = []
    annotations = []
    for area in AREA_WEIGHTS:
        weights = pd.Series(AREA_WEIGHTS[area])[list(FACT_TYPES)]
        ranks = weights.rank(ascending=False)
        for number in range(1, cases + 1):
            name = f"{area}-{number:02d}"
            facts = _facts(area, rng.integers(values, size=2), rng)
            sheets.append(_sheet(name, facts))
            for kind, weight in weights.items():
                annotations.append((name, kind, weight > 0, ranks[kind]))
    annotations = pd.DataFrame(annotations, columns=ANNOTATION_COLUMNS)
    cases = sheets, annotations, {}, documents, near_planted
    return CaseCollection(PLANTED, "the planted collection", *cases)


def _planted_documents(values, per_line, rng):
    rows = []
    for area in AREA_WEIGHTS:
        for line in np.ndindex(values, values):
            rows += [_facts(area, line, rng) for _ in range(per_line)]
    # Position breaks ties of retrieval, so it must not follow the lines.
    rows = [rows[at] for at in rng.permutation(len(rows))]
    texts = [_text(row, rng) for row in rows]
    names = [f"p{number:05d}" for number in range(len(rows))]
    documents = pd.DataFrame({"doc_id": names, "title": "", "text": texts})
    return documents.join(pd.DataFrame(rows))


def _facts(area, line, rng):
    """Facts of one document: those of its line, and noise."""
    facts = {"area": area}
    for name in FACT_TYPES:
        choices = PLANTED_VALUES[name]
        facts[name] = choices[rng.integers(len(choices))]
    decisive = [name for name, weight in AREA_WEIGHTS[area].items() if weight]
    for name, position in zip(decisive, line, strict=True):
        facts[name] = PLANTED_VALUES[name][position]
    return facts


def _text(row, rng):
    """A document: each fact as often as its weight says, and inert words."""
    sentences = []
    for name, weight in AREA_WEIGHTS[row["area"]].items():
        sentence = _PLANTED["sentences"][name].format(row[name])
        sentences += [sentence] * (1 + SENTENCES_PER_WEIGHT * weight)
    order = rng.permutation(len(sentences))
    # A document names one of each kind: as rare as a value of a noise type.
    month, docket, counsel = (kind[rng.integers(6)] for kind in ALL_WORDS[:3])
    about = [f"The matter: {_PLANTED['subjects'][row['area']]}."] * SENTENCES_PER_WEIGHT
    inert = f"Filed in {month}, docket {docket}. Counsel: {counsel}."
    return " ".join([*about, *(sentences[at] for at in order), inert])


def _sheet(name, facts):
    ages = [{"value": facts["Numerical"], "descriptor": _PLANTED["subjects"][facts["area"]]}]
    record = {
        "case_id": name,
        "parties": {"petitioner_type": facts["PartyType"]},
        "sections_cited": [facts["Section"]],
        "evidence_items": [{"evidence_type": facts["Evidence"]}],
        "numerical_facts": {"ages": ages},
    }
    return from_dict(record, name)


def write_planted(name, **sizes):
    collection = plant_cases(**sizes)
    folder = paths.DATA / "counterfactual" / name
    folder.mkdir(exist_ok=True)
    annotations = collection.annotations.set_index(["case_id", "fact_type"])
    lines = []
    for sheet in collection.sheets:
        told = annotations.loc[sheet.case_id]
        decides = told["dispositive"].astype(bool)
        record = {"case_id": sheet.case_id}
        record["fact_sheet"] = sheet.model_dump(exclude={"case_id"}, exclude_defaults=True)
        record["dispositive_facts"] = told.index[decides].tolist()
        record["non_dispositive_facts"] = told.index[~decides].tolist()
        record["expert_importance_ranking"] = told["importance"].to_dict()
        lines.append(json.dumps(record))
    (folder / "cases.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    texts = collection.documents[["doc_id", "text"]].rename(columns={"doc_id": "_id"})
    content = texts.to_json(orient="records", lines=True).encode()
    (folder / "corpus.jsonl.gz").write_bytes(gzip.compress(content, mtime=0))


if __name__ == "__main__":
    write_planted("planted")
    write_planted("planted_medium", cases=3, per_line=8)
    write_planted("planted_small", cases=2, values=3)
