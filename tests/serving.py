"""A language model that is played, on this machine."""

import contextlib
import http.server
import json
import threading
import time


class _Quiet(http.server.BaseHTTPRequestHandler):
    """A handler that keeps the test's output clean."""

    def log_message(self, *_):
        """Say nothing."""


@contextlib.contextmanager
def answering(handler):
    """Serve with a handler and give the address."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


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


def completion(content="Four egg whites.", **fields):
    """A chat completion as a server writes it, with other fields where they are named."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": content},
        "finish_reason": "stop",
    }
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return {"id": "c1", "object": "chat.completion", "choices": [choice], "usage": usage} | fields


def response(body, *headers, status="200 OK", kind="application/json"):
    """The bytes of a whole response; what is no bytes is written as JSON."""
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = (
        f"HTTP/1.1 {status}",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body)}",
        "Connection: close",
        *headers,
    )
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@contextlib.contextmanager
def replying(reply):
    """Serve the bytes that ``reply(prompt)`` yields, whatever they are, and give the address and
    what was asked: prompts and headers."""
    asked = []

    class Handler(_Quiet):
        def do_POST(self):
            content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            prompt = content["messages"][0]["content"]
            asked.append((prompt, self.headers))
            with contextlib.suppress(OSError):  # nobody waits any more
                for part in reply(prompt):
                    self.wfile.write(part)

    with answering(Handler) as address:
        yield f"{address}/v1", asked
