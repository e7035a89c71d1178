"""Logs: tables of answers, ours and flat ones of evaluation tools, and refusals."""

import json
import sys
import tempfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import not_refused

from casebook.assistant.log import LOG_ALIASES, checked_log, read_log
from casebook.errors import InputError
from casebook.paths import ROOT

OURS = {
    "id": "q1",
    "question": "May I cancel?",
    "answer": "Yes.",
    "contexts": ["You may cancel."],
    "system": "a",
}
SAID = ["May I cancel?", "Yes.", ["You may cancel."], "Yes, you may."]
RAGAS = ["user_input", "response", "retrieved_contexts", "reference"]
FLAT = {
    "ragas": RAGAS,
    "ragas_01": ["question", "answer", "contexts", "ground_truth"],
    "deepeval": ["input", "actual_output", "retrieval_context", "expected_output"],
    "langsmith": ["inputs.question", "outputs.answer", "outputs.contexts", "reference.answer"],
    "headings": ["Question", "Answer", "Retrieved Contexts", "Ground Truth"],
}
"""How flat tables of tools name question, answer, contexts and reference."""


def write(path, content):
    if path.suffix == ".jsonl":
        content = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in content)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_flat_tables_of_tools_say_the_same(tmp_path):
    for name, columns in FLAT.items():
        record = dict(zip(columns, SAID, strict=True))
        for kind in ("json", "jsonl"):
            row = read_log(write(tmp_path / f"{name}.{kind}", [record])).iloc[0]
            fields = ["question", "answer", "contexts", "reference"]
            assert row[fields].tolist() == SAID, (name, kind)
            assert (row["id"], row["system"]) == (SAID[0], name), kind


