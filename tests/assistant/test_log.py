"""Logs as tools export them (exports.json: the records as each writes them), and refusals."""

import gzip
import json
import sys
import tempfile
import zipfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from casebook.assistant.log import LOG_ALIASES, PATHS, checked_log, read_log
from casebook.errors import InputError

OURS = {
    "id": "q1",
    "question": "May I cancel?",
    "answer": "Yes.",
    "contexts": ["You may cancel."],
    "system": "a",
}
# RAGAS: SingleTurnSample.to_dict; Inspect: EvalLog of log format 2; LangSmith:
# _flatten_experiment_results, the body of upload-experiment; OpenAI: the output item of its API
# reference; DeepEval 4: TestRun and EvaluationResult; Phoenix: get_spans_dataframe and
# get_input_output_context of client 3, evaluate_dataframe of evals 3; TruLens 2:
# get_records_and_feedback.
EXPORTS = json.loads(Path(__file__).with_name("exports.json").read_text())


def write(path, content):
    if path.suffix == ".jsonl":
        content = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in content)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "content", "system", "named"),
    [
        ("ragas.jsonl", [EXPORTS["ragas"]], "ragas", "May I cancel?"),
        ("ragas.json", [EXPORTS["ragas"]], "ragas", "May I cancel?"),
        ("old.jsonl", [EXPORTS["ragas 0.1"]], "old", "May I cancel?"),
        ("inspect.json", EXPORTS["inspect"], "openai/gpt-4o", "1"),
        ("langsmith.jsonl", [EXPORTS["langsmith"]], "langsmith", "r1"),
        ("upload.json", EXPORTS["langsmith upload"], "gpt-4o", "e1"),
        ("openai.json", EXPORTS["openai"], "gpt-4o-mini", "5"),
        ("openai.jsonl", EXPORTS["openai"]["data"], "gpt-4o-mini", "5"),
        ("deepeval.json", [EXPORTS["deepeval"]], "deepeval", "May I cancel?"),
        ("run.json", EXPORTS["deepeval run"], "run", "May I cancel?"),
        ("result.json", EXPORTS["deepeval result"], "result", "May I cancel?"),
        ("promptfoo.json", EXPORTS["promptfoo"], "openai:gpt-4o", "0"),
        ("spans.json", EXPORTS["phoenix spans"], "gpt-4o", "s1"),
        ("frame.jsonl", [EXPORTS["phoenix frame"]], "frame", "s1"),
        ("trulens.jsonl", [EXPORTS["trulens"]], "rag v1", "r1"),
        ("langchain.jsonl", [EXPORTS["langchain"]], "langchain", "May I cancel?"),
        ("chat.jsonl", [EXPORTS["chat"]], "chat", "May I cancel?"),
        ("headings.jsonl", [EXPORTS["headings"]], "headings", "May I cancel?"),
    ],
)
def test_exports_say_the_same(tmp_path, name, content, system, named):
    row = read_log(write(tmp_path / name, content)).iloc[0]
    assert row[["id", "question", "answer", "reference", "system"]].tolist() == [
        *(named, "May I cancel?", "Yes.", "Yes, you may.", system)
    ]
    assert row["contexts"] == ["You may cancel."]


def test_a_csv_of_ragas_holds_lists_as_python_wrote_them(tmp_path):
    pd.DataFrame([EXPORTS["ragas"]]).to_csv(tmp_path / "ragas.csv", index=False)
    assert read_log(tmp_path / "ragas.csv")["contexts"][0] == ["You may cancel."]


@pytest.mark.parametrize(
    ("printed", "texts"),
    [
        ("['You may' 'cancel, he said']", ["You may", "cancel, he said"]),
        ("['You may'\n \"tenant's cat\"]", ["You may", "tenant's cat"]),
        ("array(['You may', 'cancel it'], dtype=object)", ["You may", "cancel it"]),
        ('["You may", "cancel it"]', ["You may", "cancel it"]),
    ],
)
def test_texts_that_numpy_printed_stay_apart(tmp_path, printed, texts):
    """F30: Python joins texts without a comma, so two contexts became one."""
    log = read_log(write(tmp_path / "a.jsonl", [OURS | {"contexts": printed}]))
    assert log["contexts"][0] == texts


@pytest.mark.parametrize(
    "printed", ["['You may' 'cancel', 'it']", "['You may' 'or' ... 'cancel it']"]
)
def test_a_list_of_which_nobody_knows_the_parts_is_refused(tmp_path, printed):
    with pytest.raises(
        InputError, match=r"a\.jsonl:1: field contexts: .*without a comma.*write a list as JSON"
    ):
        read_log(write(tmp_path / "a.jsonl", [OURS | {"contexts": printed}]))


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


