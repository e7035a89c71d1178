"""Servers on this machine: of a folder, and of a language model that is played."""

import contextlib
import functools
import http.server
import json
import threading
import time


class _Quiet(http.server.BaseHTTPRequestHandler):
    """A handler that keeps the test's output clean."""

    def log_message(self, *_):
        """Say nothing."""


class _Files(_Quiet, http.server.SimpleHTTPRequestHandler):
    pass


@contextlib.contextmanager
def answering(handler):
    """Serve with a handler and give the address."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def serving(folder):
    """Serve a folder and give its address."""
    return answering(functools.partial(_Files, directory=str(folder)))


@contextlib.contextmanager
def chatting(*answers, delay=0.0, status=200, raw=None):
    """Serve a language model and give its address and what it was asked.

    It gives the answers in turn, the last one again and again, or one raw body always.
    """
    asked = []

    class Handler(_Quiet):
        def do_POST(self):
            size = int(self.headers["Content-Length"])
            asked.append(json.loads(self.rfile.read(size)))
            time.sleep(delay)
            text = answers[min(len(asked), len(answers)) - 1] if answers else ""
            choice = {"index": 0, "message": {"role": "a", "content": text}}
            body = raw if raw is not None else json.dumps({"choices": [choice]})
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            with contextlib.suppress(BrokenPipeError):  # nobody waits any more
                self.wfile.write(body.encode())

    with answering(Handler) as address:
        yield f"{address}/v1", asked
