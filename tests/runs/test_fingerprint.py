import shutil
from pathlib import Path

import pytest

from casebook.batch.plan import data_hash
from casebook.errors import InputError
from casebook.files import write_text
from casebook.runs import record


def test_tree_digest_sees_names_and_bytes_but_not_hidden_files(tmp_path):
    write_text(tmp_path / "a" / "x.txt", "1")
    base = record.tree_digest(tmp_path)
    write_text(tmp_path / ".hidden", "2")
    write_text(tmp_path / "a" / "__pycache__" / "x.pyc", "2")
    assert record.tree_digest(tmp_path) == base
    write_text(tmp_path / "a" / "x.txt", "2")
    changed = record.tree_digest(tmp_path)
    (tmp_path / "a" / "x.txt").rename(tmp_path / "a" / "y.txt")
    assert len({base, changed, record.tree_digest(tmp_path)}) == 3


def test_the_hash_of_data_follows_card_folder_and_alias(tmp_path):
    smoke = data_hash("smoke")
    assert smoke == data_hash("smoke_test")
    write_text(tmp_path / "corpus.jsonl", "{}")
    assert data_hash(str(tmp_path)) != smoke
    with pytest.raises(InputError, match=r"no card of that name.*a folder is written"):
        data_hash("smokes")


@pytest.mark.parametrize("table", ["text.yml", "retrieval/systems.yml", "factcheck/judge.yml"])
def test_a_changed_table_of_the_library_is_another_library(tmp_path, monkeypatch, table):
    shutil.copytree(Path(record.__file__).parents[1], tmp_path / "casebook")
    monkeypatch.setattr(record, "__file__", str(tmp_path / "casebook" / "runs" / "record.py"))
    before = record.library_digest()
    path = tmp_path / "casebook" / table
    write_text(path, path.read_text() + "\n# changed\n")
    assert record.library_digest() != before
