"""The structure of acts, numbers only, out of statute files that others publish."""

import re
from pathlib import Path

from casebook.counterfactual.adjacency import section_key
from casebook.errors import InputError
from casebook.readers import read_json

ACTS = {
    "IPC-": "ipc.json",
    "CrPC-": "crpc.json",
    "CPC-": "cpc.json",
    "IEA-": "iea.json",
    "NIA-": "nia.json",
    "HMA-": "hma.json",
    "IDA-": "ida.json",
    "MVA-": "MVA.json",
}
_CSV_ROW = re.compile(r"(\d+),(\d+[A-Z]*),")
_NUMBER = re.compile(r"\d{1,3}[A-Z]{0,3}")

# Parts of the Constitution of India and the articles in them, first and last of each.
CONSTITUTION = {
    "1": (1, 4),
    "2": (5, 11),
    "3": (12, 35),
    "4": (36, 51),
    "5": (52, 151),
    "6": (152, 237),
    "8": (239, 242),
    "11": (245, 263),
    "12": (264, 300),
    "13": (301, 307),
    "14": (308, 323),
    "15": (324, 329),
    "16": (330, 342),
    "17": (343, 351),
    "18": (352, 360),
    "19": (361, 367),
}


def structure_from_folder(folder):
    """Read chapters and section numbers of Indian acts."""
    return {prefix: _chapters(Path(folder) / name) for prefix, name in ACTS.items()}


def structure_from_subsections(records, prefix):
    """Read parts and section numbers of one act from records of its subsections."""
    chapters = {}
    for record in records:
        chapters.setdefault(record["part"], []).append(record["section"])
    return {prefix: _ordered(chapters)}


def constitution_structure():
    """Give the articles of the Constitution of India by part."""
    parts = {part: [str(number) for number in range(first, last + 1)] for part, (first, last) in CONSTITUTION.items()}
    return {"Constitution-Article-": parts}


def _chapters(path):
    chapters = {}
    for row in read_json(path):
        chapter, number = _place(row)
        if number:
            chapters.setdefault(chapter, []).append(number)
    if not chapters:
        raise InputError(f"{path}: holds no sections")
    return _ordered(chapters)


def _place(row):
    """Give chapter and number of a row; some files keep a CSV line in one cell."""
    if len(row) == 1:
        match = _CSV_ROW.match(next(iter(row.values())) or "")
        return match.groups() if match else ("", "")
    number = str(row.get("section", row.get("Section", ""))).strip(" .")
    valid = _NUMBER.fullmatch(number)
    return str(row.get("chapter", "")), number if valid else ""


def _ordered(chapters):
    return {
        chapter: sorted(dict.fromkeys(numbers), key=section_key)
        for chapter, numbers in sorted(chapters.items(), key=lambda c: section_key(c[0]))
    }
