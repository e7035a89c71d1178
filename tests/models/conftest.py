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


@pytest.fixture(scope="session")
def bert_pair(tmp_path_factory):
    """Give the folders of a plain query tower and a plain context tower."""
    import torch
    from transformers import BertConfig, BertModel

    folders = []
    for seed, name in enumerate(("question", "passage")):
        folder = tmp_path_factory.mktemp("towers") / name
        save_tokenizer(folder)
        torch.manual_seed(seed)
        BertModel(BertConfig(**sizes())).save_pretrained(folder)
        folders.append(folder)
    return folders


@pytest.fixture(scope="session")
def dpr_pair(tmp_path_factory):
    """Give the folders of a DPR question and a DPR context checkpoint."""
    import torch
    from transformers import DPRConfig, DPRContextEncoder, DPRQuestionEncoder

    folders = []
    for kind in (DPRQuestionEncoder, DPRContextEncoder):
        folder = tmp_path_factory.mktemp("dpr") / kind.__name__
        save_tokenizer(folder)
        torch.manual_seed(len(folders))
        kind(DPRConfig(**sizes())).save_pretrained(folder)
        folders.append(folder)
    return folders


@pytest.fixture(scope="session")
def tiny_cross_encoder(tmp_path_factory):
    """Give the folder of a classifier with one output."""
    return classifier(tmp_path_factory.mktemp("cross") / "one", 1)


@pytest.fixture(scope="session")
def two_label_classifier(tmp_path_factory):
    """Give the folder of a classifier with two outputs."""
    return classifier(tmp_path_factory.mktemp("cross") / "two", 2)


@pytest.fixture(scope="session")
def make_classifier():
    """Give the function that writes a random classifier to a folder."""
    return classifier


def classifier(folder, labels):
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    save_tokenizer(folder)
    torch.manual_seed(labels)
    # A wide start, so that the scores of a random model differ visibly.
    config = BertConfig(**sizes(), num_labels=labels, initializer_range=0.5)
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def minilm():
    """Give the packaged encoder without a cache."""
    from casebook.models.encoders import load_encoder

    return load_encoder("minilm", cache=False)
