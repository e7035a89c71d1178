"""The recipes of the book: each is run on a small file of the layout that it names."""

import json
import re
from pathlib import Path

import pytest
from serving import _Quiet, answering, response

from casebook.assistant.application import reply_columns
from casebook.assistant.log import read_log
from casebook.paths import ROOT
from casebook.raters.annotations import read_criteria

PAGE = (ROOT / "book" / "recipes.md").read_text(encoding="utf-8")
CODE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
(SETUP,) = CODE.findall(PAGE.partition("\n### ")[0])
RECIPES = {}
for section in PAGE.split("\n### ")[1:]:
    (RECIPES[section.partition("\n")[0]],) = CODE.findall(section)
# Records as each tool writes them: EvalLog of log format 2; the body of upload-experiment; the
# output item of OpenAI's API reference; TestRun and EvaluationResult of DeepEval 4;
# get_spans_dataframe of Phoenix's client 3; get_records_and_feedback of TruLens 2.
RECORDS = json.loads(Path(__file__).with_name("recipes.json").read_text(encoding="utf-8"))

# Two criteria, three raters, and an item that one of them left out.
QUALITY = {"ann": {"7": 4, "8": 2}, "bob": {"7": 5, "8": 2}, "cy": {"7": 4}}
TONE = {"ann": {"7": "warm"}, "bob": {"7": "cold"}}
RATINGS = {"quality": QUALITY, "tone": TONE}


def judgements():
    """Rater, item, criterion and rating of each."""
    for criterion, by_rater in RATINGS.items():
        for rater, by_item in by_rater.items():
            for item, rating in by_item.items():
                yield rater, item, criterion, rating


