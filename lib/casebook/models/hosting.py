"""A process that keeps the encoders loaded while many notebooks run.

Importing torch and loading a model takes longer than most chapters need vectors for.
The host does it once; notebooks send texts through a local socket.
"""

import contextlib
import io
import json
import os
import socket
import subprocess
import sys
import threading
import time
from multiprocessing.connection import Connection

from casebook.files import scratch

VARIABLE = "CASEBOOK_ENCODER_HOST"
_LONGEST_ADDRESS = 100


def pack(header, **arrays):
    """Write one message."""
    import numpy as np

    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, header=text, **arrays)
    return buffer.getvalue()


def unpack(message):
    """Read one message."""
    import numpy as np

    with np.load(io.BytesIO(message), allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    return json.loads(arrays.pop("header").tobytes()), arrays


@contextlib.contextmanager
def encoder_host():
    """Keep a host while the block runs; kernels started in it find it by themselves."""
    with contextlib.ExitStack() as stack:
        address = str(stack.enter_context(scratch()) / "encoders")
        if len(address.encode()) > _LONGEST_ADDRESS:
            yield
            return
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(address)
        listener.listen()
        command = [sys.executable, "-m", __name__, str(listener.fileno())]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            pass_fds=[listener.fileno()],
            start_new_session=True,  # an interrupt is for the batch, which ends it
        )
        listener.close()  # or who asks a host that was killed would wait for ever
        stack.callback(process.wait)
        stack.callback(process.stdin.close)
        os.environ[VARIABLE] = address
        stack.callback(os.environ.pop, VARIABLE, None)
        yield


class _Pool:
    """Loaded encoders that no request uses now."""

    def __init__(self):
        self._idle, self._lock = {}, threading.Lock()

    @contextlib.contextmanager
    def encoder(self, folder, pooling):
        with self._lock:  # also while torch is imported: by one thread
            idle = self._idle.setdefault((folder, pooling), [])
            encoder = idle.pop() if idle else _loaded(folder, pooling)
        yield encoder
        with self._lock:
            idle.append(encoder)


def _loaded(folder, pooling):
    from casebook.models.encoders import SentenceEncoder

    encoder = SentenceEncoder(folder, pooling)
    encoder.encode_queries([])
    return encoder


def _answer(message, pool):
    """Compute what one message asks for; an error travels as text."""
    asked, _ = unpack(message)
    try:
        with pool.encoder(asked["folder"], asked["pooling"]) as encoder:
            start = time.thread_time()
            result = getattr(encoder, f"encode_{asked['what']}")(*asked["arguments"])
            seconds = time.thread_time() - start
            header = {"cpu": seconds, "model_hash": encoder.model_hash}
    except Exception as error:  # whatever it is, the notebook tries it by itself
        return pack({"error": repr(error)})
    if asked["what"] != "both":
        return pack(header, pooled=result)
    pooled, tokens = result
    parts = {"token_ids": tokens.token_ids, "lengths": tokens.lengths}
    return pack(header, pooled=pooled, vectors=tokens.vectors, **parts)


def _serve(connection, pool):
    with connection, contextlib.suppress(EOFError, OSError):
        connection.send_bytes(_answer(connection.recv_bytes(), pool))


def main(descriptor):
    """Answer requests on an inherited socket until the parent is gone."""
    listener, pool = socket.socket(fileno=descriptor), _Pool()

    def accept():
        while True:
            connection = Connection(listener.accept()[0].detach())
            threading.Thread(target=_serve, args=(connection, pool)).start()

    threading.Thread(target=accept, daemon=True).start()
    sys.stdin.buffer.read()
    os._exit(0)  # requests under way have nobody to answer to


if __name__ == "__main__":
    main(int(sys.argv[1]))
