"""Write a collection in the Mini-Insurance layout: ``python data/make/mini_insurance.py FOLDER
[DATASET]``.
"""

import sys
from pathlib import Path

from casebook.data import load
from casebook.files import write_json, write_text


def write(dataset, folder):
    """Write policies and queries; ``relevantDocId`` is the first policy with the best grade."""
    for row in dataset.documents.itertuples():
        write_text(Path(folder) / "policies" / f"{row.doc_id}.txt", row.text)
    rows = []
    for fields in dataset.queries.to_dict("records"):
        name = fields.pop("query_id")
        judged = dataset.qrels[name]
        rows.append({"id": name, "relevantDocId": max(judged, key=judged.get)} | fields)
    write_json(Path(folder) / "queries" / "queries.json", rows)


if __name__ == "__main__":
    write(load(*(sys.argv[2:] or ["insurance"])), sys.argv[1])
