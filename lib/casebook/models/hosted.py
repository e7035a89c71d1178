"""An encoder whose vectors another process computes, if there is one."""

import os
import socket
import time
from multiprocessing.connection import Connection

from casebook.models.encoders import SentenceEncoder
from casebook.models.hosting import VARIABLE, pack, unpack
from casebook.models.stand_in import EncoderStandIn
from casebook.models.texts import checked_texts
from casebook.models.tokens import TokenVectors

_borrowed = [0.0]


def cpu_seconds():
    """Give the processor time used so far on behalf of this process."""
    return time.process_time() + _borrowed[0]


class HostedEncoder(EncoderStandIn):
    """Encoder with the same answers as another one, computed by a host."""

    def __init__(self, encoder, address):
        super().__init__(encoder)
        self.address = address

    def encode_queries(self, texts):
        """Encode queries; see :meth:`SentenceEncoder.encode_queries`."""
        arrays = self._ask("queries", texts)
        return arrays["pooled"] if arrays else self.encoder.encode_queries(texts)

    def encode_documents(self, texts):
        """Encode documents; see :meth:`SentenceEncoder.encode_documents`."""
        arrays = self._ask("documents", texts)
        return arrays["pooled"] if arrays else self.encoder.encode_documents(texts)

    def encode_both(self, texts, role="document"):
        """Encode texts and tokens; see :meth:`SentenceEncoder.encode_both`."""
        arrays = self._ask("both", texts, role)
        if not arrays:
            return self.encoder.encode_both(texts, role)
        parts = [arrays[name] for name in ("vectors", "token_ids", "lengths")]
        return arrays["pooled"], TokenVectors(*parts)

    def token_vectors(self, texts, role="document"):
        """Encode tokens; see :meth:`SentenceEncoder.token_vectors`."""
        return self.encode_both(texts, role)[1]

    def _ask(self, what, texts, *more):
        """Give the host's arrays; none if it is gone, failed, or has other weights."""
        request = {
            "folder": str(self.encoder.folder.resolve()),
            "pooling": self.encoder.pooling,
            "what": what,
            "arguments": [checked_texts(texts), *more],
        }
        try:
            with socket.socket(socket.AF_UNIX) as channel:
                channel.connect(self.address)
                with Connection(channel.detach()) as connection:
                    connection.send_bytes(pack(request))
                    header, arrays = unpack(connection.recv_bytes())
        except (OSError, EOFError):
            return {}
        if header.get("model_hash") != self.encoder.model_hash:
            return {}
        _borrowed[0] += header["cpu"]
        return arrays


def with_host(encoder):
    """Let a host compute, where the environment names one."""
    address = os.environ.get(VARIABLE)
    hosted = address and type(encoder) is SentenceEncoder
    return HostedEncoder(encoder, address) if hosted else encoder
