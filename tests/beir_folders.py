"""Small collections in the layout of BEIR."""

import json


def json_lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def write_beir(folder, documents, queries, judged):
    """Write a folder; ``judged`` holds rows of question, document and grade, by split."""
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    (folder / "corpus.jsonl").write_text(json_lines(documents))
    (folder / "queries.jsonl").write_text(json_lines(queries))
    for split, rows in judged.items():
        lines = [("query-id", "corpus-id", "score"), *rows]
        text = "".join("\t".join(map(str, line)) + "\n" for line in lines)
        (folder / "qrels" / f"{split}.tsv").write_text(text)
    return folder
