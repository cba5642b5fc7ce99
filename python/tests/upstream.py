"""The scripted service of the proxy's own tests, which writes down every byte that reaches it."""

import sys
import threading
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path

CLIENTS = Path(__file__).resolve().parents[2] / "crates/cape-proxy/tests/clients"
sys.path.insert(0, str(CLIENTS))

from scripted import CANARY, NAMED, SEEN, Upstream  # noqa: E402

__all__ = ["CANARY", "NAMED", "SEEN", "upstream"]


@contextmanager
def upstream():
    """Gives its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
