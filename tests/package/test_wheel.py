"""The wheel, installed outside the repository: the commands of the base, and a book of one's own."""

import gzip
import hashlib
import json
import os
import re
import shutil
import site
import socket
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest
from package_commands import base_commands
from quick_book import unrendered_path
from test_tutorials import BLOCKS, as_shown

from casebook.paths import OUTPUT_VARIABLES, PROJECT_VARIABLE, ROOT

OWN_VARIABLES = (PROJECT_VARIABLE, *OUTPUT_VARIABLES, "CASEBOOK_CACHE", "CASEBOOK_DATA_MIRROR")

pytestmark = pytest.mark.faults

MOST_MEGABYTES = 300  # of files of packages; the bytecode that pip compiles is two fifths more
PIP = [sys.executable, "-m", "pip"]
PARQUET = "pyarrow==26.0.1"  # the extra "parquet", which the tests' environment leaves out
AUTHOR = "kathrin.mueller"  # the account, and the home folder, of who makes a book


def usual():
    """The environment without what leads to this checkout."""
    dropped = {*OWN_VARIABLES, "PYTHONPATH"}
    return {name: value for name, value in os.environ.items() if name not in dropped}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([*PIP, "wheel", "--quiet", "--no-deps", "-w", folder, ROOT], check=True)
    (path,) = folder.glob("casebook_evidence-*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Give a function that runs a command of the installed wheel in a folder.

    The environment holds the wheel alone; what it depends on comes from the environment of the
    tests, whose own installation of Casebook a plain path does not bring along.
    """
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    (packages / "dependencies.pth").write_text("\n".join(site.getsitepackages()))
    install = [*PIP, "--python", folder / "bin" / "python", "install", "--quiet", "--no-deps"]
    subprocess.run([*install, "--no-compile", wheel, PARQUET], check=True)
    environment = usual() | {
        "HOME": str(folder / AUTHOR),
        "LOGNAME": AUTHOR,
        "USER": AUTHOR,
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache"),
    }

    def run(place, *words):
        program, *arguments = map(str, words)
        return subprocess.run(
            [folder / "bin" / program, *arguments],
            cwd=place,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_the_wheel_holds_what_a_project_needs_and_no_result(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    inside = [name.removeprefix("casebook/shipped/") for name in names]
    for name in (
        "notebooks/10_assistant.ipynb",
        "data/cards/smoke.yml",
        "book/methods/inference.md",
    ):
        assert name in inside
    assert "casebook/factcheck/words.yml" in names
    assert not any(name.startswith(("results", "tests")) for name in inside)
    assert wheel.stat().st_size < 4e6


def test_logs_and_collections_in_parquet_are_read(installed, tmp_path):
    """With pyarrow, of which pandas makes other columns of text than without it."""
    log = ROOT / "data" / "assistant" / "answers.jsonl"
    smoke = ROOT / "data" / "smoke"
    code = (
        "import pandas\n"
        f"pandas.read_json({str(log)!r}, lines=True).to_parquet('log.parquet')\n"
        f"pandas.read_json({str(smoke / 'corpus.jsonl')!r}, lines=True).to_parquet('corpus.parquet')"
    )
    done = installed(tmp_path, "python", "-c", code)
    assert done.returncode == 0, done.stderr
    done = installed(tmp_path, "casebook", "gate", "log", "log.parquet", "--against", log)
    assert (done.returncode, done.stderr) == (0, "")
    done = installed(tmp_path, "casebook", "convert", "smoke", "--corpus", "corpus.parquet")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("corpus.parquet: 48 rows;") and "48 of 48 rows" in done.stdout
    (tmp_path / "log.parquet").write_bytes(b"PAR1")
    done = installed(tmp_path, "casebook", "gate", "log", "log.parquet", "--against", log)
    assert done.returncode == 1 and "is no parquet file, or is damaged" in done.stderr


def test_a_book_of_ones_own_from_an_empty_folder(installed, tmp_path):
    title = 'Our: "assistant" é'
    done = installed(tmp_path, "casebook", "init", "book", "--title", title, "--author", "A. B: C")
    assert (done.returncode, done.stderr) == (0, "")
    book = tmp_path / "book"
    log = tmp_path / AUTHOR / "akte.jsonl"
    log.parent.mkdir()
    shutil.move(book / "data" / "example" / "answers.jsonl", log)
    grid = book / "notebooks" / "experiments.yml"
    grid.write_text(grid.read_text().replace("./data/example/answers.jsonl", str(log)))
    done = installed(book / "data", "casebook", "report", "--workers", "2")  # from below it, too
    assert done.returncode == 0, done.stderr
    numbers = json.loads((book / "results" / "report" / "numbers.json").read_text())
    assert "example" in numbers["retrieval_ablation"] and "smoke" not in str(numbers)
    site_folder = book / "_build" / "report" / "html"
    front = (site_folder / "index.html").read_text()
    assert "# No package index has Casebook" in (book / "requirements.txt").read_text()
    assert "A. B: C" in front and "Our: " in front and "PDPABench" not in front
    digest = hashlib.sha256(log.read_bytes()).hexdigest()
    provenance = (site_folder / "provenance.html").read_text()
    assert f"log akte.jsonl {digest[:12]}" in provenance and "smoke" not in front
    assert_no_trace_of_the_author(book, tmp_path)
    chapters = {path.stem for path in (site_folder / "run" / "notebooks").glob("*.html")}
    assert chapters == {"retrieval_ablation-example", "assistant-example"}


def assert_no_trace_of_the_author(book, folder):
    """No file that is published, or committed, names folder, account or machine of its author."""
    published = [path for path in (book / "_build/report/html").rglob("*") if path.is_file()]
    for path in (book / "results").rglob("*"):
        hidden = any(part.startswith(".") for part in path.relative_to(book).parts)
        if path.is_file() and not hidden:
            published.append(path)
    names = {path.name for path in published}
    assert {"run.json", "assistant-example.ipynb", "assistant-example.html"} < names
    base = str(folder.parent)  # of the environment, too
    machine = re.compile(rf"\b{re.escape(socket.gethostname())}\b")
    for path in published:
        content = path.read_bytes()
        if path.suffix == ".gz":
            content = gzip.decompress(content)
        text = content.decode(errors="replace")
        assert base not in text and AUTHOR not in text, path
        if path.suffix in (".json", ".ipynb"):
            assert not machine.search(text), path


def test_every_block_of_the_page_on_ones_own_book(installed, tmp_path):
    tools = tmp_path / "tools"  # Jupyter's commands, which the environment of the tests has
    tools.mkdir()
    python = installed(tmp_path, "python", "-c", "import sys; print(sys.executable)").stdout.strip()
    mains = {
        "papermill": "from papermill.__main__ import papermill as main",
        "pytest": "from pytest import console_main as main",
        "jupyter-book": "from jupyter_book.cli.main import main",
    }
    for name, line in mains.items():
        (tools / name).write_text(f"#!{python}\n{line}\nmain()\n")
        (tools / name).chmod(0o755)
    shutil.copy(Path(python).parent / "casebook", tools)
    environment = usual() | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    text = (ROOT / "book" / "own_book.md").read_text(encoding="utf-8")
    blocks = BLOCKS.findall(text)
    assert len(blocks) >= 5
    for _, code, shown in blocks:
        # The site of such a book is rendered by the test above; what the page itself starts, here.
        quick = {} if "jupyter-book" in code else {"PYTHONPATH": unrendered_path()}
        done = subprocess.run(
            ["bash", "-ec", code],
            cwd=tmp_path,
            env=environment | quick,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
        output = " ".join(done.stdout.split())
        assert re.search(as_shown(shown), output), f"{code}\n{output}\n{done.stderr}"


def test_the_base_is_small_and_runs_what_scores_files(wheel, tmp_path):
    """Without extras, in an environment that has nothing else, in the versions of the lock."""
    environment = tmp_path / "venv"
    venv.create(environment, with_pip=False)
    install = [*PIP, "--python", environment / "bin" / "python", "install", "--quiet", wheel]
    subprocess.run([*install, "--constraint", ROOT / "requirements.lock"], check=True)
    files = [path for path in environment.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert sum(path.stat().st_size for path in files) / 1e6 < MOST_MEGABYTES

    def run(*words):
        command = [environment / "bin" / words[0], *words[1:]]
        how = {"cwd": tmp_path, "env": usual(), "capture_output": True, "text": True}
        return subprocess.run(command, check=False, **how)

    done = {" ".join(words): run("casebook", *words) for words in base_commands(tmp_path)}
    assert {line: each.stderr for line, each in done.items() if each.returncode} == {}
    assert run("python", "-c", "from casebook import contrasts").returncode == 0
    refused = run("casebook", "run", "assistant", "--run", "mine")
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "casebook-" not in refused.stderr
    assert "of the extra 'book': pip install " in refused.stderr
