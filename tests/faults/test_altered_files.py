"""One bit is changed, in a run, a key or a pre-registration: nothing goes on as if it had not
been."""

import json
import random
import shutil
import sys
from pathlib import Path

import pytest

from casebook.errors import InputError
from casebook.files import sha256_file
from casebook.raters.design import seal
from casebook.raters.read import read_forms
from casebook.raters.simulate import fill_forms
from casebook.raters.unblinding import open_forms, read_key
from casebook.runs.outputs import require_report
from casebook.runs.record import EVIDENCE_FOLDERS

sys.path.insert(0, str(Path(__file__).parents[1] / "raters"))
from toy_study import make_study

PUBLIC, KEY = "preregistration.json", Path("sealed", "key.json")
JOINED = ["runs", "numbers.json", "contrasts.json"]  # which are checked by what they say


def flipped(data, chance):
    damaged = bytearray(data)
    damaged[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return damaged


def content(data):
    """What a file says: the same where only blanks of a JSON differ."""
    try:
        return json.dumps(json.loads(data), sort_keys=True)
    except ValueError:
        return data


@pytest.mark.parametrize("kind", [*EVIDENCE_FOLDERS, *JOINED])
def test_a_flipped_bit_of_a_run_is_noticed(mine, kind, count):
    chance, place = random.Random(kind), mine / kind
    files = [place] if place.is_file() else sorted(filter(Path.is_file, place.rglob("*")))
    require_report("mine")
    noticed = 0
    for _ in range(100):
        path = chance.choice(files)
        data = path.read_bytes()
        damaged = flipped(data, chance)
        path.write_bytes(damaged)
        try:
            require_report("mine")
        except InputError as error:
            noticed += 1
            assert path.name in str(error) and "\n" not in str(error)
        else:
            assert kind in JOINED and content(damaged) == content(data)
        path.write_bytes(data)
    require_report("mine")
    count(f"bit flipped in the outputs of a run: {kind}", noticed)


# --- blind studies


@pytest.fixture
def study(tmp_path):
    return make_study(tmp_path / "pilot", count=6)


def noticed(study, *names):
    """Whether a study is refused in one line that names a file."""
    try:
        read_key(study)
    except InputError as error:
        line = str(error)
        assert "\n" not in line and len(line) < 1000, line
        assert any(str(study / name) in line for name in names), line
        return True
    return False


@pytest.mark.parametrize(("name", "what"), [(KEY, "a sealed key"), (PUBLIC, "a pre-registration")])
def test_every_byte_that_is_flipped_is_noticed(study, count, name, what):
    path, chance = study / name, random.Random(what)
    data = path.read_bytes()
    assert not noticed(study)
    for _ in range(400):
        damaged = flipped(data, chance)
        path.write_bytes(damaged)
        assert noticed(study, name) or content(damaged) == content(data)
        count(f"byte flipped in {what}")


def test_forms_notice_a_key_that_was_sealed_anew_with_its_sides_swapped(study, tmp_path, count):
    """Whoever holds the secret can seal again, but the forms that are out name the key with which
    they were made."""
    returned = fill_forms(study, tmp_path / "back")
    copy = Path(shutil.copytree(study, tmp_path / "copy"))
    key, registered = json.loads((copy / KEY).read_text()), json.loads((copy / PUBLIC).read_text())
    for form in key["forms"].values():
        for row in form["rows"]:
            row["left"], row["right"] = row["right"], row["left"]
    (copy / KEY).write_text(json.dumps(key))
    del registered["seal"]
    registered["key_sha256"] = sha256_file(copy / KEY)
    (copy / PUBLIC).write_text(json.dumps(registered | {"seal": seal(key["secret"], registered)}))
    assert not noticed(copy)
    with pytest.raises(InputError, match=rf"{returned[0].name}: .*another key"):
        open_forms(read_forms(returned), copy)
    count("sides swapped in a key that was sealed anew")