def test_an_archive_of_inspect_says_what_its_json_says(tmp_path):
    expected = read_log(write(tmp_path / "inspect.json", EXPORTS["inspect"]))
    path = tmp_path / "inspect.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        header = {name: value for name, value in EXPORTS["inspect"].items() if name != "samples"}
        archive.writestr("header.json", json.dumps(header))
        for sample in EXPORTS["inspect"]["samples"]:
            archive.writestr(
                f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample)
            )
    pd.testing.assert_frame_equal(read_log(path), expected)
    for content in (b"no archive", path.read_bytes()[:300]):
        path.write_bytes(content)
        with pytest.raises(
            InputError, match=r"inspect\.eval: is no Inspect log: .*inspect log convert"
        ):
            read_log(path)


@pytest.mark.parametrize(
    ("name", "content", "scores"),
    [
        (
            "ragas.jsonl",
            [EXPORTS["ragas scores"]],
            {"faithfulness": 0.75, "answer_relevancy": 0.9, "context_precision": 1.0},
        ),
        ("inspect.json", EXPORTS["inspect"], {"match": 1.0}),
        ("langsmith.jsonl", [EXPORTS["langsmith"]], {"correct": 1.0}),
        ("upload.json", EXPORTS["langsmith upload"], {"correct": 1.0}),
        ("openai.json", EXPORTS["openai"], {"match": 1.0}),
        ("run.json", EXPORTS["deepeval run"], {"success": 1.0, "Faithfulness": 1.0}),
        ("result.json", EXPORTS["deepeval result"], {"success": 0.0, "Faithfulness": 0.8}),
        ("promptfoo.json", EXPORTS["promptfoo"], {"score": 1.0, "success": 1.0, "grounded": 0.5}),
        ("spans.json", EXPORTS["phoenix spans"], {"Hallucination": 0.0}),
        ("frame.jsonl", [EXPORTS["phoenix frame"]], {"hallucination": 0.0}),
        ("trulens.jsonl", [EXPORTS["trulens"]], {"Groundedness": 1.0, "Context Relevance": 0.7}),
        ("plain.jsonl", [OURS], {}),
    ],
)
def test_scores_that_a_tool_wrote_are_read_under_its_names(tmp_path, name, content, scores):
    log = read_log(write(tmp_path / name, content))
    assert log["scores"][0] == scores


def test_of_a_trace_the_first_span_is_the_answer(tmp_path):
    spans = EXPORTS["phoenix spans"]
    log = read_log(write(tmp_path / "a.json", spans))
    assert len(log) == 1 and log["context_ids"][0] == ["d1"]
    assert log.attrs["notes"][0].endswith("of 1 other spans only documents are read")
    with pytest.raises(InputError, match=r"b\.json: has no first span of a trace"):
        read_log(write(tmp_path / "b.json", spans[:1]))


def test_a_score_of_words_is_a_number_and_what_is_none_is_said(tmp_path):
    written = ["C", "P", "I", "pass", "FAIL", "true", " 0.4 ", False, 3, "unsure", None, "inf"]
    rows = [
        OURS | {"id": f"q{number}", "score": value, "recall_reason": "because"}
        for number, value in enumerate(written)
    ]
    log = read_log(write(tmp_path / "a.jsonl", rows))
    scores = [row["score"] for row in log["scores"]]
    assert scores[:9] == [1, 0.5, 0, 1, 0, 1, 0.4, 0, 3]
    assert all(score != score for score in scores[9:])  # NaN
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
    with pytest.raises(InputError, match=r"scores: the log has no field 'ton': did you mean tone"):
        read_log(path, scores=["ton"])
    with pytest.raises(InputError, match=r"scores: the field 'notes' holds no number in any row"):
        read_log(path, scores=["notes"])


def test_a_copy_without_a_mark_by_hand_takes_none_away(tmp_path):
    marked = write(tmp_path / "a.jsonl", [OURS | {"human": "yes"}])
    plain = write(tmp_path / "b.jsonl", [OURS | {"recall": 0.5}])
    log = read_log([marked, plain])
    assert log["human"].tolist() == [1] and log["scores"][0] == {"recall": 0.5}


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
    # What Phoenix's older frames call a reference is what the answer was given.
    assert log["contexts"][0] == ["You may."] and log["reference"][0] is None
    for wrong, message in [
        ({"anser": "x"}, "'anser' is no column of a log: .* did you mean answer"),
        (
            {"answer": "outputs.finale"},
            "the log has no field 'outputs.finale': did you mean outputs.final",
        ),
    ]:
        with pytest.raises(InputError, match=f"columns: {message}"):
            read_log(path, columns=wrong)


