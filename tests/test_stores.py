"""Files at any address: a folder, memory, an object store; one kind of error."""

import pytest

from casebook.errors import InputError
from casebook.files import Store


@pytest.fixture(params=["folder", "memory", "s3"])
def url(request, tmp_path):
    if request.param == "s3":
        return f"{request.getfixturevalue('object_store')}/deep/place"
    return tmp_path / "place" if request.param == "folder" else "memory://place"


def test_what_is_written_is_read_wherever_it_lies(url, tmp_path):
    store, name = Store(url), "a/ä b.json"
    assert store.read(name) is store.size(name) is None
    store.remove(name)
    store.write(name, b"one")
    assert (store.read(name), store.size(name)) == (b"one", 3)
    (tmp_path / "source").write_bytes(b"another")
    store.copy(name, tmp_path / "source")
    assert Store(url).read(name) == b"another"
    store.remove(name)
    assert store.read(name) is None


def test_only_a_folder_is_a_folder(url):
    assert Store(url).is_folder == ("://" not in str(url))


@pytest.mark.parametrize("write", ["write", "copy"])
def test_a_bucket_that_is_not_there_is_one_clear_line(object_store, tmp_path, write):
    (tmp_path / "source").write_bytes(b"x")
    content = b"x" if write == "write" else tmp_path / "source"
    with pytest.raises(InputError, match=r"^s3://absent-bucket/x: \w+: .*bucket") as e:
        getattr(Store("s3://absent-bucket/x"), write)("a", content)
    assert "\n" not in str(e.value)
    assert Store("s3://absent-bucket/x").read("a") is None


def test_an_unknown_kind_of_address_is_refused():
    with pytest.raises(InputError, match="nowhere://x: ValueError: Protocol not known"):
        Store("nowhere://x")
