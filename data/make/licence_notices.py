"""Licence notices and the licences that they name, as a folder for every retrieval chapter.

They are the curated rules of ScanCode (nexB Inc. and others, CC BY 4.0)::

    pip download --no-deps licensedcode-data==32.1.0
    python data/make/licence_notices.py licensedcode_data-32.1.0-*.whl licence_notices

One licence is relevant to each notice; its near relatives are not, which is a little arbitrary.
"""

import re
import sys
import zipfile
from pathlib import Path

import pandas as pd

from casebook.data.splits import RetrievalDataset

# Fields that exclude a licence.
SPECIAL = ["is_deprecated", "is_exception", "is_generic", "is_unknown"]


def licence_notices(package):
    """ScanCode's licence notices and the licences that they name, out of the package."""
    licences = _package_files(package, "licenses", ".LICENSE").set_index("key", drop=False)
    is_plain = licences[SPECIAL].isna().all(axis=1)
    is_english = licences["language"].fillna("en") == "en"
    is_text = _n_words(licences) >= 20  # below it there is a pointer, no text
    licences = licences[is_plain & is_english & is_text]
    rules = _package_files(package, "rules", ".RULE")
    is_notice = (rules["is_license_notice"] == "yes") & rules["is_deprecated"].isna()
    is_known = rules["license_expression"].isin(licences.index)
    notices = rules[is_notice & is_known & _n_words(rules).between(12, 120)]
    queries = notices.groupby("license_expression").head(3)
    queries = queries.sort_values("license_expression", kind="stable", ignore_index=True)
    queries = queries[["file", "text", "license_expression"]]
    queries.columns = ["query_id", "text", "licence"]
    documents = licences[["key", "name", "text", "category"]].reset_index(drop=True)
    documents.columns = ["doc_id", "title", "text", "category"]
    groups = queries.set_index("query_id")["licence"].to_dict()
    qrels = {query: {licence: 1} for query, licence in groups.items()}
    about = {"groups": groups, "cluster": "licences"}
    return RetrievalDataset("licence_notices", "test", documents, queries, qrels, **about)


def _n_words(frame):
    return frame["text"].str.split().str.len()


# Fields and text of each file of one folder, in the order of their paths.
def _package_files(package, folder, suffix):
    rows = []
    with zipfile.ZipFile(package) as archive:
        for path in sorted(archive.namelist()):
            if path.startswith(f"licensedcode/data/{folder}/") and path.endswith(suffix):
                content = archive.read(path).decode("utf-8")
                _, head, text = re.split(r"^---[ \t]*\r?$", content, maxsplit=2, flags=re.MULTILINE)
                fields = re.findall(r"^(\w+): +(.+?)\s*$", head, flags=re.MULTILINE)
                row = {name: value.strip("'\"") for name, value in fields}
                rows.append(row | {"file": Path(path).stem, "text": text.strip()})
    return pd.DataFrame(rows)


def write(data, folder):
    """Write the documents, questions and judgements in the layout of BEIR."""
    (folder / "qrels").mkdir(parents=True)
    documents = data.documents.rename(columns={"doc_id": "_id"})
    queries = data.queries.rename(columns={"query_id": "_id", "licence": "group"})
    lines = {"orient": "records", "lines": True, "force_ascii": False}
    documents.to_json(folder / "corpus.jsonl", **lines)
    queries.to_json(folder / "queries.jsonl", **lines)
    rows = [(query, licence, 1) for query, grades in data.qrels.items() for licence in grades]
    qrels = pd.DataFrame(rows, columns=["query-id", "corpus-id", "score"])
    qrels.to_csv(folder / "qrels" / "test.tsv", sep="\t", index=False)


if __name__ == "__main__":
    write(licence_notices(sys.argv[1]), Path(sys.argv[2]))