@pytest.mark.parametrize(
    ("question", "answer", "message"),
    [
        ("May I cancel?", "Yes, you may cancel the contract.", None),
        ("May I cancel?", "42.", None),
        ("May I cancel?", "No refunds: do as agreed.", None),  # no, do, as: Portuguese too
        ("Darf ich die Wohnung nicht kündigen?", "42.", "(German 1)"),  # too short: the question's
        ("Wynajem?", " ".join(["Najemca wynajmuje mieszkanie"] * 5), "(another language 1)"),
        ("Lease?", "Арендатор платит 500 рублей (OOO Alpha).", "(Cyrillic script 1)"),
        ("Darf ich kündigen?", "Der Mieter darf die Wohnung nicht kündigen.", "(German 1)"),
        ("¿Puedo cancelar?", "El contrato no es válido.", "(Spanish 1)"),
        ("Puis-je résilier ?", "Le locataire ne peut pas sous-louer.", "(French 1)"),
        ("Можно?", "Арендатор не может сдавать квартиру.", "(Cyrillic script 1)"),
        ("可以吗?", "租客可以解除合同。", "(Chinese 1)"),
        ("いいですか", "借主は解約できます。", "(Japanese 1)"),
        ("ສາມາດບໍ່", "ຜູ້ເຊົ່າສາມາດຍົກເລີກ", "(Lao 1)"),
    ],
)
def test_a_language_in_which_a_measure_does_not_hold_is_named(tmp_path, question, answer, message):
    line = {"question": question, "answer": answer, "contexts": [answer, question]}
    log = checked_log(write(tmp_path / "a.jsonl", [line]))
    notes = " ".join(log.attrs["notes"])
    assert log["contexts"][0] == [answer, question]  # no ids, though no blank parts their words
    assert message in notes if message else not notes
    unread = ("(another language 1)", "(Cyrillic script 1)", "(Lao 1)")
    assert ("abstentions in" in notes) == (message in unread)
    latin = (None, "(another language 1)", "(German 1)", "(Spanish 1)", "(French 1)")
    assert ("reads Latin letters only" in notes) == (message not in latin)
    unspaced = ("(Chinese 1)", "(Japanese 1)", "(Lao 1)")
    assert ("where no blanks part words" in notes) == (message in unspaced)


def test_what_is_not_read_is_said(tmp_path):
    scored = OURS | {"faithfulness": 0.9, "answer_relevancy": 0.8, "relevant": ["d1"]}
    log = read_log(write(tmp_path / "a.jsonl", [scored, scored]))
    assert log.attrs["notes"] == [
        "1 repeated rows are left out",
        "the log brings scores along: answer_relevancy, faithfulness",
    ]
    assert read_log(write(tmp_path / "b.jsonl", [OURS])).attrs["notes"] == []
    chat = read_log(write(tmp_path / "c.jsonl", [EXPORTS["chat"]]))
    assert chat.attrs["notes"] == ["of 1 conversations the last question and its answer are read"]


def test_all_references_are_kept_and_the_first_is_shown(tmp_path):
    for references in (["Yes.", "You may."], "['Yes.', 'You may.']"):
        row = read_log(write(tmp_path / "a.jsonl", [OURS | {"ground_truths": references}])).iloc[0]
        assert (row["reference"], row["references"]) == ("Yes.", ["Yes.", "You may."])
    row = read_log(write(tmp_path / "a.jsonl", [OURS | {"reference": "[1] says so."}])).iloc[0]
    assert row["references"] == ["[1] says so."]


def test_texts_of_scripts_without_blanks_are_no_ids(tmp_path):
    line = OURS | {"contexts": ["租客可以解除合同。"], "answer": "可以。"}
    log = checked_log(write(tmp_path / "a.jsonl", [line]))
    assert log["contexts"][0] == line["contexts"]
    assert "Latin letters only" in log.attrs["notes"][-1]


def test_epochs_are_rows_of_one_group_and_a_failed_run_has_an_empty_answer(tmp_path):
    log = read_log(write(tmp_path / "inspect.json", EXPORTS["inspect"]))
    assert log["id"].tolist() == ["1", "1 (epoch 2)"] and log["group"].tolist() == ["1", "1"]
    failed = {"inputs.question": "May I?", "error": "Timeout\x1b[31m\nError()", "id": "r2"}
    log = read_log(write(tmp_path / "l.jsonl", [EXPORTS["langsmith"], failed]))
    assert log["answer"].tolist() == ["Yes.", ""] and log["seconds"][0] == 0.5
    assert (
        log["no_answer"].isna().tolist() == [True, False]
        and log["no_answer"][1] == "Timeout [31m Error()"
    )
    item = EXPORTS["openai"]["data"][0]
    log = read_log(write(tmp_path / "o.jsonl", [item | {"sample": {"output": [], "model": "m"}}]))
    assert log.loc[0, ["answer", "system"]].tolist() == ["", "m"]


