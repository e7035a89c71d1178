"""Conversion of tables to the folder that every chapter reads.

The folder is that of BEIR: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/SPLIT.tsv``.
"""

import json
from pathlib import Path

from casebook.data.rankings import read_rankings
from casebook.data.tables import cell_text, listed, read_roles, read_table, refusal
from casebook.errors import InputError
from casebook.files import new_folder
from casebook.paths import valid_name
from casebook.readers import parse_json

# Names that readers of the folder use, which no further column may have.
RESERVED = ["_id", "doc_id", "query_id", "title", "text", "metadata"]


def convert(out, corpus, queries=None, qrels=None, *, columns=None):
    """Write tables of documents, questions and judgements, by split, as a folder; give readings.

    `columns` names columns by table and role, ``{"corpus.text": "body"}``. Readings are by part,
    such as ``qrels test``.
    """
    if qrels and queries is None:
        raise InputError(f"{out}: judgements without questions: name them: --queries FILE")
    by_part = {"corpus": {}, "queries": {}, "qrels": {}}
    for key, name in (columns or {}).items():
        part, _, role = key.partition(".")
        if part not in by_part:
            raise InputError(f"--columns: {key!r} is no corpus.ROLE, queries.ROLE or qrels.ROLE")
        by_part[part][role] = name
    readings = {}
    lines = {}
    for part, path in {"corpus": corpus, "queries": queries}.items():
        if path is not None:
            lines[f"{part}.jsonl"], readings[part] = _texts(part, path, by_part[part])
    for split, path in (qrels or {}).items():
        rankings, reading = read_rankings(path, "qrels", by_part["qrels"], prefix="qrels.")
        judged = ["query-id\tcorpus-id\tscore"]
        for query, grades in rankings.items():
            judged += [f"{query}\t{document}\t{grade}" for document, grade in grades.items()]
        lines[f"qrels/{valid_name(split, 'split')}.tsv"] = judged
        if reading is not None:  # as it is of TREC's own text
            readings[f"qrels {split}"] = reading
    with new_folder(Path(out), "name a new folder") as folder:
        for name, texts in lines.items():
            (folder / name).parent.mkdir(exist_ok=True)
            text = "".join(f"{line}\n" for line in texts)
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return readings


def _texts(part, path, columns):
    """Documents or questions as lines of JSON with further columns, and what was read."""
    table = read_table(path, parse=parse_json)  # numbers of further columns stay numbers
    reading = read_roles(table, part, ["id", "text"], columns, prefix=f"{part}.")
    for role in reading.columns:
        reading.texts(role, may_be_empty=role != "id")
    reading.refuse_repeats("id")
    further = [name for name in reading.unread if name not in (*RESERVED, *reading.table)]
    reading.unread = [name for name in reading.unread if name not in further]
    rows = reading.table.rename(columns={"id": "_id"}).join(table[further])
    rows = rows[(reading.cells("title") + reading.cells("text")).str.strip() != ""]
    if rows.empty:
        raise refusal(path, "has no row with a text")
    lines = []
    for record in rows.to_dict("records"):
        filled = {name: cell for name, cell in record.items() if cell_text(cell) != ""}
        lines.append(json.dumps({"text": ""} | filled, ensure_ascii=False, default=str))
    reading.notes.append(f"{len(rows)} of {len(table)} rows have a text and are taken")
    if further:
        reading.notes.append(f"kept beside the texts: {listed(further)}")
    return lines, reading
