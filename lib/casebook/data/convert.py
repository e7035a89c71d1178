"""Conversion of tables to the folder that every chapter reads.

The folder is that of BEIR: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/SPLIT.tsv``.
"""

from pathlib import Path

from casebook.data.rankings import read_rankings
from casebook.data.tables import read_roles, read_table, refusal
from casebook.files import new_folder
from casebook.paths import valid_name
from casebook.stats.samples import check_choice

PARTS = ("corpus", "queries", "qrels")


def convert(out, corpus, queries=None, qrels=None, *, columns=None):
    """Write tables of documents, questions and judgements, by split, as a folder; give readings.

    `columns` names columns by table and role, ``{"corpus.text": "body"}``. Readings are by part,
    such as ``qrels test``.
    """
    told = {part: {} for part in PARTS}
    for key, name in (columns or {}).items():
        part, _, role = key.partition(".")
        check_choice("part of --columns PART.ROLE=COLUMN", part, PARTS)
        told[part][role] = name
    readings = {}
    contents = {}
    for part, path in {"corpus": corpus, "queries": queries}.items():
        if path is not None:
            texts, readings[part] = _texts(part, path, told[part])
            contents[f"{part}.jsonl"] = texts.to_json(
                orient="records", lines=True, force_ascii=False
            )
    for split, path in (qrels or {}).items():
        name = f"qrels/{valid_name(split, 'split')}.tsv"
        rankings, reading = read_rankings(path, "qrels", told["qrels"], prefix="qrels.")
        lines = ["query-id\tcorpus-id\tscore\n"]
        for query, grades in rankings.items():
            lines += [f"{query}\t{document}\t{grade}\n" for document, grade in grades.items()]
        contents[name] = "".join(lines)
        if reading is not None:  # as it is of TREC's own text
            readings[f"qrels {split}"] = reading
    with new_folder(Path(out), "name a new folder") as folder:
        for name, text in contents.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return readings


# Documents or questions that have a text, and what was read.
def _texts(part, path, columns):
    reading = read_roles(read_table(path), part, ["id", "text"], columns, prefix=f"{part}.")
    for role in reading.columns:
        reading.texts(role, may_be_empty=role != "id")
    reading.refuse_repeats("id")
    texts = reading.cells("title") + reading.cells("text")
    rows = reading.table[texts.str.strip() != ""]
    if rows.empty:
        raise refusal(path, "has no row with a text")
    reading.notes.append(f"{len(rows)} of {len(texts)} rows have a text and are taken")
    return rows.rename(columns={"id": "_id"}), reading
