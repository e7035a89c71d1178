"""Files and folders that appear complete or not at all, locks, hashes."""

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import socket
from pathlib import Path

from casebook.errors import InputError

PARTIAL_SUFFIX = ".partial"  # of what is not yet complete


@contextlib.contextmanager
def naming_file(path):
    """Let an error of the operating system say which file it is about."""
    try:
        yield
    except OSError as error:
        # A full disk names no file, a copy names two, and nobody knows a temporary one.
        is_temporary = str(error.filename).endswith(PARTIAL_SUFFIX)
        if error.filename is None or error.filename2 is not None or is_temporary:
            error.filename = str(path)
        raise


@contextlib.contextmanager
def locked(path, refusal, patience=0.0):
    """Hold a lock between processes; ``refusal`` makes the message from the name of its holder."""
    from filelock import FileLock, Timeout

    try:
        with FileLock(path, timeout=patience):
            path.write_text(f"pid {os.getpid()} on {socket.gethostname()}\n")
            yield
    except Timeout:
        raise InputError(refusal(path.read_text(errors="replace").strip())) from None


@contextlib.contextmanager
def replacing(path, *, private=False):
    """Write a file under a temporary name and rename it when the block succeeds.

    Nobody else can ever read a private one, nor list the folder that is made for it.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        raise InputError(
            f"{path}: is no file that another one can replace: name a file"
        )
    # Rights before the umask.
    file_rights, folder_rights = (0o600, 0o700) if private else (0o666, 0o777)
    path.parent.mkdir(folder_rights, parents=True, exist_ok=True)
    with _renamed(path) as temporary:
        temporary.touch(file_rights, exist_ok=False)
        yield temporary


@contextlib.contextmanager
def new_folder(path, remedy="name a new folder, or remove this one"):
    """Fill a folder under a temporary name and rename it when the block succeeds."""
    if os.path.lexists(path):
        raise InputError(f"{path}: exists: {remedy}")
    with _renamed(Path(path)) as temporary:
        temporary.mkdir(parents=True)
        yield temporary


@contextlib.contextmanager
def _renamed(path):
    """A new hidden name beside a path, no longer than names may be; what fails is removed."""
    name = f".{path.name[:150]}.{secrets.token_hex(6)}{PARTIAL_SUFFIX}"
    temporary = path.with_name(name)
    try:
        with naming_file(path):
            yield temporary
            temporary.replace(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        with contextlib.suppress(OSError):
            temporary.unlink()


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
    text = json.dumps(
        value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False
    )
    return write_bytes(path, f"{text}\n".encode(), private=private)


def sha256_file(path):
    """Hash a file's bytes."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def refuse_overwriting(output, *inputs):
    """Refuse to write where the command reads."""
    if not output or not Path(output).exists():
        return
    for source in map(Path, filter(None, inputs)):
        # Of hard links, the user may have named any.
        if any(
            file.samefile(output)
            for file in (source, *source.rglob("*"))
            if file.exists()
        ):
            raise InputError(
                f"{output}: is read by this command: write to another file"
            )
