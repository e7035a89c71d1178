"""One bit of a run is changed, wherever it stands: nothing goes on as if it had not been."""

import json
import random
import shutil

import pytest

from casebook import paths
from casebook.errors import InputError
from casebook.runs.outputs import require_report
from casebook.runs.record import EVIDENCE_FOLDERS

FLIPS = 100  # of each kind of file

pytestmark = pytest.mark.faults


@pytest.fixture
def report(tmp_path, monkeypatch):
    """Give a copy of the committed report."""
    shutil.copytree(paths.RESULTS / "smoke", tmp_path / "mine")
    monkeypatch.setattr(paths, "RESULTS", tmp_path)
    require_report("mine")
    return tmp_path / "mine"


def files(report, kind):
    """List the files of a kind: of a folder, or one file of the run."""
    place = report / kind
    return (
        [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.is_file())
    )


def same_content(before, after):
    """Whether a damaged JSON still says the same, because only blanks differ."""
    try:
        return json.loads(after) == json.loads(before)
    except ValueError:
        return False


@pytest.mark.parametrize("kind", [*EVIDENCE_FOLDERS, "runs", "numbers.json", "contrasts.json"])
def test_a_flipped_bit_is_noticed(report, kind, count):
    chance = random.Random(kind)
    noticed = 0
    for _ in range(FLIPS):
        path = chance.choice(files(report, kind))
        content = path.read_bytes()
        place = chance.randrange(len(content))
        damaged = (
            content[:place]
            + bytes([content[place] ^ 1 << chance.randrange(8)])
            + content[place + 1 :]
        )
        path.write_bytes(damaged)
        try:
            require_report("mine")
        except InputError as error:
            noticed += 1
            assert path.name in str(error) and "\n" not in str(error)
        else:
            # Records and what is joined of them are checked by what they say.
            assert kind in ("runs", "numbers.json", "contrasts.json") and same_content(
                content, damaged
            )
        path.write_bytes(content)
    require_report("mine")
    count(f"bit flipped in the outputs of a run: {kind}", noticed)
