"""What `cape serve` adds to a request: wrk against a service, with the proxy before it and without.

    python benches/proxy/load.py target/release/cape [--clients 1,16] [--answers 0,0.5,1] [--seconds 20]

*Answers* is how long the service thinks, on average: with 0 the clients keep the processor busy without a pause, with
more they wait for the model as real ones do. What is added is the time of a request less what the service took, for
each request. wrk is in Debian's packages.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def wrk(address, clients, seconds):
    """Requests, requests a second, and what was added in ms: median and 99th percentile."""
    command = ["wrk", "--threads", str(clients), "--connections", str(clients), "--duration", f"{seconds}s",
               "--timeout", "30s", "--script", HERE / "prompts.lua", address]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    count, failed, *rest = said.split("RESULT ")[1].split()
    if int(failed):
        sys.exit(said)
    return int(count), *map(float, rest)


def started(command, **how):
    """A server, and what it said first: where it listens."""
    server = subprocess.Popen(command, text=True, **how)
    return server, (server.stdout or server.stderr).readline()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cape", type=Path)
    parser.add_argument("--clients", default="1,16")
    parser.add_argument("--answers", default="0,0.5,1")
    parser.add_argument("--seconds", type=int, default=20)
    given = parser.parse_args()
    print("| answer after s | clients | requests | a second | added p50 ms | added p99 ms | without the proxy p50 | p99 |")
    print("|---|---|---|---|---|---|---|---|")
    for seconds in given.answers.split(","):
        upstream, port = started([sys.executable, HERE / "upstream.py", "0", seconds], stdout=subprocess.PIPE)
        service = f"http://127.0.0.1:{port.strip()}"
        with tempfile.TemporaryDirectory() as folder:
            command = [given.cape.resolve(), "serve", "--listen", "127.0.0.1:0", "--upstream", service + "/v1"]
            proxy, line = started(command, cwd=folder, stderr=subprocess.PIPE,
                                  env={**os.environ, "XDG_DATA_HOME": folder})
            # the log would fill the pipe
            drain = subprocess.Popen(["cat"], stdin=proxy.stderr, stdout=subprocess.DEVNULL)
            try:
                address = "http://" + json.loads(line)["address"]
                for clients in map(int, given.clients.split(",")):
                    _, _, p50, p99 = wrk(service, clients, max(3, given.seconds // 4))
                    count, rate, with50, with99 = wrk(address, clients, given.seconds)
                    print(f"| {seconds} | {clients} | {count} | {rate:.1f} | **{with50:.1f}** | **{with99:.1f}** "
                          f"| {p50:.1f} | {p99:.1f} |", flush=True)
            finally:
                proxy.terminate()
                proxy.wait()
                drain.wait()
                upstream.terminate()
                upstream.wait()


main()
