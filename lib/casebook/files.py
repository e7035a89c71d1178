"""Files that appear whole or not at all, and their hashes."""

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import socket
import time
from pathlib import Path

from casebook.errors import InputError

_PARTIAL = ".partial"


@contextlib.contextmanager
def naming(path):
    """Let an error of the operating system say which file it is about."""
    try:
        yield
    except OSError as error:
        temporary = str(error.filename).endswith(_PARTIAL)
        if error.filename is None or error.filename2 is not None or temporary:
            error.filename, error.filename2 = str(path), None
        raise


@contextlib.contextmanager
def locked(path, refusal, patience=0.0):
    """Hold a lock between processes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        _acquire(handle, refusal, patience)
        owner = f"pid {os.getpid()} on {socket.gethostname()}\n".encode()
        with naming(path):
            os.pwrite(handle, owner, 0)
            os.ftruncate(handle, len(owner))
        yield
    finally:
        os.close(handle)


def _acquire(handle, refusal, patience):
    import fcntl  # POSIX only, which readers of files need not be

    deadline = time.monotonic() + patience
    while True:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                owner = os.pread(handle, 200, 0).decode(errors="replace").strip()
                raise InputError(refusal(owner)) from None
            time.sleep(0.005)


@contextlib.contextmanager
def replacing(path):
    """Write a file under a temporary name and rename it when the block succeeds."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary, handle = _held(path)
    try:
        with naming(path):
            yield temporary
            with temporary.open("rb") as stream:
                os.fsync(stream.fileno())
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
        os.close(handle)


def _beside(path):
    """Give a new hidden name for what is not yet whole, no longer than names may be."""
    return path.with_name(f".{path.name[:150]}.{secrets.token_hex(6)}{_PARTIAL}")


def _held(path):
    """Make a partial file and lock it, so that nobody takes it for one left behind."""
    while True:
        temporary = _beside(path)
        with naming(path):
            handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        with contextlib.suppress(ImportError, OSError):  # locks are not everywhere
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX)
        if temporary.exists():  # nobody swept it before it was locked
            return temporary, handle
        os.close(handle)


def sweep(folder):
    """Remove the partial files that killed processes left in a folder."""
    import fcntl

    for partial in Path(folder).glob(f".*{_PARTIAL}"):
        with contextlib.suppress(OSError), partial.open("rb+") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            partial.unlink()


@contextlib.contextmanager
def new_folder(path, remedy="name a new folder, or remove this one"):
    """Fill a folder under a temporary name and rename it when the block succeeds."""
    path = Path(path)
    taken = InputError(f"{path}: exists: {remedy}")
    if path.exists():
        raise taken
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _beside(path)
    with naming(path):
        temporary.mkdir()
    try:
        yield temporary
        _sync(temporary)
        try:
            temporary.rename(path)
        except OSError:
            if path.exists():
                raise taken from None
            raise
        _sync(path.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _sync(folder):
    """Have the names in a folder written to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def refuse_overwriting(output, *inputs):
    """Refuse to write where the command reads."""
    for source in map(Path, filter(None, inputs if output else ())):
        path, place = Path(output).resolve(), source.resolve()
        below = [*place.glob("*.jsonl*"), *place.glob("qrels/*")]
        same = path in (place, *(file.resolve() for file in below))
        with contextlib.suppress(OSError):  # of hard links, only one name may be known
            same |= any(path.samefile(file) for file in (place, *below))
        if same:
            why = "is read by this command: write to another file"
            raise InputError(f"{output}: {why}")


def write_text(path, text):
    """Write text atomically, as UTF-8 with the newlines given."""
    with replacing(path) as temporary:
        temporary.write_bytes(text.encode())
    return Path(path)


def write_json(path, value):
    """Write JSON atomically: sorted keys, two spaces, no NaN, one final newline."""
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return write_text(path, text + "\n")


def sha256_file(path):
    """Hash a file's bytes."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
