"""Devices and precisions: what is refused, what is computed, and what identifies it.

The CPU computes in float32 and bfloat16 here. A CUDA device and an MPS device are stand-ins: torch
is told that they are there, models stay on the CPU, and their tensors refuse what tensors of such
a device refuse. No real one has run these models.
"""

from unittest.mock import Mock

import numpy as np
import pytest
import torch
from cases import not_refused

from casebook import load_encoder
from casebook.models import encoders
from casebook.models.device import ModelSettings, model_settings

MODEL = "sentence_transformers.sentence_transformer.model"  # imported where a test needs it
TEXTS = ["You may cancel the contract.", "", "Can you sue?", "the court " * 20]
VARIABLES = ("CASEBOOK_DEVICE", "CASEBOOK_PRECISION", "CASEBOOK_BATCH_SIZE")


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def machine(monkeypatch):
    """Give a function that tells torch which devices are there."""

    def pretend(kind=None, number=1):
        device = kind and torch.device(kind)
        monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda **_: device)
        monkeypatch.setattr(torch.accelerator, "device_count", lambda: number)

    pretend()
    return pretend


class CardTensor(torch.Tensor):
    """A tensor of a device, which has to be copied to the CPU before numpy reads it."""

    def numpy(self):
        raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu()")

    def cpu(self):
        return self.as_subclass(torch.Tensor)


@pytest.fixture
def card(machine, monkeypatch):
    """Stand in for two CUDA devices; gives the devices and types that models are loaded to."""
    machine("cuda", 2)
    moves = []
    load = encoders.loaded

    def loaded(kind, folder, settings):
        if settings.device != "cpu":
            moves.append((settings.device, settings.precision))
        return load(kind, folder, ModelSettings("cpu", settings.precision))

    def batch_to_device(batch, device):
        return {
            name: value.as_subclass(CardTensor) if isinstance(value, torch.Tensor) else value
            for name, value in batch.items()
        }

    monkeypatch.setattr(f"{MODEL}.batch_to_device", batch_to_device)
    monkeypatch.setattr(encoders, "loaded", loaded)
    return moves


# --- what is refused, and what is chosen


def test_the_environment_is_the_default_and_an_argument_wins(machine, monkeypatch):
    machine("cuda", 2)
    for name, value in zip(VARIABLES, ("CUDA:1", "float16", "64"), strict=True):
        monkeypatch.setenv(name, value)
    assert model_settings() == ModelSettings("cuda:1", "float16", 64)
    assert model_settings("cpu", "float32", 8) == ModelSettings("cpu", "float32", 8)
    for name in VARIABLES:
        monkeypatch.setenv(name, "")  # as a shell leaves what is not set
    assert model_settings() == ModelSettings("cpu", "float32", None)


def test_what_this_machine_cannot_do_is_one_line(machine):
    def load(kind, *arguments):
        machine(kind, 2)
        return model_settings(*arguments)

    cases = [
        (None, "gpu", "device 'gpu': this machine has cpu"),
        ("cuda", "cuda:2", "device 'cuda:2': this machine has cuda, cuda:0, cuda:1, cpu"),
        (None, "cpu", "half", "precision: Input should be 'float32', 'bfloat16' or 'float16'"),
        (None, "cpu", "float16", "slower than float32: give bfloat16"),
        (None, "cpu", "float32", 0, "field batch_size: Input should be greater than 0"),
    ]
    assert not_refused(load, cases) == []


# --- what is computed


def test_a_card_gets_model_and_precision_and_its_vectors_come_back(card, bert_pair):
    folder = bert_pair[0]
    expected = load_encoder(folder, cache=False)
    encoder = load_encoder(folder, cache=False, device="cuda:1")
    np.testing.assert_array_equal(encoder.encode_queries(TEXTS), expected.encode_queries(TEXTS))
    pooled, tokens = encoder.encode_both(TEXTS)
    expected_pooled, expected_tokens = expected.encode_both(TEXTS)
    np.testing.assert_array_equal(pooled, expected_pooled)
    np.testing.assert_array_equal(tokens.vectors, expected_tokens.vectors)
    np.testing.assert_array_equal(tokens.token_ids, expected_tokens.token_ids)
    assert card == [("cuda:1", "float32")]
    half = load_encoder(folder, cache=False, device="cuda", precision="float16")
    assert half.encode_queries(TEXTS).dtype == np.float32
    assert card[1:] == [("cuda", "float16")]


def test_a_batch_that_is_too_large_for_the_device_is_one_line(card, bert_pair, monkeypatch):
    encoder = load_encoder(bert_pair[0], cache=False, device="cuda", batch_size=4096)
    full = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.\nMore.")
    monkeypatch.setattr(f"{MODEL}.batch_to_device", Mock(side_effect=full))
    line = "device cuda: its memory does not hold 4096 texts at a time: give a smaller --batch-size"
    assert not_refused(encoder.encode_queries, [(["you"], line)]) == []


# --- what identifies it


def test_device_and_precision_identify_vectors_and_the_card_does_not(card, bert_pair):
    def hashes(**settings):
        encoder = load_encoder(bert_pair[0], cache=False, **settings)
        return encoder.model_hash, encoder.weights_hash

    reference = hashes()
    assert reference[0] == reference[1] == hashes(batch_size=7)[0]
    assert hashes(device="cuda:0") == hashes(device="cuda:1") == hashes(device="cuda")
    variants = [
        reference,
        hashes(device="cuda"),
        hashes(device="cuda", precision="float16"),
        hashes(precision="bfloat16"),
    ]
    assert len({model for model, _ in variants}) == len(variants)
    assert {weights for _, weights in variants} == {reference[1]}
