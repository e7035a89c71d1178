import json
import os

import pytest

from casebook.errors import InputError
from casebook.runs import repeat
from casebook.runs.repeat import Variant, read_matrix, run_matrix

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
            "surrogates not allowed": {"args": ["\ud800"]},
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


def test_bad_specifications_are_one_clear_line(tmp_path):
    path = tmp_path / "matrix.json"
    for message, specification in WRONG.items():
        path.write_text(json.dumps(specification))
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
