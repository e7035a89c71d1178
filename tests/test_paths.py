import pytest
from hypothesis import given
from hypothesis import strategies as st

from casebook.errors import InputError
from casebook.paths import RESULTS, data_folder, run_dir, valid_name


@pytest.mark.parametrize(
    "name",
    [
        *("", "..", ".hidden", "a/b", "a\\b", "../x", "a..b", "é"),
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


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("./my data", "my_data"),
        ("./Meine Fälle (2026)", "Meine_Falle_2026"),
        ("b=./my data", "b"),
        ("x/Größe.v2", "Groe.v2"),
    ],
)
def test_a_folder_of_data_may_have_any_name(written, name):
    assert data_folder(written)[0] == name


def test_a_folder_without_a_plain_letter_is_named_by_hand():
    with pytest.raises(InputError, match="or call it: NAME=事例"):
        data_folder("./事例")
