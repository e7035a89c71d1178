"""Logs as tools export them, and what is refused at the door."""

import gzip
import json
import tempfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from casebook.assistant.log import ALIASES, read_log
from casebook.errors import InputError

OURS = {"id": "q1", "question": "May I cancel?", "answer": "Yes.", "contexts": ["You may cancel."], "system": "a"}


def write(path, content):
    if path.suffix == ".jsonl":
        content = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in content)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


# Records as the tools write them. RAGAS: SingleTurnSample.to_dict; Inspect: EvalLog of log format 2;
# LangSmith: _flatten_experiment_results, the body of upload-experiment; OpenAI: the output item of its API reference.
RAGAS = {
    "user_input": "May I cancel?",
    "retrieved_contexts": ["You may cancel."],
    "response": "Yes.",
    "reference": "Yes, you may.",
}
RAGAS_OLD = {
    "question": "May I cancel?",
    "answer": "Yes.",
    "contexts": ["You may cancel."],
    "ground_truth": "Yes, you may.",
}
INSPECT = {
    "version": 2,
    "status": "success",
    "eval": {"model": "openai/gpt-4o", "task": "qa", "dataset": {"name": "mine"}},
    "samples": [
        {
            "id": 1,
            "epoch": epoch,
            "input": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "May I cancel?"}],
            "target": ["Yes, you may."],
            "messages": [],
            "metadata": {"contexts": ["You may cancel."]},
            "output": {"model": "gpt-4o", "choices": [{"message": {"role": "assistant", "content": "Yes."}}]},
            "scores": {"match": {"value": "C"}},
        }
        for epoch in (1, 2)
    ],
}
LANGSMITH = {
    "inputs.question": "May I cancel?",
    "outputs.answer": "Yes.",
    "outputs.contexts": ["You may cancel."],
    "error": None,
    "reference.answer": "Yes, you may.",
    "feedback.correct": 1,
    "execution_time": 0.5,
    "example_id": "e1",
    "id": "r1",
}
UPLOAD = {
    "experiment_name": "gpt-4o",
    "results": [
        {
            "row_id": "e1",
            "inputs": {"question": "May I cancel?"},
            "expected_outputs": {"answer": "Yes, you may."},
            "actual_outputs": {"answer": "Yes.", "contexts": ["You may cancel."]},
        }
    ],
}
OPENAI = {
    "object": "list",
    "data": [
        {
            "object": "eval.run.output_item",
            "id": "outputitem_1",
            "datasource_item_id": 5,
            "datasource_item": {
                "input": "May I cancel?",
                "ground_truth": "Yes, you may.",
                "contexts": ["You may cancel."],
            },
            "results": [{"name": "match", "passed": True, "score": 1.0}],
            "sample": {
                "input": [{"role": "user", "content": "May I cancel?"}],
                "output": [{"role": "assistant", "content": "Yes."}],
                "model": "gpt-4o-mini",
            },
        }
    ],
}
DEEPEVAL = {
    "input": "May I cancel?",
    "actual_output": "Yes.",
    "expected_output": "Yes, you may.",
    "retrieval_context": ["You may cancel."],
}


@pytest.mark.parametrize(
    ("name", "content", "system"),
    [
        ("ragas.jsonl", [RAGAS], "ragas"),
        ("ragas.json", [RAGAS], "ragas"),
        ("old.jsonl", [RAGAS_OLD], "old"),
        ("inspect.json", INSPECT, "openai/gpt-4o"),
        ("langsmith.jsonl", [LANGSMITH], "langsmith"),
        ("upload.json", UPLOAD, "gpt-4o"),
        ("openai.json", OPENAI, "gpt-4o-mini"),
        ("openai.jsonl", OPENAI["data"], "gpt-4o-mini"),
        ("deepeval.json", [DEEPEVAL], "deepeval"),
    ],
)
def test_exports_say_the_same(tmp_path, name, content, system):
    row = read_log(write(tmp_path / name, content)).iloc[0]
    assert row["question"] == "May I cancel?"
    assert row["answer"] == "Yes."
    assert row["contexts"] == ["You may cancel."]
    assert row["reference"] == "Yes, you may."
    assert row["system"] == system


def test_a_csv_of_ragas_holds_lists_as_python_wrote_them(tmp_path):
    pd.DataFrame([RAGAS]).to_csv(tmp_path / "ragas.csv", index=False)
    assert read_log(tmp_path / "ragas.csv")["contexts"][0] == ["You may cancel."]


def test_epochs_are_rows_of_one_group(tmp_path):
    log = read_log(write(tmp_path / "inspect.json", INSPECT))
    assert log["id"].tolist() == ["1", "1 (epoch 2)"]
    assert log["group"].tolist() == ["1", "1"]


def test_a_failed_run_has_an_empty_answer(tmp_path):
    failed = {"inputs.question": "May I?", "error": "TimeoutError()", "id": "r2"}
    log = read_log(write(tmp_path / "l.jsonl", [LANGSMITH, failed]))
    assert log["answer"].tolist() == ["Yes.", ""]


