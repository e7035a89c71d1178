"""Tiny randomly initialised models on disk, so that no test needs the network."""

import pytest
from tiny_models import saved, sizes


@pytest.fixture(scope="session")
def bert_pair(tmp_path_factory):
    """Give the folders of a plain query tower and a plain context tower."""
    from transformers import BertConfig, BertModel

    place = tmp_path_factory.mktemp("towers")
    return [
        saved(place / name, lambda: BertModel(BertConfig(**sizes())), len(name))
        for name in ("query", "passage")
    ]


@pytest.fixture(scope="session")
def minilm():
    """Give the packaged encoder without a cache."""
    from casebook.models.encoders import load_encoder

    return load_encoder("minilm", cache=False)
