"""SIGKILL and interrupts at random moments: nothing finished is lost, nothing half is seen, no
process is left, and the same command works again."""

import gzip
import itertools
import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import psutil
import pytest
import yaml
from quick_book import copy_book
from serving import chatting
from small_book import content, ended, started, write_project

from casebook.batch import grid
from casebook.batch.plan import plan, record_path
from casebook.batch.run import run_batch
from casebook.book import build
from casebook.paths import ROOT
from casebook.runs.record import read_record

WAIT = 300  # seconds, on a machine that may be busy


def until(condition):
    """What a condition gives as soon as that is true."""
    end = time.monotonic() + WAIT
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


def killed(work, seconds):
    """Run a function in a process and kill it after a time."""
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join(seconds)
    child.kill()
    child.join()


def interruptible(command):
    """Start a command in a group of its own that heeds interrupts.

    What a shell runs in the background, the tests perhaps, inherits to ignore them.
    """
    return subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


# --- commands in processes of their own

COMMANDS = """
init made_by_init
run --run mine
report --run mine
build --run mine
runs promote --reason agreed --run mine/runs/made -m planted.made.m@1
answer questions.txt --model m --url {url} --out log.jsonl
corpus encode recipes --out encoded
"""
KILLS = 6  # of each


def works(project, words):
    code, _, err = ended(started(project, *words))
    assert code == 0 or "exists" in err, err
    assert "Traceback" not in err, err


def with_inputs(folder):
    project = write_project(folder)
    (project / "questions.txt").write_text("What?\nWhy?\nWhen?\n")
    (project / "recipes").mkdir()
    lines = [json.dumps({"_id": str(n), "text": f"Bake it for {n} minutes."}) for n in range(9)]
    (project / "recipes" / "corpus.jsonl").write_text("\n".join(lines))
    return project


READERS = {
    ".ipynb": lambda path: nbformat.read(path, 4),
    ".json": lambda path: json.loads(path.read_text()),
    ".gz": lambda path: gzip.decompress(path.read_bytes()),
}


def visible(project):
    """Names of all files that are not hidden, each of which can be read to its end."""
    names = set()
    for path in project.rglob("*"):
        name = path.relative_to(project)
        if path.is_dir() or any(part.startswith(".") for part in name.parts):
            continue
        names.add(str(name))
        READERS.get(path.suffix, Path.read_bytes)(path)
    return names


def test_a_killed_command_leaves_nothing_half_and_works_again(tmp_path, count):
    chance = random.Random(5)
    whole = with_inputs(tmp_path / "whole")
    project = with_inputs(tmp_path / "killed")
    with chatting("Yes.", delay=0.2) as (url, _):
        for line in COMMANDS.format(url=url).strip().splitlines():
            words = line.split()
            began = time.monotonic()
            works(whole, words)
            seconds = time.monotonic() - began
            for _ in range(KILLS):
                process = started(project, *words)
                time.sleep(chance.uniform(0.1, 1) * seconds)
                children = []
                if process.poll() is None:
                    children = psutil.Process(process.pid).children(recursive=True)
                process.kill()
                process.communicate()
                assert not psutil.wait_procs(children, WAIT)[1], words
                visible(project)
                count(f"kill of casebook {words[0]}")
            works(project, words)
            assert visible(project) == visible(whole), words


# --- batches

NUMBERS = (
    "import time\n"
    "from casebook.runs.outputs import RunOutputs\n"
    "number = {'value': n / 3, 'ci': [0.0, 1.0], 'n': n, 'control': 0.1}\n"
    "_ = RunOutputs(run, cell).numbers('made', {'smoke': {cell: {'m@1': number}}})\n"
    "time.sleep(0.1)"
)


def test_runs(notebook_project, count):
    project = notebook_project('run = "a"\ncell = "b"\nn = 2', NUMBERS)
    chance = random.Random(3)
    cells = [grid.Cell(f"made-{n}", "01_made.ipynb", {"n": n}) for n in range(60)]

    def carry_on():
        run_batch(plan(cells, "mine"), "mine", report=str)

    def finished():
        return {p.cell.name for p in plan(cells, "mine") if p.status == "cached"}

    done = set()
    for _ in range(40):
        killed(carry_on, chance.uniform(0.3, 2.5))
        now_done = finished()
        assert done <= now_done
        for name in now_done:
            assert read_record(record_path("mine", name)).success
            path = project / "results" / "mine" / "notebooks" / f"{name}.ipynb"
            assert nbformat.read(path, 4).cells[-1].execution_count
        done = now_done
        count("kill while notebooks are executed")
    carry_on()
    assert len(finished()) == len(cells)
    numbers = json.loads((project / "results" / "mine" / "numbers.json").read_text())
    assert len(numbers["made"]["smoke"]) == len(cells)


WAITING = (
    "import os, pathlib, time\n"
    "told = pathlib.Path(f'{cell}.pids')\n"
    "first = not told.exists() and not pathlib.Path('go').exists()\n"
    "told.write_text(f'{os.getppid()} {os.getpid()}\\n')\n"
    "time.sleep(wait if first else 0)"
)


