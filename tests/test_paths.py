import pytest
from hypothesis import given
from hypothesis import strategies as st

from casebook.errors import InputError
from casebook.paths import RESULTS, run_dir, valid_name


@pytest.mark.parametrize(
    "name",
    [
        *("", "..", ".hidden", "a/b", "a\\b", "../x", "a..b", "con", "NUL.txt", "é"),
        *("x" * 101, "a b", "a\0b", "-x", "name.", "a\n"),
    ],
)
def test_names_that_could_leave_the_folder_are_refused(name):
    with pytest.raises(InputError, match="not allowed"):
        valid_name(name)


@given(st.text(max_size=20))
def test_an_accepted_name_is_one_component_of_the_results_folder(name):
    try:
        folder = run_dir(name)
    except InputError:
        return
    assert folder.parent == RESULTS
    assert folder.resolve().parent == RESULTS.resolve()


def test_names_are_kept_as_they_are():
    assert valid_name("pdpabench_test-2.1") == "pdpabench_test-2.1"
