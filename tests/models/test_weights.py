import pytest

from casebook.errors import InputError
from casebook.models.weights import PACKAGED_SHA256, check_weights, locate_model, model_fingerprint


def model_folder(path, weights=b"weights"):
    path.mkdir()
    (path / "config.json").write_text("{}")
    (path / "model.safetensors").write_bytes(weights)
    (path / "README.md").write_text("about")
    return path


def test_packaged_weights_are_the_published_ones():
    folder = locate_model("minilm")
    check_weights(folder / "model.safetensors", PACKAGED_SHA256)
    assert PACKAGED_SHA256.startswith("53aa5117")


def test_changed_weights_are_refused(tmp_path):
    folder = model_folder(tmp_path / "model")
    with pytest.raises(InputError, match=r"expected sha256 53aa5117.* found"):
        check_weights(folder / "model.safetensors", PACKAGED_SHA256)
    with pytest.raises(InputError, match="found no file"):
        check_weights(folder / "absent.safetensors", PACKAGED_SHA256)


@pytest.mark.parametrize("name", ["/no/such/folder", "./here", "~/there", "a/b/c", "", "..", "C:\\models"])
def test_folder_that_does_not_exist_is_one_clear_line(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as error:
        locate_model(name)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith(("model folder", ". is no", ".. is no"))


@pytest.mark.parametrize("name", ["someone/no-such-model", "no-such-model"])
def test_hub_name_is_not_downloaded_unasked(name, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(InputError, match="CASEBOOK_ALLOW_DOWNLOAD=1"):
        locate_model(name)


def test_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"no config\.json or modules\.json"):
        locate_model(tmp_path)


def test_folder_without_safetensors_is_refused(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "pytorch_model.bin").write_bytes(b"pickle")
    with pytest.raises(InputError, match="pickles are not read"):
        model_fingerprint(tmp_path)


def test_fingerprint_follows_what_decides_the_output(tmp_path):
    first = model_fingerprint(model_folder(tmp_path / "a"))
    copy = model_folder(tmp_path / "b")
    (copy / "README.md").write_text("other words")
    assert model_fingerprint(copy) == first
    assert model_fingerprint(model_folder(tmp_path / "c", b"others")) != first
    (copy / "config.json").write_text('{"pooling": 1}')
    assert model_fingerprint(copy) != first
