"""The blocks of the page *Recipes*, each run on a small made file of its layout.

A new recipe is a heading with a block of Python on the page, and an entry of `RECIPES` here: the
files that it reads, and a check of what it wrote in the present folder.
"""

import json
import re
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from serving import _Quiet, answering, response

from casebook.assistant.application import reply_columns
from casebook.assistant.log import read_log
from casebook.data import load
from casebook.data.convert import convert
from casebook.paths import ROOT
from casebook.raters.annotations import read_criteria

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


# Ratings: two criteria, three raters, and an item that one of them left out.
QUALITY = {"ann": {"7": 4, "8": 2}, "bob": {"7": 5, "8": 2}, "cy": {"7": 4}}
TONE = {"ann": {"7": "warm"}, "bob": {"7": "cold"}}


def judgements():
    """Rater, item, criterion and rating of each."""
    for criterion, by_rater in {"quality": QUALITY, "tone": TONE}.items():
        for rater, by_item in by_rater.items():
            for item, rating in by_item.items():
                yield rater, item, criterion, rating


def check_ratings(_, criteria=("quality", "tone")):
    """Compare the row per rating with the ratings that the files were made of."""
    found = {}
    for criterion, frame in read_criteria("ratings.csv").items():
        by_rater = frame.sort_index().sort_index(axis=1)
        found[criterion] = {rater: cells.dropna().to_dict() for rater, cells in by_rater.items()}
    assert found == dict(zip(criteria, (QUALITY, TONE), strict=False))


def json_lines(records):
    return "".join(json.dumps(record) + "\n" for record in records)


def label_studio():
    """Label Studio 1.x: tasks with annotations, one of which was cancelled."""
    tasks = []
    for item in ("7", "8"):
        annotations = [{"completed_by": {"email": "cy"}, "was_cancelled": True, "result": []}]
        for rater, of, criterion, rating in judgements():
            value = {"rating": rating} if criterion == "quality" else {"choices": [rating]}
            mark = {"from_name": criterion, "to_name": "text", "value": value}
            made = {"completed_by": {"email": rater}, "was_cancelled": False, "result": [mark]}
            annotations += [made] * (of == item)
        tasks.append({"id": int(item), "data": {"text": "A text."}, "annotations": annotations})
    return {"tasks.json": json.dumps(tasks)}


def argilla():
    """``records.to_json()`` of Argilla 2.8."""
    records = []
    for item in ("7", "8"):
        responses = {"quality": [], "tone": []}
        for rater, of, criterion, rating in judgements():
            answer = {"value": rating, "user_id": rater}
            responses[criterion] += [answer] * (of == item)
        records.append({"id": item, "fields": {"text": "A text."}, "responses": responses})
    return {"records.json": json.dumps(records)}


def potato():
    """``user_state.json`` of potato 2.12."""
    files = {}
    for rater in QUALITY:
        labels = {}
        for by, item, criterion, rating in judgements():
            if by == rater:
                pair = [{"schema": criterion, "name": "slider"}, str(rating)]
                labels.setdefault(item, []).append(pair)
        state = {"user_id": rater, "instance_id_to_label_to_value": labels}
        files[f"annotation_output/{rater}/user_state.json"] = json.dumps(state)
    return files


def potato_1():
    """Folders of raters as potato 1.2 leaves them."""
    files = {}
    for rater in QUALITY:
        labels = {}
        for by, item, criterion, rating in judgements():
            if by == rater:
                name = f"scale_{rating}" if criterion == "quality" else rating
                labels.setdefault(item, {})[criterion] = {name: str(rating)}
        records = [{"id": item, "label_annotations": each} for item, each in labels.items()]
        files[f"annotation_output/{rater}/annotated_instances.jsonl"] = json_lines(records)
    return files


