"""What a batch says: bar, plain lines, the summary of failures, and after Ctrl-C."""

import os
import pty
import re
import signal
import subprocess
import sys
import threading

import pytest
import yaml
from interrupts import interruptible

from casebook.batch.execute import Outcome
from casebook.batch.grid import Cell
from casebook.batch.plan import Planned
from casebook.batch.progress import Progress, summary
from casebook.progress import duration_text
from casebook.runs.record import read_record

PARAMETERS = 'run = "a"\ncell = "b"\nfail = ""\nwait = 0'
WORK = (
    "import time\n"
    "from casebook.errors import InputError\n"
    "print('at work', flush=True)\n"
    "time.sleep(wait)\n"
    "if fail == 'input':\n"
    "    raise InputError('data.csv:3: no column n')\n"
    "assert not fail, f'asked to fail: \\x1b[31m{fail}\\n twice'"
)
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture
def project(notebook_project, monkeypatch):
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm-256color")
    return notebook_project(PARAMETERS, WORK)


def command(project, *cells, run="mine"):
    """Write the grid and give the command that runs it."""
    rows = [
        {"name": name, "notebook": "01_made.ipynb", "parameters": parameters}
        | {"tags": ["default"]}
        for name, parameters in cells
    ]
    (project / "grid.yml").write_text(yaml.safe_dump(rows))
    grid = str(project / "grid.yml")
    return [sys.executable, "-m", "casebook", "run", "--grid", grid, "--run", run]


def on_terminal(arguments):
    """Run a command whose standard error is a terminal; give what it wrote there."""
    ours, theirs = pty.openpty()
    written = []

    def read():
        try:
            while data := os.read(ours, 4096):
                written.append(data)
        except OSError:
            pass  # how a pty says that nobody writes any more

    process = subprocess.Popen(arguments, stderr=theirs, stdout=subprocess.PIPE)
    os.close(theirs)
    reader = threading.Thread(target=read)
    reader.start()
    process.communicate(timeout=600)
    reader.join()
    os.close(ours)
    return process.returncode, b"".join(written).decode()


@pytest.mark.slow
def test_a_terminal_shows_a_bar_with_the_lines_above_it(project, monkeypatch):
    cells = ("one", {"wait": 1}), ("two", {"fail": "yes"})
    code, text = on_terminal(command(project, *cells))
    plain = ESCAPE.sub("", text)
    assert code == 3
    assert "\x1b[2K" in text  # the bar is drawn again and again
    assert re.search(r"0/2 .*time left not known yet one", plain)
    assert re.search(r"1/2 .*about \d+ min \d\d s left +two", plain)
    assert "done    one (" in plain and "FAILED  two (" in plain
    assert "casebook: 1 of 2 failed: two: 01_made.ipynb: cell 3: Asser" in plain
    monkeypatch.setenv("TQDM_DISABLE", "1")
    code, text = on_terminal(command(project, *cells))
    assert code == 3 and "\x1b" not in text
    assert "cached  one" in text and "FAILED  two" in text and "1/1" in text


@pytest.mark.slow
def test_failures_are_summed_up_with_cause_cell_and_last_lines(project):
    cells = [("bad", {"fail": "why"}), ("wrong", {"fail": "input"})]
    done = subprocess.run(command(project, *cells), capture_output=True, text=True)
    lines = done.stderr.splitlines()
    assert done.returncode == 3 and "\x1b" not in done.stderr
    assert "Traceback" not in done.stderr
    table = lines[lines.index("state         seconds attempts  cell") + 1 : -1]
    states = [line.split()[0] for line in table if not line.startswith("    |")]
    assert states == ["failed", "failed"]
    reason = "bad: 01_made.ipynb: cell 3: AssertionError: asked to fail: why twice"
    assert table[0].endswith(reason)
    last = [line for line in table if line.startswith("    |")]
    assert any("assert not fail" in line for line in last) and 2 <= len(last) <= 6
    assert any(
        line.endswith("wrong: 01_made.ipynb: cell 3: data.csv:3: no column n") for line in table
    )


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_done_and_the_same_command_carries_on(project):
    cells = ("one", {}), ("two", {"wait": 600})
    arguments = [*command(project, *cells), "--workers", "2"]
    process = interruptible(arguments)
    for line in process.stderr:
        if line.startswith("done    one"):
            break
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to all of them
    _, err = process.communicate(timeout=600)
    assert process.returncode == 130
    assert err.endswith("casebook: interrupted; the same command again carries on\n")
    assert "Traceback" not in err
    runs = project / "results" / "mine" / "runs"
    assert read_record(runs / "one" / "run.json").success
    assert not (runs / "two").exists()
    again = command(project, cells[0], ("two", {"wait": 0}))
    done = subprocess.run(again, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.search(r"cached  one|one \(library changed\)", done.stderr)
    assert "done    two" in done.stderr


def planned(name):
    return Planned(Cell(name, "01_made.ipynb"), {}, "run")


def test_the_time_left_is_estimated_and_never_negative(project):
    states = []
    lines = []
    cells = {name: planned(name) for name in "ab"}
    progress = Progress("mine", cells, lines.append, lambda *state: states.append(state))
    progress.started(cells["a"])
    progress.ended(Outcome("a", seconds=3.0))
    progress.started(cells["b"])
    progress.ended(Outcome("b", "boom", cause="timed out"))
    assert [(done, running) for done, _, running, _ in states] == [
        (0, ("a",)),
        (1, ()),
        (1, ("b",)),
        (2, ()),
    ]
    assert states[0][3] is None and states[3][3] == 0
    assert lines[1].startswith("done    a (3 s) [1/2], about 0 min")
    assert lines[3] == "FAILED  b (0 s) [2/2]"
    assert duration_text(187.4) == "3 min 07 s"


def test_recorded_durations_give_an_estimate_from_the_start(project):
    from casebook.batch.run_folder import write_outcomes

    write_outcomes("mine", [Outcome("a", seconds=30.0), Outcome("b", seconds=90.0)])
    states = []
    cells = {name: planned(name) for name in "ab"}
    Progress("mine", cells, str, lambda *state: states.append(state), slots=2).started(cells["a"])
    assert states[0][3] == 60


def test_the_summary_begins_with_failures_and_names_what_was_needed():
    table = summary(
        [Outcome("a"), Outcome("b", "needs a, which failed", cause="needs")]
    )  # failures first
    assert table.splitlines()[1].split()[:3] == ["needs", "0.0", "0"]