def test_the_names_that_are_read_stand_on_the_methods_page():
    page = (ROOT / "book" / "methods" / "assistant.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    missing = []
    for column, names in LOG_ALIASES.items():
        row = next(line for line in rows if f"`{column}`" in line.split("|")[1])
        missing += [name for name in names if f"`{name}`" not in row]
    assert missing == []


def test_a_csv_of_ragas_holds_lists_as_python_wrote_them(tmp_path):
    pd.DataFrame([SAID], columns=RAGAS).to_csv(tmp_path / "ragas.csv", index=False)
    assert read_log(tmp_path / "ragas.csv")["contexts"][0] == ["You may cancel."]


PRINTED = [
    "['You may' 'cancel, he said']",
    "array(['You may', 'cancel it'], dtype=object)",
    "['You may' 'cancel', 'it']",
    "['You may' 'or' ... 'cancel it']",
]


def test_a_list_of_which_nobody_knows_the_parts_is_refused(tmp_path):
    """F30: Python joins texts without a comma, so two contexts became one."""

    def read(contexts):
        return read_log(write(tmp_path / "a.jsonl", [OURS | {"contexts": contexts}]))

    texts = ["You may", "cancel, he said"]
    for written in (json.dumps(texts), str(texts)):
        assert read(written)["contexts"][0] == texts
    message = r"a\.jsonl:1: field contexts: .*is none: write a list as JSON"
    assert not_refused(read, [(printed, message) for printed in PRINTED]) == []


def test_a_workbook_a_table_and_parquet_say_what_a_csv_says(tmp_path):
    frame = pd.DataFrame(
        [OURS | {"contexts": '["You may cancel."]', "seconds": 2}, OURS | {"id": 7, "answer": "30"}]
    )
    frame.to_csv(tmp_path / "log.csv", index=False)
    frame.to_csv(tmp_path / "log.tsv", index=False, sep="\t")
    frame.to_excel(tmp_path / "log.xlsx", index=False)
    expected = read_log(tmp_path / "log.csv")
    assert expected["id"].tolist() == ["q1", "7"]
    for kind in ("tsv", "xlsx"):
        pd.testing.assert_frame_equal(read_log(tmp_path / f"log.{kind}"), expected)


def test_parquet_is_read_where_pyarrow_is(tmp_path, monkeypatch):
    path = tmp_path / "log.parquet"
    try:
        pd.DataFrame([OURS]).to_parquet(path, engine="pyarrow")
    except ImportError:
        path.write_bytes(b"PAR1")
    else:
        assert read_log(path).loc[0, ["answer", "contexts"]].tolist() == [
            OURS["answer"],
            OURS["contexts"],
        ]
        path.write_bytes(b"no parquet")
        with pytest.raises(InputError, match=r"log\.parquet: is no parquet file, or is damaged"):
            read_log(path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(InputError, match=r"log\.parquet: parquet needs the package pyarrow"):
        read_log(path)


def test_scores_are_recognised_by_their_names(tmp_path):
    named = {"faithfulness": 0.75, "answer_relevancy": 0.9, "factual_correctness(mode=f1)": None}
    further = {"feedback.correct": True, "recall_reason": "because", "cost_score": 3, "tone": 4}
    log = read_log(write(tmp_path / "a.jsonl", [OURS | named | further]))
    assert log["scores"][0] == {
        "faithfulness": 0.75,
        "answer_relevancy": 0.9,
        "feedback.correct": 1,
    }
    assert read_log(write(tmp_path / "b.jsonl", [OURS]))["scores"][0] == {}


def test_a_score_of_words_is_a_number_and_what_is_none_is_said(tmp_path):
    written = ["correct", "No", "pass", "FAIL", "true", " 0.4 ", False, 3, "unsure", None, "inf"]
    rows = [
        OURS | {"id": f"q{number}", "score": value, "recall_reason": "because"}
        for number, value in enumerate(written)
    ]
    log = read_log(write(tmp_path / "a.jsonl", rows))
    scores = [row["score"] for row in log["scores"]]
    assert scores[:8] == [1, 0, 1, 0, 1, 0.4, 0, 3]
    assert all(score != score for score in scores[8:])  # NaN
    assert log.attrs["notes"] == [
        "the log brings scores along: score",
        "score score: 2 values are no numbers, such as 'unsure'",
    ]
    words = [OURS | {"correctness": "good", "rating": "good"}, OURS | {"id": "q2", "rating": "4"}]
    log = read_log(write(tmp_path / "b.jsonl", words))
    assert log["scores"].tolist() == [{}, {}] and log["human"][1] == 4
    assert log.attrs["notes"] == [
        "ratings of people are read from rating",
        "1 of 2 ratings of people are no numbers, such as 'good'",
        "not read as scores, for they hold no numbers: correctness",
    ]


def test_another_field_is_a_score_where_it_is_named(tmp_path):
    rows = [OURS | {"tone": 4, "judge": {"style": {"mark": 2}}, "notes": "x"}]
    path = write(tmp_path / "a.jsonl", rows)
    assert read_log(path)["scores"][0] == {}
    log = read_log(path, scores=["Tone", "judge.style.mark"])
    assert log["scores"][0] == {"Tone": 4, "judge.style.mark": 2}
    known = write(tmp_path / "b.jsonl", [OURS | {"answer_relevancy": 1}])
    assert read_log(known, scores="Answer Relevancy")["scores"][0] == {"answer_relevancy": 1}
    with pytest.raises(
        InputError, match=r"scores: the log has no field 'ton': did you mean 'tone'"
    ):
        read_log(path, scores=["ton"])
    with pytest.raises(InputError, match=r"scores: the field 'notes' holds no number in any row"):
        read_log(path, scores=["notes"])


def test_two_marks_by_hand_of_one_answer_contradict_each_other(tmp_path):
    right = write(tmp_path / "a.jsonl", [OURS | {"human": "yes"}])
    wrong = write(tmp_path / "b.jsonl", [OURS | {"human": "no"}])
    with pytest.raises(InputError, match=r"b.jsonl.*mark by hand of .* is 0, and 1 in .*a.jsonl"):
        read_log([right, wrong])


def test_scores_of_another_file_join_the_answers(tmp_path):
    paths = [
        write(tmp_path / "a.jsonl", [OURS | {"faithfulness": 1}]),
        write(tmp_path / "b.jsonl", [OURS | {"recall": 0.5, "faithfulness": None, "human": "yes"}]),
    ]
    log = read_log(paths)
    assert len(log) == 1
    assert log["scores"][0] == {"faithfulness": 1, "recall": 0.5} and log["human"][0] == 1
    write(tmp_path / "b.jsonl", [OURS | {"faithfulness": 0.5}])
    with pytest.raises(
        InputError, match=r"b\.jsonl:1: score faithfulness of 'q1' is 0\.5, and 1 in"
    ):
        read_log(paths)


def test_columns_say_which_field_is_which(tmp_path):
    row = {"Frage": "May I?", "answer": "draft", "outputs": {"final": "Yes."}, "vote": "pass"}
    path = write(tmp_path / "a.jsonl", [row | {"reference": "You may."}])
    columns = {"question": "frage", "answer": "outputs.final", "contexts": "reference"}
    log = read_log(path, columns=columns | {"human": "vote"})
    assert log.loc[0, ["question", "answer", "human"]].tolist() == ["May I?", "Yes.", 1]
    # Some tools call a reference what the answer was given.
    assert log["contexts"][0] == ["You may."] and log["reference"][0] is None
    for wrong, message in [
        ({"anser": "x"}, "'anser' is no column of a log: .* did you mean 'answer'"),
        (
            {"answer": "outputs.finale"},
            "the log has no field 'outputs.finale': did you mean 'outputs.final'",
        ),
    ]:
        with pytest.raises(InputError, match=f"columns: {message}"):
            read_log(path, columns=wrong)


def test_all_references_are_kept_and_the_first_is_shown(tmp_path):
    for references in (["Yes.", "You may."], "['Yes.', 'You may.']"):
        row = read_log(write(tmp_path / "a.jsonl", [OURS | {"ground_truths": references}])).iloc[0]
        assert (row["reference"], row["references"]) == ("Yes.", ["Yes.", "You may."])
    row = read_log(write(tmp_path / "a.jsonl", [OURS | {"reference": "[1] says so."}])).iloc[0]
    assert row["references"] == ["[1] says so."]


def test_a_failed_run_has_an_empty_answer(tmp_path):
    failed = {"question": "May I?", "error": "Timeout\x1b[31m\nError()", "id": "r2"}
    log = read_log(write(tmp_path / "l.jsonl", [OURS, failed]))
    assert log["answer"].tolist() == ["Yes.", ""]
    assert log["no_answer"].isna().tolist() == [True, False]
    assert log["no_answer"][1] == "Timeout [31m Error()"


def test_two_files_are_two_systems_and_copies_are_left_out_and_listed(tmp_path):
    paths = [
        write(tmp_path / name, [dict(zip(RAGAS, SAID, strict=True))])
        for name in ("old.jsonl", "new.jsonl")
    ]
    log = read_log(paths)
    assert (
        log["system"].tolist() == ["old", "new"]
        and len(set(log["id"])) == 1
        and not log.attrs["named"]
    )
    log = read_log(write(tmp_path / "a.jsonl", [OURS, OURS | {"page": 3}]))
    assert len(log) == 1 and log.attrs["named"] and log["group"].tolist() == ["q1"]
    assert log.attrs["copies"] == [f"{tmp_path}/a.jsonl:2, as in {tmp_path}/a.jsonl:1"]


def test_contexts_are_objects_or_ids_of_a_collection(tmp_path):
    write(tmp_path / "corpus.jsonl", [{"_id": "d1", "title": "", "text": "You may cancel."}])
    objects = [{"id": "d1", "page_content": "You may cancel."}]
    for contexts, collection in ((objects, None), (objects[0], None), (["d1"], tmp_path)):
        row = read_log(
            write(tmp_path / "a.jsonl", [OURS | {"contexts": contexts}]), collection
        ).iloc[0]
        assert (row["contexts"], row["context_ids"]) == (["You may cancel."], ["d1"])
    with pytest.raises(InputError, match=r"c\.jsonl:1: context 'd9' is no id"):
        read_log(write(tmp_path / "c.jsonl", [OURS | {"contexts": ["d9"]}]), tmp_path)
    ids = read_log(
        write(
            tmp_path / "d.jsonl",
            [OURS | {"contexts": ["d1", "d2"], "relevant": {"d1": 2, "d2": 0}}],
        )
    )
    assert ids.loc[0, ["contexts", "context_ids", "relevant"]].tolist() == [
        None,
        ["d1", "d2"],
        ["d1"],
    ]
    with pytest.raises(InputError, match=r"d\.jsonl:1: contexts such as 'd1' are no texts"):
        checked_log(tmp_path / "d.jsonl")


ROWS = [
    ([OURS, {"question": "May I?"}], "a.jsonl:2: has no answer: name a field answer, response"),
    ([{"answer": "Yes."}], "a.jsonl:1: has no question: name a field question, user_input"),
    ([OURS | {"answer": None}], 'a.jsonl:1: has no answer: .* write "" where none was given'),
    ([OURS | {"answer": 7}], "a.jsonl:1: field answer: Input should be a valid string"),
    ([OURS | {"question": " "}], "a.jsonl:1: field question: String should match pattern"),
    ([OURS | {"contexts": [7]}], "a.jsonl:1: a context is no text"),
    ([OURS | {"context_ids": ["a", "b"]}], "a.jsonl:1: 1 contexts and 2 context ids"),
    (
        [OURS | {"abstained": "maybe"}],
        "a.jsonl:1: field abstained: Input should be a valid boolean",
    ),
    (
        [OURS | {"seconds": -1}],
        "a.jsonl:1: field seconds: Input should be greater than or equal to 0",
    ),
    ([OURS, OURS | {"answer": "No."}], "a.jsonl:2: a answered 'q1' otherwise in"),
    (
        [OURS, OURS | {"question": "Other?", "system": "b"}],
        "a.jsonl:2: question of id 'q1' differs",
    ),
    ([OURS, json.dumps(OURS)[:-20]], "a.jsonl:2: is not JSON: the last line breaks off"),
]


def test_the_door(tmp_path):
    path = tmp_path / "a.jsonl"
    assert not_refused(lambda lines: read_log(write(path, lines)), ROWS) == []


FILES_OF_NO_LOG = [
    (("a.json", "{}"), "a.json: is not a list of objects"),
    (("a.json", "[]"), "a.json: holds no records"),
    (("b.json", "[1]"), "b.json: element 1 is not an object"),
    (("c.txt", "x"), "is no table: name a .csv, .tsv, .json, .jsonl, .ndjson, .xlsx, "),
    (("d.json", '[{"question": "x"'), "is not JSON"),
    (("absent/e.jsonl", None), "No such file"),
]


def test_files_that_are_no_logs(tmp_path):
    def read(file):
        name, content = file
        if content:
            (tmp_path / name).write_text(content)
        return read_log(tmp_path / name)

    assert not_refused(read, FILES_OF_NO_LOG) == []


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 3)
    | st.floats()
    | st.sampled_from(["", "a", "Yes.", "[", "['x']"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["content", "text", "id", "answer", "question"]),
            inner,
        )
    ),
    max_leaves=6,
)
NAMES = sorted(name for names in LOG_ALIASES.values() for name in names)
RECORDS = st.dictionaries(st.sampled_from([*NAMES, "error", "feedback.a", "a_score"]), VALUES)
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
        else:
            assert log["question"].map(str.strip).all()
