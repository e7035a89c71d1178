import json
import os
import re

import pytest
import pytrec_eval
import yaml

from casebook.errors import InputError
from casebook.paths import ROOT
from casebook.runs import repeat
from casebook.runs.record import RunRecord, digest, now, write_record
from casebook.runs.repeat import After, Variant, choose_system, read_matrix, run_matrix, write_trec
from casebook.trec import read_run

SPEC = """{
  // two variants; "//" inside a string, "a//b,]", is text
  "StopOnFailure": false, /* keep
  going */
  "variants": [
    {"name": "good", "args": ["--version"], "env": {"X": "a//b,]"},},
    {"name": "bad", "args": ["nonsense"], "timeoutSeconds": 60,},
  ],
  "after": {"compareMetric": "map@1", "top": 3},
}"""


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "matrix.json"
    path.write_text(SPEC)
    return path


def test_json_with_comments_and_trailing_commas_says_the_same_as_yaml(spec, tmp_path):
    matrix = read_matrix(spec)
    good, bad = matrix.variants
    assert (good.name, good.args, good.env) == ("good", ["--version"], {"X": "a//b,]"})
    assert bad.timeout == 60 and not matrix.stop_on_failure
    assert (matrix.after.compare_metric, matrix.after.top, matrix.after.promote_best) == (
        "map@1",
        3,
        False,
    )
    path = tmp_path / "matrix.yml"
    path.write_text(
        "stopOnFailure: false\nvariants:\n"
        "- {name: good, args: [--version], env: {X: 'a//b,]'}}\n"
        "- {name: bad, args: [nonsense], timeout: 60}\n"
        "after: {compareMetric: map@1, top: 3}\n"
    )
    assert read_matrix(path) == matrix


def test_the_example_that_others_keep_is_read(mirror):
    path = mirror / "embeddingshift/history/matrix-miniinsurance.example.json"
    matrix = read_matrix(path)
    assert [v.name for v in matrix.variants] == ["sha256", "semantic-hash-1gram"]
    assert matrix.stop_on_failure and matrix.after.domain_key == "insurance"


GOOD = {"name": "a", "args": ["x"]}
WRONG = {
    "keys and values": 3,
    "variants: ": {"variants": []},
    "after x": {"variants": [GOOD], "after": {"x": 1}},
    "share a name": {"variants": [GOOD, GOOD | {"name": "A"}]},
    "variants 1 args": {"variants": [{"name": "a"}]},
    **{
        why: {"variants": [GOOD | change]}
        for why, change in {
            "not allowed": {"name": "../a"},
            "variants 1 colour": {"colour": 1},
            "greater than 0": {"timeoutSeconds": 0},
            "x.*NUL character": {"args": ["x\0"]},
            "'A=B': no name of a setting": {"env": {"A=B": "c"}},
            "a lone surrogate": {"args": ["\ud800"]},
        }.items()
    },
    **{
        why: {"variants": [GOOD], "after": after}
        for why, after in {
            "a metric needs a name": {"compareMetric": " "},
            "greater than or equal to 1": {"top": 0},
            "promotebest.*boolean": {"promoteBest": 1},
            "domainkey.*not allowed": {"domainKey": "../x"},
        }.items()
    },
}


@pytest.mark.parametrize("message", WRONG)
def test_bad_specifications_are_one_clear_line(tmp_path, message):
    path = tmp_path / "matrix.json"
    path.write_text(json.dumps(WRONG[message]))
    with pytest.raises(InputError, match=message) as caught:
        read_matrix(path)
    assert "\n" not in str(caught.value)


def test_variants_run_keep_their_logs_and_report_failures(spec, tmp_path):
    lines = []
    matrix = read_matrix(spec)
    stopped = matrix.model_copy(update={"stop_on_failure": True, "variants": matrix.variants[::-1]})
    assert [row["exitCode"] for row in run_matrix(stopped, tmp_path, report=lines.append)] == [
        1,
        None,
    ]
    rows = run_matrix(read_matrix(spec), tmp_path / "out", report=lines.append)
    assert [row["exitCode"] for row in rows] == [0, 1]
    good, bad = ((tmp_path / "out" / row["log"]).read_text() for row in rows)
    assert good.startswith("casebook ") and good.endswith("[STDERR]\n")
    assert "No such command" in bad.partition("[STDERR]")[2]
    assert json.loads((tmp_path / "out" / "summary.json").read_text()) == rows
    assert "bad: exit 1" in (tmp_path / "out" / "_summary.txt").read_text()
    assert rows[0]["settings"] == ["X"]
    assert "a//b" not in json.dumps(rows), "values of settings may be secrets"
    asking = Variant(name="asking", args=["answer", "--url", "http://me:hunter22@host/v1"])
    rows += run_matrix(
        matrix.model_copy(update={"variants": [asking]}), tmp_path / "asking", report=lines.append
    )
    assert rows[-1]["arguments"][-1] == "http://***@host/v1"
    assert not any(
        "hunter22" in text for text in (*lines, (tmp_path / "asking" / "asking.log").read_text())
    )


