"""A `cape serve` with a ledger of its own, for as long as it is needed."""

import json
import os
import subprocess
import tempfile
import threading
from contextlib import contextmanager


@contextmanager
def serve(cape, *flags):
    """Gives its address, and its log, which is whole once it has ended."""
    with tempfile.TemporaryDirectory() as folder:
        command = [cape, "serve", "--listen", "127.0.0.1:0", *flags]
        home = {**os.environ, "XDG_DATA_HOME": folder}
        proxy = subprocess.Popen(command, cwd=folder, env=home, stderr=subprocess.PIPE, text=True)
        log = []
        try:
            base = "http://" + json.loads(proxy.stderr.readline())["address"]
            reading = threading.Thread(target=lambda: log.extend(proxy.stderr))
            reading.start()
            yield base, log
        finally:
            proxy.terminate()
            assert proxy.wait(60) == 0
        reading.join()
