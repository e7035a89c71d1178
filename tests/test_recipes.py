"""The blocks of the page *Recipes*, each run on a small made file of its layout.

A new recipe is a heading with a block of Python on the page, the files that it reads in
`recipes.json`, and an entry of `RECIPES` here: a check of what it wrote in the present folder.
"""

import json
import re
import shlex
from argparse import ArgumentParser
from functools import partial
from pathlib import Path

import pytest
from serving import _Quiet, answering, response

from casebook.assistant.answer import reply_columns
from casebook.assistant.log import read_log
from casebook.data import load
from casebook.data.folders import convert
from casebook.data.scored import read_scores
from casebook.paths import ROOT
from casebook.raters.annotations import read_criteria
from casebook.retrieval.run_files import read_runs

PAGE = ROOT / "book" / "recipes.md"
BLOCKS = re.compile(
    r"^#+ ([^\n]+)\n|^```python\n(.*?)^```(?:\n\nThen `([^`]*)`)?", re.MULTILINE | re.DOTALL
)
TEXTS = ["The rent is due.", 'No "pets".', "Keys, five."]
QUESTIONS = ["When is the rent due?", "May I have a dog?"]
JUDGED = [(0, 0), (1, 1)]  # question and document


def check_collection(folder, _):
    """Compare the three tables, converted, with the texts that the files were made of."""
    qrels = {"test": next(folder.glob("qrels.[ct]*"))}  # .csv, or TREC's .txt
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


def check_run(*_):
    """Compare the run with that which the file was made of."""
    assert read_runs("run.csv")["run"] == {"1": {"d1": 2.5, "d2": 1.5}}


def check_scores(*_, columns=(), values=()):
    """Compare the scores with those that the files were made of."""
    scores, _ = read_scores("scores.csv", columns=dict(columns), values=dict(values))
    assert scores.values.sort_index(axis=1).to_dict() == {
        "A": {"1": 1, "2": 1},
        "B": {"1": 0, "2": 1},
    }


# Ratings: two criteria, three raters, and an item that one of them left out.
QUALITY = {"ann": {"7": 4, "8": 2}, "bob": {"7": 5, "8": 2}, "cy": {"7": 4}}
TONE = {"ann": {"7": "warm"}, "bob": {"7": "cold"}}


def check_ratings(_, said, criteria=("quality", "tone")):
    """Compare the row per rating with the ratings that the files were made of."""
    found = {}
    for criterion, frame in read_criteria("ratings.csv", columns=said.get("columns")).items():
        criterion = criterion.removeprefix("responses.")
        by_rater = frame.sort_index().sort_index(axis=1)
        found[criterion] = {rater: cells.dropna().to_dict() for rater, cells in by_rater.items()}
    assert found == dict(zip(criteria, (QUALITY, TONE), strict=False))


# Files as tools write them. Logs: EvalLog of log format 2; the body of upload-experiment; the output
# item of OpenAI's API reference; TestRun and EvaluationResult of DeepEval 4; get_spans_dataframe of
# Phoenix's client 3; get_records_and_feedback of TruLens 2. Ratings: Label Studio 1.x, one annotation
# of which was cancelled; records.to_json() of Argilla 2.8; potato 2.12; doccano 1.8.
FILES = json.loads(Path(__file__).with_name("recipes.json").read_text(encoding="utf-8"))


def content_of(file, content):
    """The bytes of a file: text, lines of JSON, an Arrow stream as `datasets` saves it, or JSON."""
    if file.endswith(".arrow"):
        return arrow(content)
    if file.endswith(".jsonl"):
        content = "".join(json.dumps(record) + "\n" for record in content)
    elif file.endswith(".json"):
        content = json.dumps(content)
    return content.encode()


def arrow(rows):
    """Bytes of an Arrow stream."""
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.Table.from_pylist(rows)
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()


def check_log(_, said, system, name="May I cancel?", path="log.jsonl", scores=None):
    """Compare the log with what the records say."""
    row = read_log(path, **said).iloc[0]
    assert row[["question", "answer"]].tolist() == ["May I cancel?", "Yes."]
    assert row["contexts"][0] == "You may cancel."
    assert (row["id"], row["system"], row["reference"]) == (name, system, "Yes, you may.")
    assert row["scores"] == (scores or {})


