"""What a batch says of failures."""

import subprocess
import sys

import pytest
import yaml

PARAMETERS = 'run = "a"\ncell = "b"\nfail = ""'
WORK = (
    "from casebook.errors import InputError\n"
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
