"""The blocks of the page *Recipes*, each run on a small made file of its layout.

A new recipe is a heading with a block of Python on the page, and an entry of `RECIPES` here: the
files that it reads, and a check of what it wrote in the present folder.
"""

import json
import re

import pandas as pd
import pytest

from casebook.data import load
from casebook.data.convert import convert
from casebook.paths import ROOT

PAGE = ROOT / "book" / "recipes.md"
BLOCKS = re.compile(r"^#+ ([^\n]+)\n|^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
TEXTS = ["The rent is due.", 'No "pets".', "Keys, five."]
QUESTIONS = ["When is the rent due?", "May I have a dog?"]
JUDGED = [(0, 0), (1, 1)]  # question and document


def check_collection(folder):
    """Compare the three tables, converted, with the texts that the files were made of."""
    qrels = {"test": folder / "qrels.csv"}
    convert(folder / "made", folder / "corpus.csv", folder / "queries.csv", qrels)
    data = load(folder / "made", titles=False)
    texts = dict(zip(data.documents["doc_id"], data.documents["text"], strict=True))
    assert list(texts.values()) == TEXTS
    questions = dict(zip(data.queries["query_id"], data.queries["text"], strict=True))
    assert list(questions.values()) == QUESTIONS
    judged = {
        (questions[query], texts[document])
        for query, grades in data.qrels.items()
        for document, grade in grades.items()
        if grade == 1
    }
    assert judged == {(QUESTIONS[query], TEXTS[document]) for query, document in JUDGED}


def numbered(texts, line, first=1):
    """Lines of texts with their numbers."""
    return "".join(line.format(number, text) for number, text in enumerate(texts, first))


QRELS = "".join(f"{query + 1} 0 {document + 1} 1\n" for query, document in JUDGED)
SMART = ".I {0}\n.T\nheading\n.W\n{1}\n"


def squad():
    """SQuAD's file of one article."""
    asked = {document: [] for document in range(len(TEXTS))}
    for query, document in JUDGED:
        asked[document].append({"id": f"q{query}", "question": QUESTIONS[query]})
    paragraphs = [{"context": text, "qas": asked[n]} for n, text in enumerate(TEXTS)]
    return json.dumps({"data": [{"title": "Lease", "paragraphs": paragraphs}]})


def pairs():
    """Questions with passages, of which the last is relevant to none."""
    rows = [(QUESTIONS[query], TEXTS[document], 1) for query, document in JUDGED]
    rows.append((QUESTIONS[0], TEXTS[2], 0))
    return pd.DataFrame(rows, columns=["question", "passage", "label"]).to_csv(index=False)


def arrow(rows, *names):
    """Bytes of an Arrow stream, as `datasets` saves a table."""
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows])
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()


def saved_folders():
    """Folders that `datasets` saved, the documents in two files."""
    documents = [(f"d{n}", text) for n, text in enumerate(TEXTS)]
    queries = [(f"q{n}", text) for n, text in enumerate(QUESTIONS)]
    qrels = [(f"q{query}", f"d{document}", 1) for query, document in JUDGED]
    return {
        "corpus/data-00000-of-00002.arrow": arrow(documents[:2], "_id", "text"),
        "corpus/data-00001-of-00002.arrow": arrow(documents[2:], "_id", "text"),
        "queries/data-00000-of-00001.arrow": arrow(queries, "_id", "text"),
        "qrels/data-00000-of-00001.arrow": arrow(qrels, "query-id", "corpus-id", "score"),
    }


#: Heading of a recipe to the files that it reads, or a function that makes them, and a check.
RECIPES = {
    "MS MARCO": (
        {
            "collection.tsv": numbered(TEXTS, "{}\t{}\n"),
            "queries.dev.tsv": numbered(QUESTIONS, "{}\t{}\n"),
            "qrels.dev.tsv": QRELS.replace(" ", "\t"),
        },
        check_collection,
    ),
    "TREC folder": (
        {
            "docs/a.sgml": numbered(
                TEXTS[:2], "<DOC>\n<DOCNO> {} </DOCNO>\n<TEXT>\n{}\n</TEXT>\n</DOC>\n"
            ),
            "docs/b.sgml": f"<DOC>\n<DOCNO>3</DOCNO>\n<TEXT>{TEXTS[2]}</TEXT>\n</DOC>\n",
            "topics.txt": numbered(
                QUESTIONS, "<top>\n<num> Number: {}\n<title> {}\n\n<desc> Description:\nx\n</top>\n"
            ),
            "qrels.txt": QRELS,
        },
        check_collection,
    ),
    "Hugging Face `datasets`": (saved_folders, check_collection),
    "SQuAD": ({"squad.json": squad()}, check_collection),
    "SMART": (
        {
            "docs.smart": numbered(TEXTS, SMART),
            "queries.smart": numbered(QUESTIONS, SMART),
            "qrels.smart": QRELS.replace(" 0 ", " "),
        },
        check_collection,
    ),
    "A table of questions with passages": ({"pairs.csv": pairs()}, check_collection),
}


def recipes():
    """The common first block, and the blocks of each heading."""
    heading = None
    blocks = {}
    for title, code in BLOCKS.findall(PAGE.read_text(encoding="utf-8")):
        if title:
            heading = title
        else:
            blocks.setdefault(heading, []).append(code)
    return "".join(blocks.pop("Recipes")), {name: "".join(code) for name, code in blocks.items()}


def test_every_recipe_of_the_page_has_its_files_here():
    _, blocks = recipes()
    assert blocks.keys() == RECIPES.keys()


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_gives_what_the_command_reads(tmp_path, monkeypatch, name):
    files, check = RECIPES[name]
    for file, content in (files() if callable(files) else files).items():
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    monkeypatch.chdir(tmp_path)
    first, blocks = recipes()
    exec(compile(first + blocks[name], name, "exec"), {})
    check(tmp_path)
