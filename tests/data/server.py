"""A file server on loopback that can cut connections, forget files and keep silent."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server:
    """What is served, how, and what was asked for."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.cut_after: list[int] = []  # for each coming answer, the bytes after which the connection is cut
        self.failures: list[int] = []  # for each coming answer, the code of an error instead
        self.ranges = True
        self.says_length = True
        self.delay = 0.0
        self.requests: list[tuple[str, str | None]] = []
        self.bytes_sent = 0
        self.url = ""

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        asked = handler.headers.get("Range")
        self.requests.append((handler.path, asked))
        time.sleep(self.delay)
        content = self.files.get(handler.path)
        failure = self.failures.pop(0) if self.failures else 404 if content is None else None
        if failure is not None or content is None:
            handler.send_error(failure or 404)
            return
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and self.ranges else 0
        if start >= len(content):
            handler.send_error(416)
            return
        handler.send_response(206 if start else 200)
        if start:
            handler.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        if self.says_length:
            handler.send_header("Content-Length", str(len(content) - start))
        handler.end_headers()
        end = start + self.cut_after.pop(0) if self.cut_after else len(content)
        self.bytes_sent += len(content[start:end])  # first, for the client may look as soon as it has them
        handler.wfile.write(content[start:end])


@contextmanager
def serving() -> Iterator[Server]:
    """Serve on a free port of loopback."""
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.answer(self)

        def log_message(self, *args: object) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            pass  # a client that gave up waiting

    with Quiet(("127.0.0.1", 0), Handler) as http:
        server.url = f"http://127.0.0.1:{http.server_address[1]}"
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()
