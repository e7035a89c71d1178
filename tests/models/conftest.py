"""Tiny randomly initialised models on disk, so that no test needs the network."""

import pytest

WORDS = ["you", "may", "can", "cancel", "sue", "court", "the", "contract", "refund"]


def save_tokenizer(folder):
    from transformers import BertTokenizerFast

    folder.mkdir(parents=True)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(special + WORDS), encoding="utf-8")
    BertTokenizerFast(str(vocabulary), model_max_length=32).save_pretrained(folder)


def sizes():
    return {
        "vocab_size": len(WORDS) + 5,
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": 32,
    }


def saved(folder, model, seed=0):
    """Save a model with random weights, given by a function, and a tokenizer."""
    import torch

    save_tokenizer(folder)
    torch.manual_seed(seed)
    model().save_pretrained(folder)
    return folder


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
def dpr_pair(tmp_path_factory):
    """Give the folders of a DPR question and a DPR context checkpoint."""
    from transformers import DPRConfig, DPRContextEncoder, DPRQuestionEncoder

    place, config = tmp_path_factory.mktemp("dpr"), DPRConfig(**sizes())
    kinds = (DPRQuestionEncoder, DPRContextEncoder)
    return [saved(place / kind.__name__, lambda kind=kind: kind(config)) for kind in kinds]


@pytest.fixture(scope="session")
def make_classifier():
    """Give the function that writes a random classifier to a folder."""
    from transformers import BertConfig, BertForSequenceClassification

    def make(folder, labels):
        # A wide start, so that the scores of a random model differ visibly.
        config = BertConfig(**sizes(), num_labels=labels, initializer_range=0.5)
        return saved(folder, lambda: BertForSequenceClassification(config), labels)

    return make


@pytest.fixture(scope="session")
def minilm():
    """Give the packaged encoder without a cache."""
    from casebook.models.encoders import load_encoder

    return load_encoder("minilm", cache=False)
