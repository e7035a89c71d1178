"""The wheel without extras, in an environment that has nothing else."""

import subprocess
import sys

import pytest
from package_commands import base_commands

from casebook.paths import OUTPUT_VARIABLES, PROJECT_VARIABLE, ROOT

OWN_VARIABLES = (PROJECT_VARIABLE, *OUTPUT_VARIABLES, "CASEBOOK_CACHE", "CASEBOOK_DATA_MIRROR")

pytestmark = pytest.mark.faults

MOST_MEGABYTES = 300  # of files of packages; the bytecode that pip compiles is two fifths more


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Give the folder of an environment with the wheel, in the versions of the lock."""
    folder = tmp_path_factory.mktemp("base")
    pip = [sys.executable, "-m", "pip"]
    subprocess.run([*pip, "wheel", "-q", "--no-deps", "-w", folder, ROOT], check=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    install = [*pip, "--python", folder / "venv/bin/python", "install", "-q", wheel]
    subprocess.run([*install, "--constraint", ROOT / "requirements.lock"], check=True)
    return folder / "venv"


def test_the_base_is_small_and_runs_what_scores_files(environment, tmp_path, monkeypatch):
    for name in (*OWN_VARIABLES, "PYTHONPATH"):
        monkeypatch.delenv(name, raising=False)

    def run(*words):
        command = [environment / "bin" / words[0], *words[1:]]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    files = [path for path in environment.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert sum(path.stat().st_size for path in files) / 1e6 < MOST_MEGABYTES
    failed = {}
    for words in base_commands(tmp_path):
        done = run("casebook", *words)
        if done.returncode:
            failed[" ".join(words)] = done.stderr
    assert failed == {}
    assert run("python", "-c", "from casebook import contrasts").returncode == 0
    done = run("casebook", "run", "assistant", "--run", "mine")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "casebook-" not in done.stderr and "of the extra 'book': pip install " in done.stderr