def written(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".jsonl":
        content = "".join(json.dumps(record) + "\n" for record in content)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def label_studio(folder):
    """Label Studio 1.x: tasks with annotations, one of which was cancelled."""
    tasks = []
    for item in ("7", "8"):
        annotations = [{"completed_by": {"email": "cy"}, "was_cancelled": True, "result": []}]
        for rater, of, criterion, rating in judgements():
            is_number = criterion == "quality"
            value = {"rating": rating} if is_number else {"choices": [rating]}
            mark = {"from_name": criterion, "to_name": "text", "value": value}
            made = {"completed_by": {"email": rater}, "was_cancelled": False, "result": [mark]}
            annotations += [made] * (of == item)
        tasks.append({"id": int(item), "data": {"text": "A text."}, "annotations": annotations})
    written(folder / "tasks.json", tasks)


def argilla(folder):
    """``records.to_json()`` of Argilla 2.8."""
    records = []
    for item in ("7", "8"):
        responses = {"quality": [], "tone": []}
        for rater, of, criterion, rating in judgements():
            answer = {"value": rating, "user_id": rater}
            responses[criterion] += [answer] * (of == item)
        records.append({"id": item, "fields": {"text": "A text."}, "responses": responses})
    written(folder / "records.json", records)


def potato(folder):
    """``user_state.json`` of potato 2.12."""
    for rater in QUALITY:
        labels = {}
        for by, item, criterion, rating in judgements():
            if by == rater:
                pair = [{"schema": criterion, "name": "slider"}, str(rating)]
                labels.setdefault(item, []).append(pair)
        state = {"user_id": rater, "instance_id_to_label_to_value": labels}
        written(folder / "annotation_output" / rater / "user_state.json", state)


def potato_1(folder):
    """Folders of raters as potato 1.2 leaves them."""
    for rater in QUALITY:
        labels = {}
        for by, item, criterion, rating in judgements():
            if by == rater:
                name = f"scale_{rating}" if criterion == "quality" else rating
                labels.setdefault(item, {})[criterion] = {name: str(rating)}
        records = [{"id": item, "label_annotations": each} for item, each in labels.items()]
        written(folder / "annotation_output" / rater / "annotated_instances.jsonl", records)


def doccano(folder):
    """JSONL of doccano 1.8, a file a member; labels are lists."""
    for rater, by_item in QUALITY.items():
        records = [
            {"id": int(item), "text": "A text.", "label": [str(rating)]}
            for item, rating in by_item.items()
        ]
        written(folder / "doccano" / f"{rater}.jsonl", records)


RATING_TOOLS = {
    "Label Studio": (label_studio, RATINGS),
    "Argilla": (argilla, RATINGS),
    "potato": (potato, RATINGS),
    "potato 1": (potato_1, RATINGS),
    "doccano": (doccano, {"rating": QUALITY}),
}


def run(title, **replaced):
    """Run a recipe in the present folder, and give the names that it binds."""
    values = {}
    code = RECIPES[title]
    for old, new in replaced.items():
        code = code.replace(old, new)
    exec(SETUP + code, values)
    return values


@pytest.mark.parametrize("title", RATING_TOOLS)
def test_ratings_of_a_tool_become_a_row_per_rating(tmp_path, monkeypatch, title):
    make, expected = RATING_TOOLS[title]
    make(tmp_path)
    monkeypatch.chdir(tmp_path)
    run(title)
    found = {}
    for criterion, frame in read_criteria("ratings.csv").items():
        frame = frame.sort_index()
        found[criterion] = {
            rater: column.dropna().to_dict() for rater, column in frame.sort_index(axis=1).items()
        }
    assert found == expected


# Title to the file, the id, the system and the scores that the log has.
LOGS = {
    "Inspect": ("inspect.json", "1, epoch 1", "openai/gpt-4o", {"match_score": 1}),
    "LangSmith": ("experiment.json", "e1", "gpt-4o", {}),
    "OpenAI Evals": ("items.json", "5", "gpt-4o-mini", {}),
    "DeepEval": ("test_run.json", None, "log", {"success": 1, "Faithfulness_score": 1}),
    "DeepEval results": ("result.json", None, "log", {"success": 0, "Faithfulness_score": 0.8}),
    "promptfoo": ("results.json", "0", "openai:gpt-4o, prompt 1", {"score": 1}),
    "LangChain": ("chain.jsonl", None, "log", {}),
    "Phoenix": ("spans.json", "t1", "gpt-4o", {"hallucination_score": 0}),
    "TruLens": ("records.json", "r1", "rag v1", {"Groundedness": 1, "Context Relevance": 0.7}),
    "Chat messages": ("chat.jsonl", None, "log", {}),
}


@pytest.mark.parametrize("title", LOGS)
def test_what_a_tool_writes_becomes_a_log(tmp_path, monkeypatch, title):
    file, name, system, scores = LOGS[title]
    written(tmp_path / file, RECORDS[title])
    monkeypatch.chdir(tmp_path)
    run(title)
    row = read_log("log.jsonl").iloc[0]
    assert row[["question", "answer", "contexts", "system"]].tolist() == [
        *("May I cancel?", "Yes.", ["You may cancel."], system)
    ]
    assert row["reference"] == (None if title in ("Phoenix", "TruLens") else "Yes, you may.")
    assert row["id"] == (name or "May I cancel?") and row["scores"] == scores


def test_epochs_of_inspect_are_rows_of_one_group(tmp_path, monkeypatch):
    written(tmp_path / "inspect.json", RECORDS["Inspect"])
    monkeypatch.chdir(tmp_path)
    run("Inspect")
    log = read_log("log.jsonl")
    assert log["id"].tolist() == ["1, epoch 1", "1, epoch 2"]
    assert log["group"].tolist() == ["1", "1"]


def test_an_application_behind_an_address():
    class Chain(_Quiet):
        def do_POST(self):  # noqa: N802
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
            documents = [{"page_content": "You may cancel.", "type": "Document"}]
            output = {"input": asked, "answer": f"{asked} Yes.", "context": documents}
            self.wfile.write(response({"output": output}))

    question = {"id": "q1", "question": "May I cancel?"}
    with answering(Chain) as address:
        ask = run("HTTP", **{"http://localhost:8000": address})["ask"]
        columns = reply_columns("ask", question, ask(question["question"]))
    assert columns == {"answer": "May I cancel? Yes.", "contexts": ["You may cancel."]}


def test_every_recipe_is_run():
    assert {*RECIPES} == {*RATING_TOOLS, *LOGS, "HTTP"}