def test_promptfoo_has_prompts_errors_objects_and_milliseconds(tmp_path):
    content = json.loads(json.dumps(EXPORTS["promptfoo"]))
    results = content["results"]["results"]
    other = results[0] | {"promptIdx": 1, "provider": "m", "vars": {}, "latencyMs": None}
    other |= {"testCase": {"vars": {"question": "Why?", "answer": "Expected."}}, "testIdx": 1}
    results += [
        other | {"response": {"output": {"yes": True}}},
        other | {"response": {"error": "429"}, "testIdx": 2},
        other
        | {
            "response": {"output": "No."},
            "testIdx": 3,
            "testCase": None,
            "provider": {"id": "p", "label": "P"},
        },
    ]
    log = read_log(write(tmp_path / "promptfoo.json", content))
    assert log["system"].tolist() == [
        "openai:gpt-4o, prompt 1",
        "m, prompt 2",
        "m, prompt 2",
        "P, prompt 2",
    ]
    assert log["answer"].tolist() == ["Yes.", '{"yes": true}', "", "No."]
    asked = results[0]["prompt"]["raw"]
    assert log["question"].tolist() == ["May I cancel?", "Why?", "Why?", asked]
    assert log["seconds"][0] == 0.5 and log["seconds"][1:].isna().all()
    assert log["cost"].tolist() == [0.002] * 4


def test_two_files_are_two_systems_and_copies_are_left_out_and_listed(tmp_path):
    paths = [write(tmp_path / name, [EXPORTS["ragas"]]) for name in ("old.jsonl", "new.jsonl")]
    log = read_log(paths)
    assert (
        log["system"].tolist() == ["old", "new"]
        and len(set(log["id"])) == 1
        and not log.attrs["named"]
    )
    log = read_log(
        write(tmp_path / "a.jsonl", [OURS, OURS | {"metadata": {"group": "no field of a log"}}])
    )
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


def test_unicode_and_compression(tmp_path):
    path = tmp_path / "log.jsonl.gz"
    line = OURS | {"question": "Darf ich kündigen? 合同 🙂", "answer": "Ja\u2028gewiß."}
    path.write_bytes(gzip.compress(json.dumps(line, ensure_ascii=False).encode()))
    assert read_log(path).loc[0, ["question", "answer"]].tolist() == [
        line["question"],
        line["answer"],
    ]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
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
    ],
)
def test_the_door(tmp_path, lines, message):
    with pytest.raises(InputError, match=message):
        read_log(write(tmp_path / "a.jsonl", lines))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", "{}", "holds no answers"),
        ("b.json", "[1]", "b.json: element 1 is not an object"),
        ("c.txt", "x", "name a .csv, .tsv, .json, .jsonl, .ndjson, .xlsx, .* or .eval file"),
        ("d.json", '[{"question": "x"', "is not JSON"),
        ("absent/e.jsonl", None, "No such file"),
    ],
)
def test_files_that_are_no_logs(tmp_path, name, content, message):
    if content:
        (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message):
        read_log(tmp_path / name)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 3)
    | st.floats()
    | st.sampled_from(["", "a", "Yes.", "[", "['x']"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["content", "text", "id", "answer", "question", "choices", "message"]),
            inner,
        )
    ),
    max_leaves=6,
)
FIELDS = sorted(
    {part for paths in PATHS.values() for path in paths for part in (path, path.split(".")[0])}
    | {"epoch", "scores", "metricsData", "results", "feedback.a", "eval.a.score", "a_calls"}
    | {"parent_id", "context.trace_id", "attributes.retrieval.documents", "app_name", "app_version"}
)
RECORDS = st.dictionaries(st.sampled_from([*FIELDS, "error"]), VALUES, max_size=5)
RECORDS |= st.dictionaries(
    st.sampled_from(sorted(name for names in LOG_ALIASES.values() for name in names)), VALUES
)
FILES = st.one_of(
    st.lists(RECORDS | VALUES, max_size=3),
    RECORDS,
    st.fixed_dictionaries({"eval": VALUES, "samples": VALUES | st.lists(RECORDS, max_size=2)}),
    st.fixed_dictionaries(
        {"experiment_name": VALUES, "results": VALUES | st.lists(RECORDS, max_size=2)}
    ),
)


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


@pytest.mark.parametrize("damage", ["flipped", "locked"])
def test_a_damaged_archive_of_a_log_is_one_line(casebook, tmp_path, damage):
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({"eval": {"model": "m"}, "text": "much " * 500}))
    data = bytearray(path.read_bytes())
    if damage == "flipped":
        data[45:60] = bytes(15)
    else:  # both headers say that the member is encrypted
        for place in (6, data.index(b"PK\x01\x02") + 8):
            data[place] |= 1
    path.write_bytes(data)
    code, out, err = casebook("gate", "--log", path, "--against", path)
    assert (code, out) == (1, "") and err.count("\n") == 1
    assert "log.eval: is no Inspect log" in err