@pytest.fixture
def batch(notebook_project, tmp_path_factory, monkeypatch):
    """Start a batch of two cells that wait; its folder, and that of temporary files."""
    # Its name must be short enough for sockets.
    temporary = tmp_path_factory.mktemp("t")
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.delenv("CASEBOOK_SCRATCH", raising=False)
    project = notebook_project('run = "a"\ncell = "b"\nwait = 0', WAITING)
    row = {"notebook": "01_made.ipynb", "parameters": {"wait": WAIT}, "tags": ["default"]}
    rows = [row | {"name": name} for name in ("one", "two")]
    (project / "grid.yml").write_text(yaml.safe_dump(rows))
    command = [sys.executable, "-m", "casebook", "run", "--grid", "grid.yml", "--run", "mine"]

    def start():
        return interruptible([*command, "--workers", "2"])

    def at_work():
        texts = [path.read_text() for path in project.glob("*.pids")]
        pids = [text.split() for text in texts if text.endswith("\n")]
        return len(pids) == 2 and pids

    return project, temporary, start, at_work


@pytest.mark.parametrize("way", ["interrupt of all", "interrupt", "kill of a worker"])
def test_a_batch_that_is_stopped_leaves_nothing_behind(batch, count, way):
    project, temporary, start, at_work = batch
    process = start()
    pids = [list(map(int, pair)) for pair in until(at_work)]
    processes = [psutil.Process(pid) for pid in itertools.chain(*pids)]
    if way == "kill of a worker":
        os.kill(pids[0][0], signal.SIGKILL)
    else:
        (os.killpg if way == "interrupt of all" else os.kill)(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=WAIT)
    assert process.returncode == (3 if way == "kill of a worker" else 130), err
    assert "Traceback" not in err
    assert not psutil.wait_procs(processes, WAIT)[1]
    assert not [*temporary.iterdir()]
    count(f"{way} of a batch")
    (project / "go").touch()
    process = start()
    _, err = process.communicate(timeout=WAIT)
    assert process.returncode == 0, err
    assert not [*temporary.iterdir()]


# --- encodings

SHARDS = ["--shard-size", "50", "--workers", "2"]
# More than a pipe holds waits for the workers, so that what writes into it waits too.
TEXT = "A pipe burst in the kitchen and the insurer answered after a month. " * 150


@pytest.mark.parametrize("way", ["interrupt", "kill of a worker"])
def test_an_encoding_that_is_stopped_carries_on(tmp_path, count, way):
    (tmp_path / "collection").mkdir()
    # Passages of all documents differ: equal ones are encoded once.
    texts = [TEXT.replace("kitchen", f"kitchen {n}") for n in range(24)]
    lines = [json.dumps({"_id": str(n), "text": text}) for n, text in enumerate(texts)]
    (tmp_path / "collection" / "corpus.jsonl").write_text("\n".join(lines))
    place = tmp_path / "corpus"
    command = [sys.executable, "-m", "casebook", "corpus", "encode", str(tmp_path / "collection")]
    command += ["--out", str(place), *SHARDS]
    process = interruptible(command)
    (kept, *_) = until(lambda: list(place.glob("files-*/shards/*.sha256")))
    children = psutil.Process(process.pid).children(recursive=True)
    workers = [child for child in children if "spawn_main" in " ".join(child.cmdline())]
    assert len(workers) == 2
    if way == "interrupt":
        process.send_signal(signal.SIGINT)
    else:
        workers[0].kill()
    _, err = process.communicate(timeout=60)
    assert process.returncode == (130 if way == "interrupt" else 1)
    assert "Traceback" not in err
    assert not psutil.wait_procs(children, 60)[1]
    assert not (place / "encoded.json").exists()
    count(f"{way} of an encoding")
    written = kept.stat().st_mtime_ns
    assert subprocess.run(command, capture_output=True, text=True, check=True).stderr == ""
    assert kept.stat().st_mtime_ns == written


# --- builds


def killed_at(line):
    """Have this process kill itself before a line of the library that it executes from now on."""
    lines = itertools.count(1)

    def trace(frame, event, _):
        if not frame.f_code.co_filename.startswith(str(ROOT / "lib")):
            return None
        if event == "line" and next(lines) == line:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    frame = sys._getframe(1)
    while frame:
        frame.f_trace = trace
        frame = frame.f_back
    sys.settrace(trace)


def test_a_kill_before_any_line_that_replaces_a_site_leaves_a_whole_one_or_none(
    tmp_path, monkeypatch, count
):
    project = copy_book(tmp_path, monkeypatch)
    place = project / "_build" / "smoke"
    build.build_book("smoke")
    old = content(place / "html")
    front = project / "book" / "index.md"
    front.write_text(f"{front.read_text()}\nThe second text.\n")
    finish, parent = build.finish, os.getpid()
    left = []

    def finish_and_die(*made_from):
        """Let a copy of this process go on to each line, and look at what it leaves."""
        finish(*made_from)
        shutil.copytree(place, project / "before", copy_function=os.link)
        for line in itertools.count(1):
            child = os.fork()
            if child == 0:
                killed_at(line)
                return
            _, status = os.waitpid(child, 0)
            left.append(content(place / "html"))
            shutil.rmtree(place)
            shutil.copytree(project / "before", place, copy_function=os.link)
            if status == 0:
                return
            assert status == signal.SIGKILL

    monkeypatch.setattr(build, "finish", finish_and_die)
    try:
        build.build_book("smoke")
    finally:
        if os.getpid() != parent:
            os._exit(sys.exc_info()[0] is not None)
    new = left.pop()
    assert new != old
    assert "The second text." in (place / "html" / "index.html").read_text()
    # Between the renames there is none, and never a mixture.
    assert all(site in (old, new, {}) for site in left)
    assert new in left
    assert old in left
    count("kill while a new site takes the place of the old one", len(left))
