"""Files that were once misread without a word: read rightly, or refused with what to type."""

import json
import shlex

import pytest

from casebook import read_log
from casebook.data.tables import LONGEST
from casebook.errors import InputError

PASSAGES = "Rent is due on the first.|The tenant may keep one cat or one dog."
DEEPEVAL = f"""input,actual_output,expected_output,retrieval_context,context,name
May I keep a dog?,"Yes, one dog [2].",One dog.,{PASSAGES},,
"""
CASE = {
    "name": "t",
    "input": "Who pays?",
    "actualOutput": "The tenant.",
    "expectedOutput": "Tenant",
}
CASE |= {"retrievalContext": ["The tenant pays."], "success": True}
ANSWER = "Deposit: 500 EUR. Rent: 900 EUR monthly. Notice: 2 months. Pets: 1 cat, 1 dog. Keys: 2."
#: File, content, what the refusal says, and what is read once that is typed.
LOGS = [
    (
        "cp1252.csv",
        "question;answer\nWer zahlt die Gebühr?;Der Käufer\n".encode("cp1252"),
        "save it as 'CSV UTF-8', or type iconv -f WINDOWS-1252 -t UTF-8 cp1252.csv",
        None,
        None,
    ),
    (
        "saveas.csv",
        DEEPEVAL,
        "or the mark: --lists '|'",
        {"lists": "|"},
        {"contexts": PASSAGES.split("|"), "answer": "Yes, one dog [2]."},
    ),
    (
        "latest.json",
        {"testRunData": {"testCases": [CASE]}, "testRunLink": None},
        "type --rows PATH; its lists: testRunData.testCases",
        {
            "rows": "testRunData.testCases",
            "columns": {"answer": "actualOutput", "contexts": "retrievalContext"},
        },
        {"answer": "The tenant.", "contexts": ["The tenant pays."]},
    ),
    (
        "list.jsonl",
        {"question": "What are the terms of the lease?", "answer": ANSWER},
        None,
        {},
        {"answer": ANSWER},
    ),
    (
        "null.jsonl",
        {"user_input": None, "assistant_output": "Hi"},
        "has no answer (answer, response, actual_output); it has user_input, assistant_output: "
        "type --columns answer=assistant_output",
        None,
        None,
    ),
    ("number.jsonl", {"question": "2+2?", "answer": 4}, None, {}, {"answer": "4"}),
]


@pytest.mark.parametrize(
    ("file", "content", "refused", "said", "expected"), LOGS, ids=[each[0] for each in LOGS]
)
def test_a_log_is_read_rightly_or_refused_well(tmp_path, file, content, refused, said, expected):
    path = tmp_path / file
    content = json.dumps(content) if isinstance(content, dict) else content
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    if refused:
        with pytest.raises(InputError) as error:
            read_log(path)
        message = str(error.value)
        assert refused in message and len(message) <= LONGEST and "\n" not in message
    if said is not None:
        log = read_log(path, **said)
        assert log.loc[0, list(expected)].tolist() == list(expected.values())
        assert log.attrs["notes"] == []


def test_what_the_command_says_of_submissions_of_fever_suffices(casebook, tmp_path):
    labels = ["SUPPORTS", "REFUTES", "NOT ENOUGH INFO", "SUPPORTS"]
    said = ["supports", "REFUTES", "NOT_ENOUGH_INFO", "supports"]
    gold = [{"id": n, "label": label, "evidence": [[[1]]]} for n, label in enumerate(labels)]
    found = [{"id": n, "predicted_label": label} for n, label in enumerate(said)]
    for name, rows in (("g2.jsonl", gold), ("p2.jsonl", found)):
        (tmp_path / name).write_text("\n".join(map(json.dumps, rows)))
    words = ["factcheck", "score", tmp_path / "g2.jsonl", tmp_path / "p2.jsonl"]
    words += ["--values", "SUPPORTS=SUPPORTED", "--values", "REFUTES=NOT_SUPPORTED"]
    words += ["--values", "NOT ENOUGH INFO=INSUFFICIENT", "--nei", "three_class", "--json"]
    code, _, error = casebook(*words)
    typed = "--values supports=SUPPORTED --values NOT_ENOUGH_INFO=INSUFFICIENT"
    assert code == 1 and typed in error
    code, out, _ = casebook(*words, *shlex.split(typed))
    report = json.loads(out)
    assert code == 0 and report["corrected"]["measures"]["accuracy"]["value"] == 1.0
    assert report["parity"]["tp"] == 2 and report["parity"]["accuracy"] == 0.75
