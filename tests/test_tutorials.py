"""The blocks of both tutorials, run in order in an empty folder, with the output that the pages
show."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from quick_book import unrendered_path

from casebook.paths import ROOT

BLOCKS = re.compile(
    r"^```(python|bash)\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL
)


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def as_shown(text):
    """The pattern of an output, in which ``...`` stands for anything in a line."""
    return r"\s+".join(re.escape(word).replace(r"\.\.\.", r".*?") for word in text.split())


@pytest.mark.faults
@pytest.mark.parametrize(
    ("page", "made"),
    [
        ("assistant_tutorial", ("results/mine/notebooks/assistant-*.ipynb", "pilot/for_raters/*")),
        (
            "tutorial",
            (
                "results/mine/notebooks/my_question-*.ipynb",
                "_build/mine/html/index.html",
            ),
        ),
    ],
)
def test_every_block_of_a_tutorial_runs_and_prints_what_the_page_shows(tmp_path, page, made):
    folder = tmp_path / "an empty folder"
    folder.mkdir()
    tools = str(Path(sys.executable).parent)
    ours = ("CASEBOOK_", "OPENAI_")
    known = {name: text for name, text in os.environ.items() if not name.startswith(ours)}
    known |= {
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "CASEBOOK_ROOT": str(folder),
        "CASEBOOK_CACHE": os.environ.get("CASEBOOK_CACHE", ""),
        "PYTHONPATH": unrendered_path(ROOT / "lib"),
    }
    text = (ROOT / "book" / f"{page}.md").read_text(encoding="utf-8").replace("8765", free_port())
    blocks = BLOCKS.findall(text)
    assert len(blocks) >= 8
    assert sum(bool(shown) for *_, shown in blocks) > 5
    try:
        for language, code, shown in blocks:
            command = [sys.executable, "-c"] if language == "python" else ["bash", "-ec"]
            done = subprocess.run(
                [*command, code], cwd=folder, env=known, capture_output=True, text=True, timeout=600
            )
            assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
            if shown:
                assert re.search(as_shown(shown), " ".join(done.stdout.split())), (
                    f"{code}\n{done.stdout}\n{done.stderr}"
                )
    finally:
        subprocess.run(
            "kill $(cat stand_in.pid)", shell=True, cwd=folder, capture_output=True, check=False
        )
    assert all(list(folder.glob(pattern)) for pattern in made)