def test_a_child_out_of_time_is_ended_and_keeps_its_log(tmp_path, monkeypatch):
    script = "echo begun; echo $$; exec sleep 600"
    monkeypatch.setattr(repeat, "command_line", lambda _: ["sh", "-c", script])
    assert repeat.run_child([], tmp_path / "a.log", timeout=3) == 124
    head, process, tail = (tmp_path / "a.log").read_text().splitlines()
    assert (head, tail) == ("begun", "[STDERR]")
    with pytest.raises(ProcessLookupError):
        os.kill(int(process), 0)


def record(folder, **labels):
    write_record(
        folder / "run.json",
        RunRecord.model_construct(
            run_id="r", workflow="e", started=now(), labels=labels, metrics={"m": 1.0}
        ),
    )
    return folder


def test_a_cell_of_a_report_is_repeated_under_another_name(tmp_path):
    inputs = {"parameters": {"dataset": "smoke", "k": 3}}
    folder = record(tmp_path / "nightly" / "runs" / "e-smoke", Cell="e-smoke", Inputs=inputs)
    arguments, _, record_place = repeat.request_of(folder)
    head = ["run", "e-smoke", "--run", "nightly-rerun", "--force"]
    assert arguments[:5] == head
    assert arguments[5:] == ["-p", 'dataset="smoke"', "-p", "k=3"]
    assert record_place == "nightly-rerun/runs/e-smoke"
    cell = f"e-{digest(inputs['parameters'])[:8]}"
    folder = record(tmp_path / "nightly" / "runs" / cell, Cell=cell, Inputs=inputs)
    assert repeat.request_of(folder)[0][1] == "e"


@pytest.mark.parametrize(
    "labels", [{"Cell": "e-smoke"}, {"Inputs": {"parameters": {}}}, {"Cell": 1, "Inputs": {}}]
)
def test_a_record_that_does_not_say_how_it_was_made_is_refused(tmp_path, labels):
    folder = record(tmp_path / "nightly" / "runs" / "e-smoke", **labels)
    with pytest.raises(InputError, match="e-smoke: the run did not record how it was made"):
        repeat.request_of(folder)


def test_a_cell_is_repeated_on_its_device_in_its_precision(tmp_path, monkeypatch):
    monkeypatch.delenv("CASEBOOK_PRECISION", raising=False)
    inputs = {"parameters": {}, "device": "cuda", "precision": "float16"}
    folder = record(tmp_path / "nightly" / "runs" / "e", Cell="e", Inputs=inputs)
    assert repeat.request_of(folder)[0][5:] == ["--device", "cuda", "--precision", "float16"]
    folder = record(tmp_path / "nightly" / "runs" / "f", Cell="f", Inputs={"parameters": {}})
    assert repeat.request_of(folder)[0][5:] == []
    monkeypatch.setenv("CASEBOOK_PRECISION", "bfloat16")
    assert repeat.request_of(folder)[0][5:] == ["--device", "cpu", "--precision", "float32"]


def test_a_recorded_request_is_repeated_without_keys_or_folders(tmp_path):
    folder = record(tmp_path / "w" / "r")
    request = {
        "globalArgs": ["--x"],
        "commandArgs": ["shift", "run"],
        "environmentSnapshot": {
            "EMBEDDING_SIM_ALGO": "sha256",
            "CASEBOOK_API_KEY": "s",
            "EMBEDDINGSHIFT_ROOT": "/elsewhere",
            "LD_PRELOAD": "evil.so",
        },
    }
    path = folder / "run_request.json"
    path.write_text(json.dumps({"runId": "r", "request": request}))
    arguments, settings, _ = repeat.request_of(folder)
    assert arguments == ["--x", "shift", "run"] and settings == {"EMBEDDING_SIM_ALGO": "sha256"}
    line = repeat.request_line(arguments, settings)
    assert line == "EMBEDDING_SIM_ALGO=sha256 casebook --x shift run"
    for text in ("{}", "[", '{"request": {}}'):
        path.write_text(text)
        with pytest.raises(InputError, match="not a run request"):
            repeat.request_of(folder)
    with pytest.raises(InputError, match="did not record"):
        repeat.request_of(record(tmp_path / "w" / "s"))


