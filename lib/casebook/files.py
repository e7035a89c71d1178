"""Files and folders that appear complete or not at all, locks, hashes."""

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import socket
import time
from itertools import chain
from pathlib import Path

from casebook import paths
from casebook.errors import InputError

PARTIAL_SUFFIX = ".partial"  # of what is not yet complete
_DAY = 86_400.0  # seconds


@contextlib.contextmanager
def naming_file(path):
    """Let an error of the operating system say which file it is about."""
    try:
        yield
    except OSError as error:
        temporary = str(error.filename).endswith(PARTIAL_SUFFIX)
        if error.filename is None or error.filename2 is not None or temporary:
            error.filename = str(path)
            error.filename2 = None
        raise


@contextlib.contextmanager
def locked(path, refusal, patience=0.0):
    """Hold a lock between processes; ``refusal`` makes the message from the name of its holder."""
    from filelock import FileLock, Timeout

    try:
        with FileLock(path, timeout=patience):
            with naming_file(path):
                path.write_text(f"pid {os.getpid()} on {socket.gethostname()}\n")
            yield
    except Timeout:
        owner = path.read_text(errors="replace").strip()
        raise InputError(refusal(owner)) from None


@contextlib.contextmanager
def replacing(path, *, private=False):
    """Write a file under a temporary name and rename it when the block succeeds.

    Nobody else can ever read a private one, nor list the folder that is made for it.
    """
    path = Path(path)
    if path.parent == Path("/dev") or path.is_fifo():
        raise InputError(f"{path}: is a device or a pipe, which a file would replace: name a file")
    file_rights, folder_rights = (0o600, 0o700) if private else (0o666, 0o777)  # before the umask
    path.parent.mkdir(folder_rights, parents=True, exist_ok=True)
    temporary = _temporary_name(path)
    try:
        with naming_file(path):
            temporary.touch(file_rights, exist_ok=False)
            yield temporary
            with temporary.open("rb") as written:
                os.fsync(written)
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def new_folder(path, remedy="name a new folder, or remove this one"):
    """Fill a folder under a temporary name and rename it when the block succeeds."""
    path = Path(path)
    if os.path.lexists(path):
        raise InputError(f"{path}: exists: {remedy}")
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _temporary_name(path)
    with naming_file(path):
        try:
            temporary.mkdir()
            yield temporary
            temporary.rename(path)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _temporary_name(path):
    """Give a new hidden name beside a path, no longer than names may be."""
    return path.with_name(f".{path.name[:150]}.{secrets.token_hex(6)}{PARTIAL_SUFFIX}")


def sweep(folder):
    """Remove the partial files and folders that killed processes left in a folder a day ago."""
    for partial in list(Path(folder).rglob(f".*{PARTIAL_SUFFIX}")):
        if time.time() - partial.stat().st_mtime > _DAY:
            shutil.rmtree(partial, ignore_errors=True)  # passes over a file
            partial.unlink(missing_ok=True)


def write_bytes(path, data, *, private=False):
    """Write bytes atomically; see `replacing`."""
    with replacing(path, private=private) as temporary:
        temporary.write_bytes(data)
    return Path(path)


def write_text(path, text):
    """Write text atomically, as UTF-8 with the newlines given."""
    return write_bytes(path, text.encode())


def write_json(path, value, *, private=False):
    """Write JSON atomically: sorted keys, two spaces, no NaN, one final newline."""
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return write_bytes(path, f"{text}\n".encode(), private=private)


def sha256_file(path):
    """Hash a file's bytes."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def refuse_overwriting(output, *inputs):
    """Refuse to write where the command reads."""
    if not output or not Path(output).resolve().exists():
        return
    path = Path(output).resolve()
    if path.is_relative_to(paths.DATA):
        raise InputError(f"{output}: is data of the project: write to another file")
    for source in map(Path, filter(None, inputs)):
        patterns = ("*.jsonl*", "qrels/*", "**/*.txt", "**/*.md")
        files = [source, *chain.from_iterable(map(source.glob, patterns))]
        # Of hard links, the user may have named any.
        if any(file.exists() and file.samefile(path) for file in files):
            raise InputError(f"{output}: is read by this command: write to another file")
