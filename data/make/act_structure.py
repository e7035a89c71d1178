"""Write ``lib/casebook/sensitivity/act_structure.json`` again.

It holds chapters and section numbers of acts, no text.

    CASEBOOK_DATA_MIRROR=/path python data/make/act_structure.py

Read are the statute files of the ``indian_acts`` and ``pdpabench`` collections; the parts of the Constitution of India
stand below. Codes and acts whose source gives no chapters have one chapter without a name.
"""

import json
import os
import re
from pathlib import Path

from casebook.sensitivity.domain import STRUCTURE

ACTS = {
    "IPC-": "ipc",
    "CrPC-": "crpc",
    "CPC-": "cpc",
    "IEA-": "iea",
    "NIA-": "nia",
    "HMA-": "hma",
    "IDA-": "ida",
}
ACTS |= {"MVA-": "MVA"}
# Parts of the Constitution of India and the articles in them, first and last of each.
CONSTITUTION = {
    **{
        "1": (1, 4),
        "2": (5, 11),
        "3": (12, 35),
        "4": (36, 51),
        "5": (52, 151),
        "6": (152, 237),
        "8": (239, 242),
    },
    **{
        "11": (245, 263),
        "12": (264, 300),
        "13": (301, 307),
        "14": (308, 323),
        "15": (324, 329),
        "16": (330, 342),
    },
    **{"17": (343, 351), "18": (352, 360), "19": (361, 367)},
}


def section_key(section):
    """Sort key under which section 9 comes before 10, and 304A after 304."""
    return tuple(int(part) if part.isdigit() else part for part in re.split(r"(\d+)", section))


def place(row):
    """Chapter and number of a row; some files keep a CSV line in one cell."""
    if len(row) == 1:
        match = re.match(r"(\d+),(\d+[A-Z]*),", next(iter(row.values())) or "")
        return match.groups() if match else ("", "")
    number = str(row.get("section", row.get("Section", ""))).strip(" .")
    return str(row.get("chapter", "")), number if re.fullmatch(r"\d{1,3}[A-Z]{0,3}", number) else ""


def ordered(places):
    """Sections by chapter, each in its order and once."""
    chapters = {}
    for chapter, number in places:
        if number:
            chapters.setdefault(chapter, []).append(number)
    return {
        c: sorted(dict.fromkeys(chapters[c]), key=section_key)
        for c in sorted(chapters, key=section_key)
    }


def structure(mirror):
    """Prefix of an act's sections -> chapter -> section numbers."""
    made = {
        prefix: ordered(
            map(
                place,
                json.loads((mirror / "indian_acts" / f"{name}.json").read_text(encoding="utf-8")),
            )
        )
        for prefix, name in ACTS.items()
    }
    lines = (
        (mirror / "pdpabench/corpus/corpus_subsection_v1.jsonl")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    records = map(json.loads, lines)
    made["PDPA-"] = ordered((record["part"], record["section"]) for record in records)
    parts = {
        part: [str(n) for n in range(first, last + 1)]
        for part, (first, last) in CONSTITUTION.items()
    }
    return made | {"Constitution-Article-": parts}


if __name__ == "__main__":
    made = structure(Path(os.environ["CASEBOOK_DATA_MIRROR"]))
    lines = ",\n".join(
        f"  {json.dumps(prefix)}: {json.dumps(chapters)}" for prefix, chapters in made.items()
    )
    STRUCTURE.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
