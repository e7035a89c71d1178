"""Logs: tables of answers under our names and as users say, and refusals."""

import json
import tempfile
from pathlib import Path

import pytest
from cases import not_refused
from hypothesis import given, settings
from hypothesis import strategies as st

from casebook.assistant.log import read_log
from casebook.assistant.study import score_answers
from casebook.data.tables import LONGEST, ROLES
from casebook.errors import InputError
from casebook.paths import ROOT

OURS = {
    "id": "q1",
    "question": "May I cancel?",
    "answer": "Yes.",
    "contexts": ["You may cancel."],
    "system": "a",
}


def write(path, content):
    if path.suffix == ".jsonl":
        content = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in content)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_the_names_that_are_read_stand_on_the_methods_page():
    page = (ROOT / "book" / "methods" / "assistant.md").read_text(encoding="utf-8")
    names = {name for names in ROLES["log"].values() for name in names}
    assert {name for name in names if f"`{name}`" not in page} == set()


def test_scores_are_named_or_end_in_score(tmp_path):
    rows = [
        OURS | {"tone": 4, "a_score": 0.5, "judge": {"style": {"mark": "C"}}, "notes": "x"},
        OURS | {"id": "q2", "tone": None, "judge": {"style": {"mark": "I"}}},
    ]
    path = write(tmp_path / "a.jsonl", rows)
    scores = read_log(path)["scores"]
    assert scores[0] == {"a_score": 0.5} and scores[1]["a_score"] != scores[1]["a_score"]
    named = ["tone", "judge.style.mark"]
    log = read_log(path, scores=named, values={"C": 1, "I": 0})
    assert log["scores"][0] == {"tone": 4, "judge.style.mark": 1}
    assert log["scores"][1]["judge.style.mark"] == 0
    refused = [
        ("ton", "a.jsonl: has no column 'ton': did you mean 'tone'"),
        ("notes", "a.jsonl:1: notes 'x' is no number: --values x= if it is missing, else x=NUMBER"),
        ("judge.style", "a.jsonl:1: judge.style is {'mark': 'C'}: say which part of it"),
    ]
    assert not_refused(lambda score: read_log(path, scores=score), refused) == []


def test_columns_say_which_is_which(tmp_path):
    row = {"Frage": "May I?", "answer": "draft", "outputs": [{"final": "Yes."}], "vote": "1"}
    path = write(tmp_path / "a.jsonl", [row | {"reference": "You may."}])
    columns = {"question": "Frage", "answer": "outputs.0.final", "reference": "-"}
    log = read_log(path, columns=columns | {"human": "vote", "contexts": "reference"}, lists="one")
    assert log.loc[0, ["question", "answer", "human"]].tolist() == ["May I?", "Yes.", 1]
    # Some tools call a reference what the answer was given.
    assert log["contexts"][0] == ["You may."] and log["reference"][0] is None


def test_all_references_are_kept_and_the_first_is_shown(tmp_path):
    texts = ["Yes.", "You may."]
    for references in (texts, json.dumps(texts)):
        row = read_log(write(tmp_path / "a.jsonl", [OURS | {"reference": references}])).iloc[0]
        assert (row["reference"], row["references"]) == ("Yes.", texts)
    row = read_log(write(tmp_path / "a.jsonl", [OURS | {"reference": "[1] says so."}])).iloc[0]
    assert row["references"] == ["[1] says so."]


def test_a_failed_run_has_an_empty_answer(tmp_path):
    failed = {"question": "May I?", "error": "Timeout\x1b[31m\nError()", "id": "r2", "system": "a"}
    log = read_log(write(tmp_path / "l.jsonl", [OURS, failed]))
    assert log["answer"].tolist() == ["Yes.", ""]
    assert log["no_answer"].isna().tolist() == [True, False]
    assert log["no_answer"][1] == "Timeout [31m Error()"


def test_contexts_are_ids_of_a_collection_or_parts_of_objects(tmp_path):
    write(tmp_path / "corpus.jsonl", [{"_id": "d1", "title": "", "text": "You may cancel."}])
    path = tmp_path / "a.jsonl"
    columns = {"contexts": "contexts.*.text"}
    for contexts, said in (
        ([{"id": "d1", "text": "You may cancel."}], {"columns": columns}),
        (["d1"], {"collection": tmp_path}),
    ):
        row = read_log(write(path, [OURS | {"contexts": contexts}]), **said).iloc[0]
        assert row["contexts"] == ["You may cancel."]
    with pytest.raises(InputError, match=r"a\.jsonl:1: context 'd9' is no id of the collection"):
        read_log(write(path, [OURS | {"contexts": ["d9"]}]), tmp_path)
    log = read_log(write(path, [OURS | {"contexts": ["d1", "d2"]}]))
    with pytest.raises(InputError, match=r"'d1' of 'q1' are no texts: .*--collection FOLDER"):
        score_answers(log)


ROWS = [
    ([{"question": "May I?"}], "a.jsonl: has no answer .answer, response, actual_output.; it has"),
    ([OURS | {"answer": {"out": "x"}}], "say which part of it, as in --columns answer=answer.PART"),
    ([OURS, OURS | {"id": None}], "a.jsonl:2: id .column 'id'. is empty"),
    ([OURS | {"system": "Gpt"}, OURS | {"system": "gpt"}], "'gpt' is a name above but for case"),
    ([OURS | {"input": "May I?"}], "question, input may each be the question: --columns question"),
    (
        [OURS | {"contexts": [{"text": "x"}]}],
        "is no JSON list of texts: type --columns .contexts=cont",
    ),
    (
        [OURS | {"abstained": "maybe"}],
        "a.jsonl:1: abstained: what do these words mean. type --values maybe=LABEL",
    ),
    ([OURS, OURS], "a.jsonl:2: 'q1' has a second answer of a system: keep one"),
    (
        [OURS, OURS | {"question": "Other?", "system": "b"}],
        "a.jsonl:2: question of 'q1' differs from an earlier row: an id names one question",
    ),
    (
        [OURS | {"reference": "a"}, OURS | {"reference": "b", "system": "b"}],
        "a.jsonl:2: references of 'q1' differs",
    ),
]


def test_rows_that_are_asked_about(tmp_path):
    path = tmp_path / "a.jsonl"
    assert not_refused(lambda lines: read_log(write(path, lines)), ROWS) == []


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 3)
    | st.floats()
    | st.sampled_from(["", "a", "Yes.", "[", "['x']", '["x"]']),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["content", "text", "id", "answer", "question"]),
            inner,
        )
    ),
    max_leaves=6,
)
NAMES = sorted(name for names in ROLES["log"].values() for name in names)
RECORDS = st.dictionaries(st.sampled_from([*NAMES, "feedback.a", "a_score"]), VALUES)
FILES = st.lists(RECORDS | VALUES, max_size=3) | RECORDS


@given(FILES)
@settings(max_examples=300)
def test_whatever_a_file_holds_the_error_is_one_line(content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.json")
        path.write_text(json.dumps(content), encoding="utf-8")
        try:
            log = read_log(path)
        except InputError as error:
            assert "log.json" in str(error) and "\n" not in str(error)
            assert len(str(error)) <= LONGEST
        else:
            assert log["question"].map(str.strip).all()