def test_two_files_are_two_systems(tmp_path):
    paths = [write(tmp_path / name, [RAGAS]) for name in ("old.jsonl", "new.jsonl")]
    log = read_log(paths)
    assert log["system"].tolist() == ["old", "new"]
    assert len(set(log["id"])) == 1
    assert not log.attrs["named"]


def test_contexts_are_objects_or_ids_of_a_collection(tmp_path):
    objects = [{"id": "d1", "page_content": "You may cancel."}]
    row = read_log(write(tmp_path / "a.jsonl", [OURS | {"contexts": objects}])).iloc[0]
    assert (row["contexts"], row["context_ids"]) == (["You may cancel."], ["d1"])
    write(tmp_path / "corpus.jsonl", [{"_id": "d1", "title": "", "text": "You may cancel."}])
    row = read_log(write(tmp_path / "b.jsonl", [OURS | {"contexts": ["d1"]}]), tmp_path).iloc[0]
    assert (row["contexts"], row["context_ids"]) == (["You may cancel."], ["d1"])
    with pytest.raises(InputError, match=r"c\.jsonl:1: context 'd9' is no id"):
        read_log(write(tmp_path / "c.jsonl", [OURS | {"contexts": ["d9"]}]), tmp_path)


def test_unicode_and_compression(tmp_path):
    path = tmp_path / "log.jsonl.gz"
    line = OURS | {"question": "Darf ich kündigen? 合同 🙂", "answer": "Ja\u2028gewiß."}
    path.write_bytes(gzip.compress(json.dumps(line, ensure_ascii=False).encode()))
    log = read_log(path)
    assert (log["question"][0], log["answer"][0]) == (line["question"], line["answer"])


def test_copies_are_left_out_and_listed(tmp_path):
    log = read_log(write(tmp_path / "a.jsonl", [OURS, OURS]))
    assert len(log) == 1
    assert len(log.attrs["copies"]) == 1
    assert log.attrs["copies"][0].endswith("a.jsonl:2, as in " + str(tmp_path / "a.jsonl:1"))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([OURS, {"question": "May I?"}], "a.jsonl:2: has no answer: name a field answer, response"),
        ([{"answer": "Yes."}], "a.jsonl:1: has no question: name a field question, user_input"),
        ([OURS | {"answer": None}], 'a.jsonl:1: has no answer: .* and write "" where none was given'),
        ([OURS | {"answer": 7}], "a.jsonl:1: field answer: Input should be a valid string"),
        ([OURS | {"contexts": [7]}], "a.jsonl:1: a context is no text"),
        ([OURS | {"context_ids": ["a", "b"]}], "a.jsonl:1: 1 contexts and 2 context ids"),
        ([OURS | {"abstained": "maybe"}], "a.jsonl:1: field abstained: Input should be a valid boolean"),
        ([OURS | {"seconds": -1}], "a.jsonl:1: field seconds: Input should be greater than or equal to 0"),
        ([OURS, OURS | {"answer": "No."}], "a.jsonl:2: a answered 'q1' otherwise in"),
        ([OURS, OURS | {"question": "Other?", "system": "b"}], "a.jsonl:2: question of id 'q1' differs"),
        ([OURS, json.dumps(OURS)[:-20]], "a.jsonl:2: is not JSON: the last line breaks off"),
    ],
)
def test_the_door(tmp_path, lines, message):
    with pytest.raises(InputError, match=message):
        read_log(write(tmp_path / "a.jsonl", lines))


def test_files_that_are_no_logs(tmp_path):
    for name, content, message in [
        ("a.json", "{}", "holds no answers"),
        ("b.json", "[1]", "b.json:1: is not an object"),
        ("c.txt", "x", "name a .csv, .json or .jsonl file"),
        ("d.json", '[{"question": "x"', "is not JSON"),
    ]:
        with pytest.raises(InputError, match=message):
            read_log(write(tmp_path / name, content))
    with pytest.raises(InputError, match="No such file"):
        read_log(tmp_path / "absent.jsonl")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.floats() | st.sampled_from(["", "a", "Yes.", "[", "['x']"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["content", "text", "id", "answer", "question", "choices", "message"]), inner)
    ),
    max_leaves=6,
)
FIELDS = sorted({name for names in ALIASES.values() for name in names} | {"sample", "epoch", "metadata", "error"})
FIELDS += ["inputs", "outputs", "inputs.question", "outputs.answer", "reference_outputs", "datasource_item"]
RECORDS = st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=5)
FILES = st.one_of(
    st.lists(RECORDS | VALUES, max_size=3),
    RECORDS,
    st.fixed_dictionaries({"eval": VALUES, "samples": VALUES | st.lists(RECORDS, max_size=2)}),
    st.fixed_dictionaries({"experiment_name": VALUES, "results": VALUES | st.lists(RECORDS, max_size=2)}),
)


@given(FILES)
@settings(max_examples=400)
def test_whatever_a_file_holds_the_error_is_one_line(content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.json")
        path.write_text(json.dumps(content), encoding="utf-8")
        try:
            log = read_log(path)
        except InputError as error:
            assert "log.json" in str(error)
            assert "\n" not in str(error)
        else:
            assert log["question"].map(str.strip).all()
