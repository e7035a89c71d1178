from cases import misnamed
from hypothesis import given
from hypothesis import strategies as st

from casebook.errors import InputError
from casebook.paths import INSTALLED, RESULTS, data_folder, run_dir, valid_name

WRONG = [*("", "..", ".hidden", "a/b", "a\\b", "../x", "a..b", "é")]
WRONG += ["x" * 101, "a b", "a\0b", "-x", "name.", "a\n"]


def test_names_that_could_leave_the_folder_are_refused():
    assert misnamed(valid_name, [((name,), "not allowed") for name in WRONG], InputError) == []


@given(st.text(max_size=20))
def test_an_accepted_name_is_one_component_of_the_results_folder(name):
    try:
        folder = run_dir(name)
    except InputError:
        return
    assert folder.resolve().parent == RESULTS.resolve()


def test_a_folder_of_data_is_called_after_itself_or_by_hand():
    names = {"./my data": "my_data", "b=./my data": "b", "x/a.v2": "a.v2"}
    assert {written: data_folder(written)[0] for written in names} == names
    assert data_folder("smoke") is None
    unnamed = [(("./事例",), "or call it: NAME="), (("x/Größe",), "or call it: NAME=")]
    assert misnamed(data_folder, unnamed, InputError) == []


def test_what_the_wheel_brings_along_is_no_book_to_report(casebook, monkeypatch):
    # The default report asked the network, and for data that a clone makes.
    monkeypatch.setattr("casebook.paths.ROOT", INSTALLED)
    assert casebook("report") == (
        1,
        "",
        "casebook: no notebooks/experiments.yml here or above: cd into a book, "
        "or casebook init FOLDER\n",
    )
