"""Keys and pre-registrations of blind studies: whatever is altered in one of them is refused, in
one line."""

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

sys.path.insert(0, str(Path(__file__).parents[1] / "raters"))
from toy_study import make_study

FLIPS = 400  # of each file
PUBLIC, KEY = "preregistration.json", Path("sealed", "key.json")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return make_study(tmp_path_factory.mktemp("study") / "pilot", count=6)


@pytest.fixture(scope="module")
def returned(study, tmp_path_factory):
    return fill_forms(study, tmp_path_factory.mktemp("returned") / "back")


@pytest.fixture
def copy(study, tmp_path):
    return Path(shutil.copytree(study, tmp_path / "copy"))


def noticed(study, *names):
    """Whether a study is refused in one line that names a file."""
    try:
        read_key(study)
    except InputError as error:
        line = str(error)
        assert (
            "\n" not in line
            and len(line) < 1000
            and any(str(study / name) in line for name in names)
        ), line
        return True
    return False


def content(data):
    try:
        return json.dumps(json.loads(data), sort_keys=True)
    except ValueError:
        return data


def swapped(key):
    """Give a key in which all answers are the other system's."""
    copy = json.loads(json.dumps(key))
    for form in copy["forms"].values():
        for row in form["rows"]:
            row["left"], row["right"] = row["right"], row["left"]
    return copy


@pytest.mark.parametrize(("name", "what"), [(KEY, "a sealed key"), (PUBLIC, "a pre-registration")])
def test_every_byte_that_is_flipped_is_noticed(copy, count, name, what):
    path, chance = copy / name, random.Random(what)
    data = path.read_bytes()
    assert not noticed(copy)
    for _ in range(FLIPS):
        damaged = bytearray(data)
        damaged[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        assert noticed(copy, name) or content(damaged) == content(data)
        count(f"byte flipped in {what}")


def test_forms_notice_a_key_that_was_sealed_anew_with_its_sides_swapped(copy, returned, count):
    """Who holds the secret can seal again, but the forms that are out name the key with which they
    were made."""
    key, registered = json.loads((copy / KEY).read_text()), json.loads((copy / PUBLIC).read_text())
    (copy / KEY).write_text(json.dumps(swapped(key)))
    del registered["seal"]
    registered["key_sha256"] = sha256_file(copy / KEY)
    (copy / PUBLIC).write_text(json.dumps(registered | {"seal": seal(key["secret"], registered)}))
    assert not noticed(copy)
    with pytest.raises(InputError, match=rf"{returned[0].name}: .*another key"):
        open_forms(read_forms(returned), copy)
    count("sides swapped in a key that was sealed anew")
