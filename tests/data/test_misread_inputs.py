"""Sixteen inputs that were once misread: now read rightly, or refused with what to type."""

import json
import re
import shlex
from pathlib import Path

import pytest
from cases import failing

from casebook import read_log
from casebook.data.tables import LONGEST
from casebook.errors import InputError

INPUTS = json.loads(Path(__file__).with_name("misread.json").read_text(encoding="utf-8"))
LABELS = "--values SUPPORTS=SUPPORTED --values REFUTES=NOT_SUPPORTED --values 'NOT ENOUGH INFO="
LABELS += "INSUFFICIENT' --values supports=SUPPORTED --values NOT_ENOUGH_INFO=INSUFFICIENT"
SPELLED = "--values true=SUPPORTED --values false=NOT_SUPPORTED --values nei=INSUFFICIENT"
MEANT = "--values N/A= --values Yes=yes --values No=no --values 'yes =yes'"
# Command, what it refuses, what is then typed, and what comes out.
COMMANDS = [
    ("agreement case.csv --raters A,B", "--values No=no --values N/A=", MEANT, r"agreement +0\.800"),
    ("agreement m2.csv", "it has id, category, ann1, ann2: .*--raters A,B", "--raters ann1,ann2",
     r"not read: id, category\s.*raters ann1, ann2;(.|\n)*agreement +0\.66+7"),
    ("agreement n1.csv", "it has no, yes: .*--counts A,B", "--counts no,yes",
     r"categories no, yes; 3 votes an item(.|\n)*agreement +0\.66+7"),
    ("agreement own_long.csv", "type --columns item=output_id", "--columns item=output_id",
     r"4 items; raters R1, R2; numbers from 1 to 5(.|\n)*agreement +0\.750"),
    ("agreement num.csv", "it has num, ann1, ann2", "--raters ann1,ann2 --columns item=num",
     r"6 items; raters ann1, ann2;(.|\n)*agreement +0\.833"),
    ("agreement s1.csv", "has no rater .*it has domain, source, reference", None, None),
    ("factcheck score g2.jsonl p2.jsonl", "type --values SUPPORTS=LABEL --values REFUTES=LABEL "
     "--values 'NOT ENOUGH INFO=LABEL' .*INSUFFICIENT_EVIDENCE.\n", LABELS,
     "label = 'predicted_label'(.|\n)*original definition"),
    ("factcheck score kk.csv kk.csv", "--values false=LABEL --values nei=LABEL --values true=L", SPELLED,
     r"original definition.* tp 2, tn 2, fp 0, fn 0, n 6, accuracy 0\.666667.* f1 1\n"),
    ("run assistant --run misread --dry-run -p 'log=a #1.jsonl'", None, "", r"^run +assistant-\w+"),
]  # fmt: skip
ROWS = {"rows": "testRunData.testCases"}
NAMES = {"answer": "actualOutput", "contexts": "retrievalContext"}
PROMPTS = {"question": "vars.topic", "answer": "response.output", "system": "promptIdx"}
# File, what is refused, what is then told, and the first answers and contexts.
LOGS = [
    ("cp1252.csv", "perhaps WINDOWS-1252: save it as 'CSV UTF-8', or type iconv -f WIN", None, None),
    ("deepeval_saveas.csv", "is no JSON list of texts: .* the mark: --lists '|'", {"lists": "|"},
     [["Yes, one dog [2].", ["Rent is due on the first.", "The tenant may keep one cat or one dog."]]]),
    ("latest_test_run.json", "type --rows PATH; its lists: testRunData.testCases", ROWS | {"columns": NAMES},
     [["The tenant.", ["The tenant pays."]]]),
    ("latest_test_run.json", "answer=actualOutput --columns contexts=retrievalContext", ROWS, None),
    ("list.jsonl", None, {}, [["Deposit: 500 EUR. Rent: 900 EUR monthly. Notice: 2 months. Interest: 3 % "
     "yearly. Pets: 1 cat, 1 dog. Guests: 21 nights. Keys: 2. Garden: until 10 pm. Bicycles: cellar.", None]]),
    ("null_q.jsonl", "it has user_input, assistant_output: type --columns answer=assist", None, None),
    ("null_q.jsonl", ":1: question .column 'user_input'. is empty",
     {"columns": {"answer": "assistant_output"}}, None),
    ("answer_num.jsonl", None, {}, [["4", ["4"]], ["true", None]]),
    ("promptfoo_two.json", "its lists: results.prompts, results.results",
     {"rows": "results.results", "columns": PROMPTS},
     [["A0refund rules", None], ["A1refund rules", None]]),
]  # fmt: skip


@pytest.fixture
def inputs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in INPUTS.items():
        Path(name).write_bytes(content.encode("cp1252" if name == "cp1252.csv" else "utf-8"))


def test_every_command_reads_rightly_or_says_what_to_type(inputs, casebook):
    def check(words, refused, typed, expected):
        words = shlex.split(words)
        if refused:
            code, _, error = casebook(*words)
            assert code == 1 and re.search(refused, error) and len(error) <= LONGEST + 20
        if typed is not None:
            code, out, error = casebook(*words, *shlex.split(typed))
            assert code == 0 and re.search(expected, error + out), error + out

    assert failing(check, COMMANDS) == []


def test_every_log_is_read_rightly_or_refused_with_what_to_type(inputs):
    def check(file, refused, told, expected):
        if refused:
            with pytest.raises(InputError, match=refused) as error:
                read_log(file, **(told if told and expected is None else {}))
            assert len(str(error.value)) <= LONGEST and "\n" not in str(error.value)
        if expected:
            rows = read_log(file, **told)[["answer", "contexts"]].to_numpy().tolist()
            assert rows[: len(expected)] == expected

    assert failing(check, LOGS) == []
