"""Links in a circle, pipes, devices, wrong clocks and control characters: one line, or visible, and
nothing is lost."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cases import failing

from casebook.errors import InputError
from casebook.files import write_text
from casebook.trec import write_run

QRELS = "q1 0 d1 1\n"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a link to itself, a pipe that nobody writes, and small valid files."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "loop.jsonl").symlink_to("loop.jsonl")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "case.txt").write_text(
        "Tan, aged 30, v State. A delay of 40 days; section 302 IPC; a fine."
    )
    (tmp_path / "claims.txt").write_text("The rent is due.\n")
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "water"}\n')
    (tmp_path / "qrels").write_text(QRELS)
    write_run(tmp_path / "run", {"q1": {"d1": 1.0}})
    return tmp_path


LINKS = [
    "answer claims.txt --model m --out loop.jsonl",
    "sensitivity run case.txt smoke --mode bm25 -o loop",
    "corpus search encoded queries.jsonl --out loop",
    "corpus search loop queries.jsonl",
    "corpus encode loop --out made",
    "raters analyse loop",
    "raters analyse forms --key loop",
    "raters forms loop/study --rater=r:lay --log=claims.txt",
    "raters forms study --rater=r:lay --rater=s:lay --log=loop",
    "factcheck run claims.txt --out=loop",
    "factcheck run claims.txt --corpus ./loop",
    "runs --runs-root loop compare",
    "run query_length --dry-run -p dataset=./loop",
    "run query_length --dry-run --grid loop",
    "run loop/mine.ipynb --dry-run",
]


def test_a_link_to_itself_is_one_line_that_names_it(refused, place):
    """F61: `resolve` of such a link raised a RuntimeError."""
    rows = [(words, "loop", "links that lead to themselves") for words in LINKS]
    assert failing(refused, rows) == []


def test_a_pipe_that_nobody_writes_is_not_waited_for(refused, place):
    refused("evaluate pipe run", "pipe", "no file or folder")
    refused("factcheck run claims.txt --ratings=pipe", "no file or folder")


def test_what_a_shell_pipes_in_is_read(place):
    reading = f"{sys.executable} -m casebook evaluate <(cat qrels) run -m RR"
    done = subprocess.run(["bash", "-c", reading], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert "RR 1.0000" in done.stdout


def test_no_output_takes_the_place_of_a_device(casebook, place):
    with pytest.raises(InputError, match=r"/dev/null: .*name a file"):
        write_text("/dev/null", "text")
    assert Path("/dev/null").is_char_device()
    with pytest.raises(InputError, match=r"pipe: .*name a file"):
        write_text(place / "pipe", "text")
    words = ("sensitivity", "run", "case.txt", "smoke", "--mode", "bm25", "-o", "/dev/null")
    code, out, err = casebook(*words)
    assert (code, out) == (1, "") and "/dev/null" in err.splitlines()[-1]


def test_a_clock_that_is_none_is_one_line(refused, monkeypatch):
    for moment in ("abc", "1e9", "9" * 30, " "):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", moment)
        refused("init book", "SOURCE_DATE_EPOCH", "seconds since 1970")


# --- what is in the data and reaches the terminal

ESCAPES = "\x1b[2J\x07\x9b1m\u202e\u2066"
SEEN = r"\x1b[2J\x07\x9b1m\u202e\u2066"


def harmless(text):
    return not any(char in text for char in ESCAPES if not char.isalnum() and char != "[")


def test_control_characters_of_ids_are_shown_and_not_sent(casebook, place):
    """F62: an id could clear the screen, hide text or turn its direction."""
    name = f"d{ESCAPES}1"
    (place / "run").write_text(f"q1 Q0 {name} 1 1.0 tag\n")
    (place / "qrels").write_text(f"q{ESCAPES} 0 {name} 1\nq1 0 d2 1\n")
    code, out, err = casebook("evaluate", "qrels", "run", "--per-query")
    assert code == 0, err
    assert SEEN in out and harmless(out)
