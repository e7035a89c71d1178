"""The tutorial's blocks, run in order in a copy of the project."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from casebook.paths import ROOT

BLOCKS = re.compile(r"^```(python|bash)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_every_block_of_the_tutorial_runs(tmp_path, copy_project):
    copy_project(tmp_path)
    tools = str(Path(sys.executable).parent)
    environment = os.environ | {
        **dict.fromkeys(("CASEBOOK_PROJECT", "CASEBOOK_ROOT"), str(tmp_path)),
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
    }
    text = (ROOT / "book" / "tutorial.md").read_text(encoding="utf-8")
    blocks = BLOCKS.findall(text)
    assert len(blocks) > 8
    for language, code in blocks:
        command = [sys.executable, "-c"] if language == "python" else ["bash", "-ec"]
        done = subprocess.run([*command, code], cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
    site = tmp_path / "_build" / "mine" / "html"
    pages = {path.stem for path in (site / "run" / "notebooks").glob("*.html")}
    assert len(pages) == 3
