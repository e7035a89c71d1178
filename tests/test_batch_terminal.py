"""What a batch says of failures, and after Ctrl-C."""

import os
import re
import signal
import subprocess
import sys

import pytest
import yaml
from interrupts import interruptible

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


@pytest.fixture
def project(notebook_project):
    return notebook_project(PARAMETERS, WORK)


def command(project, *cells, run="mine"):
    rows = [
        {"name": name, "notebook": "01_made.ipynb", "parameters": parameters}
        | {"tags": ["default"]}
        for name, parameters in cells
    ]
    (project / "grid.yml").write_text(yaml.safe_dump(rows))
    grid = str(project / "grid.yml")
    return [sys.executable, "-m", "casebook", "run", "--grid", grid, "--run", run]


@pytest.mark.slow
def test_failures_are_said_with_cause_cell_and_last_lines(project):
    cells = [("bad", {"fail": "why"}), ("wrong", {"fail": "input"})]
    done = subprocess.run(command(project, *cells), capture_output=True, text=True)
    lines = done.stderr.splitlines()
    assert done.returncode == 3 and "\x1b" not in done.stderr
    assert "Traceback" not in done.stderr
    bad, wrong = [line for line in lines if line.startswith(("failed", "refused"))]
    assert bad.endswith(": 01_made.ipynb: cell 3: AssertionError: asked to fail: why twice")
    assert wrong.endswith(": 01_made.ipynb: cell 3: data.csv:3: no column n")
    last = [line for line in lines if line.startswith("    |")]
    assert any("assert not fail" in line for line in last) and 2 <= len(last) <= 6


@pytest.mark.faults
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
    assert err.endswith("casebook: interrupted: type the same command again\n")
    assert "Traceback" not in err
    runs = project / "results" / "mine" / "runs"
    assert read_record(runs / "one" / "run.json").success
    assert not (runs / "two").exists()
    again = command(project, cells[0], ("two", {"wait": 0}))
    done = subprocess.run(again, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.search(r"cached  one|one \(library\)", done.stderr)
    assert "done    two" in done.stderr