def doccano():
    """JSONL of doccano 1.8, a file a member; labels are lists."""
    files = {}
    for rater, by_item in QUALITY.items():
        records = [
            {"id": int(item), "text": "A text.", "label": [str(rating)]}
            for item, rating in by_item.items()
        ]
        files[f"doccano/{rater}.jsonl"] = json_lines(records)
    return files


# Records as tools write them: EvalLog of log format 2; the body of upload-experiment; the output
# item of OpenAI's API reference; TestRun and EvaluationResult of DeepEval 4; get_spans_dataframe of
# Phoenix's client 3; get_records_and_feedback of TruLens 2.
EXPORTS = json.loads(Path(__file__).with_name("recipes.json").read_text(encoding="utf-8"))


def export(title, file):
    """The file that a tool writes."""
    content = EXPORTS[title]
    return {file: json_lines(content) if file.endswith(".jsonl") else json.dumps(content)}


def check_log(_, system, name="May I cancel?", reference="Yes, you may.", **scores):
    """Compare the log with what the records say."""
    row = read_log("log.jsonl").iloc[0]
    assert row[["question", "answer", "contexts"]].tolist() == [
        *("May I cancel?", "Yes.", ["You may cancel."])
    ]
    assert (row["id"], row["system"], row["reference"]) == (name, system, reference)
    assert row["scores"] == scores


def check_epochs(folder):
    """Epochs are rows of one group."""
    log = read_log("log.jsonl")
    assert log["id"].tolist() == ["1, epoch 1", "1, epoch 2"]
    assert log["group"].tolist() == ["1", "1"]
    check_log(folder, "openai/gpt-4o", "1, epoch 1", match_score=1)


LOGS = {
    "Inspect": ("inspect.json", check_epochs),
    "LangSmith": ("experiment.json", partial(check_log, system="gpt-4o", name="e1")),
    "OpenAI Evals": ("items.json", partial(check_log, system="gpt-4o-mini", name="5")),
    "DeepEval": (
        "test_run.json",
        partial(check_log, system="log", success=1, Faithfulness_score=1),
    ),
    "DeepEval results": (
        "result.json",
        partial(check_log, system="log", success=0, Faithfulness_score=0.8),
    ),
    "promptfoo": (
        "results.json",
        partial(check_log, system="openai:gpt-4o, prompt 1", name="0", score=1),
    ),
    "LangChain": ("chain.jsonl", partial(check_log, system="log")),
    "Phoenix": (
        "spans.json",
        partial(check_log, system="gpt-4o", name="t1", reference=None, hallucination_score=0),
    ),
    "TruLens": (
        "records.json",
        partial(
            check_log,
            system="rag v1",
            name="r1",
            reference=None,
            **{"Groundedness": 1, "Context Relevance": 0.7},
        ),
    ),
    "Chat messages": ("chat.jsonl", partial(check_log, system="log")),
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
    "Label Studio": (label_studio, check_ratings),
    "Argilla": (argilla, check_ratings),
    "potato": (potato, check_ratings),
    "potato 1": (potato_1, check_ratings),
    "doccano": (doccano, partial(check_ratings, criteria=["rating"])),
    **{title: (partial(export, title, file), check) for title, (file, check) in LOGS.items()},
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
    assert blocks.keys() == {*RECIPES, "HTTP"}


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


def test_an_application_behind_an_address():
    class Chain(_Quiet):
        def do_POST(self):  # noqa: N802
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
            documents = [{"page_content": "You may cancel.", "type": "Document"}]
            output = {"input": asked, "answer": f"{asked} Yes.", "context": documents}
            self.wfile.write(response({"output": output}))

    first, blocks = recipes()
    question = {"id": "q1", "question": "May I cancel?"}
    names = {}
    with answering(Chain) as address:
        exec(first + blocks["HTTP"].replace("http://localhost:8000", address), names)
        columns = reply_columns("ask", question, names["ask"](question["question"]))
    assert columns == {"answer": "May I cancel? Yes.", "contexts": ["You may cancel."]}