def test_differences_of_a_repetition():
    first = RunRecord.model_construct(metrics={"a": 0.5, "b": None, "c": 1.0})
    same = RunRecord.model_construct(metrics={"a": 0.5000001, "b": None, "c": 1.0})
    other = RunRecord.model_construct(metrics={"a": 0.6, "b": 1.0})
    assert repeat.metric_differences(first, same) == []
    assert len(repeat.metric_differences(first, other)) == 3


METRICS = {
    "set.dense.ndcg@10": 0.656,
    "set.dense.ap": 0.6,
    "set.dense.rr@10": 0.58825,
    "set.dense.p@1": 0.45455,
    "set.dense.rbp(p=0.9)": 0.1,
    "set.dense.undefined": None,
    "set.bm25.ndcg@10": 0.711,
}
LABELS = {
    "Cell": "c",
    "ContentKey": "k",
    "Version": "0.1.0",
    "Environment": {"python": "3.11", "platform": "Linux", "machine": "x86_64"},
    "Inputs": {
        "data": {"dataset": "abc"},
        "library": "def",
        "parameters": {"dataset": "set", "k": 10},
    },
}


@pytest.fixture
def ablation(record_of):
    return record_of("r1", METRICS, labels=LABELS, workflow="ablation")


def test_systems_are_chosen_by_name(ablation):
    assert choose_system(ablation, "set.Dense") == "set.dense"
    assert choose_system(ablation, "bm25") == "set.bm25"
    for name in (None, "x"):
        with pytest.raises(InputError, match="--system"):
            choose_system(ablation, name)


def test_the_actor_of_a_header_is_the_tenant_if_there_is_any(record_of):
    for tenant, team in ((None, "casebook"), ("acme", "acme")):
        header = repeat.ir_metadata(record_of("r", METRICS, labels=LABELS, tenant=tenant), "tag")
        assert header["actor"] == {"team": team, "role": "experimenter"}


def test_trec_with_a_header_is_read_by_us_and_its_body_by_trec_eval(ablation, tmp_path):
    run = {"q1": {"d1": 2.0, "d2": 1.0}, "q2": {"d3": 0.5}}
    path = write_trec(tmp_path / "run.trec", run, ablation, "set.dense")
    assert read_run(path) == run
    lines = path.read_text().splitlines(keepends=True)
    assert lines[0] == "# ir_metadata.start\n"
    end = lines.index("# ir_metadata.end\n")
    header = yaml.safe_load("".join(line.removeprefix("#") for line in lines[1:end]))
    primad = {"platform", "research goal", "implementation", "method", "actor", "data"}
    assert primad | {"tag"} <= set(header)
    assert header["data"]["test collection"]["name"] == "set"
    with path.open() as stream:
        body = (line for line in stream if not line.startswith("#"))
        assert pytrec_eval.parse_run(body) == run


def test_the_page_on_runs_documents_every_key_of_a_matrix(tmp_path):
    page = (ROOT / "book" / "methods" / "run_registry.md").read_text(encoding="utf-8")
    section = page.partition("## A matrix of variants")[2].partition("\n## ")[0]
    documented = {name.lower() for name in re.findall(r"(?m)^\| `([^`]+)` \|", section)}
    expected = {"variants", "stoponfailure"}
    expected |= {f"variants[].{name}" for name in ("name", "args", "env", "timeoutseconds")}
    expected |= {
        f"after.{field.validation_alias or name}" for name, field in After.model_fields.items()
    }
    assert documented == expected
    assert {f"variants[].{name}" for name in Variant.model_fields} - expected == {
        "variants[].timeout"
    }
    path = tmp_path / "variants.yml"
    path.write_text(section.partition("```yaml\n")[2].partition("```")[0])
    matrix = read_matrix(path)
    assert [variant.name for variant in matrix.variants] == ["as-documented", "half"]
    assert (matrix.variants[1].timeout, matrix.stop_on_failure, matrix.after.top) == (600, False, 5)
