"""Load models with torch; imported only when a vector or score must be computed."""

import json
import os
import tempfile

import numpy as np
import torch
import transformers
from sentence_transformers import CrossEncoder, SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

from casebook.errors import InputError
from casebook.models.progress import wants_progress

# One thread unless told otherwise: sums run in one order and timings compare.
torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS") or 1))
transformers.utils.logging.disable_progress_bar()
transformers.utils.logging.set_verbosity_error()

_LOCAL = {"local_files_only": True}
_WEIGHTS = {"use_safetensors": True, **_LOCAL}
_DPR_TOWERS = {"DPRQuestionEncoder": "question_encoder", "DPRContextEncoder": "ctx_encoder"}


def load_sentence_transformer(folder, pooling="mean"):
    """Load an encoder onto the CPU."""
    if (folder / "modules.json").is_file():
        return SentenceTransformer(str(folder), device="cpu", model_kwargs={"use_safetensors": True}, **_LOCAL)
    settings = json.loads((folder / "config.json").read_text("utf-8"))
    if settings.get("model_type") == "dpr":
        return _load_dpr(folder, settings)
    return _pooled_transformer(folder, pooling)


def _pooled_transformer(folder, pooling):
    """Put a pooling layer on a plain transformer."""
    transformer = Transformer(str(folder), model_kwargs=_WEIGHTS, processor_kwargs=_LOCAL, config_kwargs=_LOCAL)
    layers = [transformer, Pooling(transformer.get_embedding_dimension(), pooling)]
    return SentenceTransformer(modules=layers, device="cpu")


def _load_dpr(folder, settings):
    """Load the BERT inside a DPR checkpoint."""
    architecture = (settings.get("architectures") or ["none"])[0]
    if architecture not in _DPR_TOWERS:
        raise InputError(f"{folder} is a DPR model of unknown kind {architecture!r}")
    checkpoint = getattr(transformers, architecture)
    model = checkpoint.from_pretrained(folder, **_WEIGHTS)
    inner = getattr(model, _DPR_TOWERS[architecture]).bert_model
    known = transformers.BertConfig().to_dict().keys() & settings.keys()
    config = transformers.BertConfig(**{key: settings[key] for key in known - {"model_type", "architectures"}})
    bert = transformers.BertModel(config, add_pooling_layer=False)
    bert.load_state_dict(inner.state_dict())
    with tempfile.TemporaryDirectory() as plain:
        bert.save_pretrained(plain)
        transformers.AutoTokenizer.from_pretrained(folder, **_LOCAL).save_pretrained(plain)
        return _pooled_transformer(plain, "cls")


def raw_logits(model, pairs, batch):
    """Give the logits of a cross-encoder, without the activation of its settings."""
    return model.predict(
        pairs, batch_size=batch, activation_fn=torch.nn.Identity(), show_progress_bar=wants_progress(len(pairs))
    ).astype(np.float64)


def load_cross_encoder(folder):
    """Load a cross-encoder onto the CPU."""
    return CrossEncoder(str(folder), device="cpu", model_kwargs={"use_safetensors": True}, **_LOCAL)
