"""Tiny randomly initialised models on disk, so that no test needs the network."""

import json

import numpy as np

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


# Save a model with random weights, given by a function, and a tokenizer.
def saved(folder, model, seed=0):
    import torch

    save_tokenizer(folder)
    torch.manual_seed(seed)
    model().save_pretrained(folder)
    return folder


# Write a random classifier of so many labels to a folder, with names if they are given.
def classifier(folder, labels, names=None):
    from transformers import BertConfig, BertForSequenceClassification

    # A wide start, so that the scores of a random model differ visibly.
    config = BertConfig(**sizes(), num_labels=labels, initializer_range=0.5)
    saved(folder, lambda: BertForSequenceClassification(config), labels)
    return named(folder, names) if names else folder


# Name the outputs of a classifier in its settings.
def named(folder, labels):
    path = folder / "config.json"
    config = json.loads(path.read_text())
    config["id2label"] = {str(n): label for n, label in enumerate(labels)}
    config["label2id"] = {label: n for n, label in enumerate(labels)}
    path.write_text(json.dumps(config))
    return folder


def logits_of(folder, pairs):
    """Logits of the bare model, one pair of texts at a time."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    batches = [tokenizer(*pair, return_tensors="pt") for pair in pairs]
    with torch.inference_mode():
        return np.array([model(**batch).logits[0].numpy() for batch in batches])