def check_epochs(folder, said):
    """Epochs are rows of one group."""
    log = read_log("log.jsonl", **said)
    assert log["id"].tolist() == ["1, epoch 1", "1, epoch 2"]
    assert log["group"].tolist() == ["1", "1"]
    scores = {"scores.match.value": 1}
    check_log(folder, said, "openai/gpt-4o", "1, epoch 1", scores=scores)


#: Heading of a recipe to the check of what it wrote.
RECIPES = {
    "MS MARCO": check_collection,
    "TREC folder": check_collection,
    "Hugging Face `datasets`": check_collection,
    "SQuAD": check_collection,
    "Mini-Insurance": check_collection,
    "FEVER": check_collection,
    "A table of questions with passages": check_collection,
    "PyTerrier": check_run,
    "Inspect scores": partial(check_scores, values={"C": "1", "I": "0"}),
    "lm-eval": partial(check_scores, columns={"score": "acc"}),
    "RAGAS": partial(check_scores, columns={"unit": "user_input", "score": "faithfulness"}),
    "Label Studio": check_ratings,
    "Argilla": check_ratings,
    "potato": check_ratings,
    "doccano": partial(check_ratings, criteria=["rating"]),
    "Inspect": check_epochs,
    "DeepEval with its measures": partial(
        check_log, system="log", scores={"Faithfulness_score": 1}
    ),
    "Phoenix spans": partial(
        check_log, system="gpt-4o", name="t1", scores={"eval.Hallucination.score": 0}
    ),
    "TruLens": partial(check_log, system="rag v1", name="r1", scores={"Groundedness": 1}),
}


#: Name of an export that options suffice for, to what its log has besides.
FLAT = "RAGAS, CSV; DeepEval, CSV; DeepEval, result; DeepEval, saved run; LangSmith, table"
FLAT += "; LangChain; Chat messages; Phoenix, questions and contexts"
BY_OPTIONS = {name: {"system": "a"} for name in FLAT.split("; ")}
BY_OPTIONS |= {
    "LangSmith, experiment": {"system": "a", "name": "e1"},
    "OpenAI Evals": {"system": "gpt-4o-mini", "name": "5"},
    "promptfoo": {"system": "openai:gpt-4o", "name": "0"},
}
OPTIONS = re.compile(r"^- \*\*(.*?)\*\*.*?: `(--.*)`$", re.MULTILINE)


def said(options):
    """What the options of a command say, for `read_log`."""
    parser = ArgumentParser()
    parser.add_argument("--columns", action="append", default=[])
    parser.add_argument("--values", action="append", default=[])
    parser.add_argument("--scores", action="append", default=[])
    parser.add_argument("--rows")
    parser.add_argument("--lists", default="json")
    found = vars(parser.parse_args(shlex.split(options)))
    for option in ("columns", "values"):
        found[option] = dict(pair.split("=", 1) for pair in found[option])
    return found


def test_the_options_of_the_page_suffice_for_each_export(tmp_path):
    options = dict(OPTIONS.findall(PAGE.read_text(encoding="utf-8")))
    assert options.keys() == BY_OPTIONS.keys()
    for name, expected in BY_OPTIONS.items():
        ((file, content),) = FILES[name].items()
        path = tmp_path / file
        path.write_bytes(content_of(file, content))
        check_log(None, said(options[name]), path=path, **expected)


def recipes():
    """The common first block, and the block of each heading with the options that follow it."""
    heading = None
    blocks = {}
    for title, code, options in BLOCKS.findall(PAGE.read_text(encoding="utf-8")):
        heading = title or heading
        if code:
            blocks[heading] = code, options
    first, _ = blocks.pop("Recipes")
    return first, blocks


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_gives_what_the_command_reads(tmp_path, monkeypatch, name):
    for file, content in FILES[name].items():
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content_of(file, content))
    monkeypatch.chdir(tmp_path)
    first, blocks = recipes()
    code, options = blocks[name]
    exec(compile(first + code, name, "exec"), {})
    RECIPES[name](tmp_path, said(options) if options else {})


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
        exec(first + blocks["HTTP"][0].replace("http://localhost:8000", address), names)
        columns = reply_columns("ask", names["ask"](question["question"]))
    assert columns == {"answer": "May I cancel? Yes.", "contexts": ["You may cancel."]}
