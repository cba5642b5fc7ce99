"""Can the holder of one API key tell by the time which words another key has just used?

    python benches/proxy/timing.py target/release/cape [--mechanism cape|cape-paper] [--trials 200]

In each trial a victim sends six words, and then an attacker with another key sends six: the same ones or others, by a
fair coin. The attacker guesses from the time of its own request. Two clocks: the wall's, as a client has it, and the
processor's time of the threads that perturb, which no client has and which other programs do not disturb. A threshold
is fitted on one half of the trials and tested on the other, so 50 % is what chance gives. Python's own library is
enough; Linux only.
"""

import argparse
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def words():
    """Words that are one piece of the default model, in a random order."""
    vocabulary = json.loads((ROOT / "crates/cape-models/default/tokenizer.json").read_text())["model"]["vocab"]
    whole = [word for word in vocabulary if word.isalpha() and word.isascii() and len(word) > 4]
    random.shuffle(whole)
    return whole


def perturbing(process):
    """Nanoseconds that the threads that perturb have computed."""
    spent = 0
    for task in Path(f"/proc/{process}/task").iterdir():
        if (task / "comm").read_text().strip() == "perturber":
            spent += int((task / "schedstat").read_text().split()[0])
    return spent


def ask(address, key, text):
    connection = http.client.HTTPConnection(address)
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]})
    headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
    connection.request("POST", "/v1/chat/completions", body, headers)
    answer = connection.getresponse()
    said = answer.read()
    connection.close()
    if answer.status != 200:
        sys.exit(said.decode())


def told(trials):
    """The share of the second half that the best threshold of the first half tells right."""
    half = len(trials) // 2
    train, test = trials[:half], trials[half:]
    right = lambda some, limit: sum((clock < limit) == same for clock, same in some)
    # the same words are expected to take less time
    limit = max((clock for clock, _ in train), key=lambda limit: right(train, limit))
    return right(test, limit) / len(test)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cape", type=Path)
    parser.add_argument("--mechanism", default="cape")
    parser.add_argument("--trials", type=int, default=200)
    given = parser.parse_args()
    upstream = subprocess.Popen([sys.executable, HERE / "upstream.py", "0", "0"], stdout=subprocess.PIPE, text=True)
    service = f"http://127.0.0.1:{upstream.stdout.readline().strip()}/v1"
    with tempfile.TemporaryDirectory() as folder:
        settings = f'mechanism = "{given.mechanism}"\n' if given.mechanism != "cape" else 'profile = "everything"\n'
        Path(folder, "cape.toml").write_text(settings)
        command = [given.cape.resolve(), "serve", "--listen", "127.0.0.1:0", "--upstream", service]
        proxy = subprocess.Popen(command, cwd=folder, env={**os.environ, "XDG_DATA_HOME": folder},
                                 stderr=subprocess.PIPE, text=True)
        line = proxy.stderr.readline()
        drain = subprocess.Popen(["cat"], stdin=proxy.stderr, stdout=subprocess.DEVNULL)
        try:
            address = json.loads(line)["address"]
            unused = words()
            take = lambda: " ".join(unused.pop() for _ in range(6))
            ask(address, "attacker", take())
            wall, cpu = [], []
            for _ in range(given.trials):
                private, other, same = take(), take(), random.random() < 0.5
                ask(address, "victim", private)
                probe = private if same else other
                before, begun = perturbing(proxy.pid), time.perf_counter()
                ask(address, "attacker", probe)
                wall.append((time.perf_counter() - begun, same))
                cpu.append((perturbing(proxy.pid) - before, same))
        finally:
            proxy.terminate()
            proxy.wait()
            drain.wait()
            upstream.terminate()
            upstream.wait()
    tested = given.trials - given.trials // 2
    margin = 196 * (0.25 / tested) ** 0.5
    print(f"| {given.mechanism} | {tested} | {100 * told(wall):.0f} % | {100 * told(cpu):.0f} % | ± {margin:.0f} |")


main()
