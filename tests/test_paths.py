import pytest
from cases import failing
from hypothesis import given
from hypothesis import strategies as st

from casebook.errors import InputError
from casebook.paths import RESULTS, data_folder, run_dir, valid_name

NAMES = [*("", "..", ".hidden", "a/b", "a\\b", "../x", "a..b", "é")]
NAMES += ["x" * 101, "a b", "a\0b", "-x", "name.", "a\n"]


def test_names_that_could_leave_the_folder_are_refused():
    def check(name):
        with pytest.raises(InputError, match="not allowed"):
            valid_name(name)

    assert failing(check, [(name,) for name in NAMES]) == []


@given(st.text(max_size=20))
def test_an_accepted_name_is_one_component_of_the_results_folder(name):
    try:
        folder = run_dir(name)
    except InputError:
        return
    assert folder.parent == RESULTS
    assert folder.resolve().parent == RESULTS.resolve()


def test_a_folder_of_data_is_called_after_itself_or_by_hand():
    wanted = {"./my data": "my_data", "b=./my data": "b", "x/a.v2": "a.v2"}
    wanted |= {"./事例": None, "x/Größe": None}
    for written, name in wanted.items():
        if name:
            assert data_folder(written)[0] == name
        else:
            with pytest.raises(InputError, match="or call it: NAME="):
                data_folder(written)
    assert data_folder("smoke") is None
