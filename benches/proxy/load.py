"""What `cape serve` adds to a request, and how much memory it takes over time.

    python benches/proxy/load.py target/release/cape [--clients 16,256] [--answers 0.5] [--seconds 20]
    python benches/proxy/load.py target/release/cape --minutes 60 --clients 16 --plot soak.svg

The first prints a table: the service alone, and the same with the proxy before it. *Answers* is how long the service
thinks, on average; what is added is the time of a request less what the service took, which it says in its answer. The
second sends mixed traffic (chats, turns of a conversation, embeddings, messages, /perturb, what is refused, bodies that
break off) and draws the memory of the proxy over time. Clients, service and proxy share the processors of one machine.
Python's own library is enough; memory on Linux only.
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAMES = ("doctor letter river money story house winter garden teacher bridge window market village engine island ticket "
         "forest kitchen hospital station Alice Jonas London asthma Berlin Weber").split()
ACTS = "bought lost found painted carried sold repaired described remembered moved".split()


def sentence():
    """A prompt that was not sent before, most likely."""
    pick = lambda: random.choice(NAMES)
    return (f"The {pick()} {random.choice(ACTS)} the {pick()} of my {pick()} {pick()}, and a {pick()} "
            f"{random.choice(ACTS)} {pick()} in the {pick()} {pick()} with {pick()} {random.randrange(10**6)}.")


def user(text):
    return {"role": "user", "content": text}


async def ask(wire, path, body, key="k"):
    """Sends a request on an open connection: the status and the body of its answer."""
    reader, writer = wire
    body = json.dumps(body).encode()
    head = (f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nauthorization: Bearer {key}\r\n"
            f"content-length: {len(body)}\r\n\r\n")
    writer.write(head.encode() + body)
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    length = int(head.split("content-length:")[1].split("\r\n")[0])
    return int(head.split()[1]), await reader.readexactly(length)


async def chats(address, until, added):
    wire = await asyncio.open_connection(*address)
    while time.perf_counter() < until:
        begun = time.perf_counter()
        status, answer = await ask(wire, "/v1/chat/completions", {"model": "m", "messages": [user(sentence())]})
        if status != 200:
            sys.exit(answer.decode())
        thought = float(json.loads(answer)["id"].split()[1])
        added.append(time.perf_counter() - begun - thought)
    wire[1].close()


async def load(address, clients, seconds):
    """Requests a second, and what was added in ms: median and 99th percentile."""
    added, until = [], time.perf_counter() + seconds
    await asyncio.gather(*(chats(address, until, added) for _ in range(clients)))
    added.sort()
    share = lambda p: 1000 * added[min(len(added) - 1, int(p * len(added)))]
    return len(added) / seconds, share(0.5), share(0.99)


async def mixed(address, until, done):
    """One client of a day: it does everything, and some of it wrongly."""
    said, key = [], f"key {random.randrange(8)}"
    while time.perf_counter() < until:
        wire = await asyncio.open_connection(*address)
        for _ in range(random.randrange(1, 12)):
            kind, expected = random.random(), 200
            path, body = "/v1/chat/completions", {"model": "m", "messages": [user(sentence())]}
            if kind < 0.3:
                # a conversation goes on, and begins anew after a while
                said = (said if len(said) < 20 else []) + [user(sentence())]
                body["messages"] = said
            elif kind < 0.4:
                path, body = "/v1/embeddings", {"model": "m", "input": [sentence() for _ in range(4)]}
            elif kind < 0.5:
                path, body = "/v1/messages", {"model": "m", "max_tokens": 9, "messages": [user(sentence())]}
            elif kind < 0.55:
                path, body = "/perturb", {"text": sentence() * 8}
            elif kind < 0.65:
                body["unknown"], expected = 1, 400
            elif kind < 0.68:
                path, expected = "/v1/nowhere", 404
            elif kind < 0.7:
                wire[1].write(b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
                              b"content-length: 1000\r\n\r\n{\"model\"")
                done[0] += 1
                break
            status, answer = await ask(wire, path, body, key)
            if status != expected:
                sys.exit(f"{path}: {status} {answer.decode()}")
            done[0] += 1
        wire[1].close()


def memory(process):
    """Resident memory in MB."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


async def soak(address, process, clients, seconds):
    """Memory and requests, once a second."""
    done, samples, begun = [0], [], time.perf_counter()
    tasks = [asyncio.create_task(mixed(address, begun + seconds, done)) for _ in range(clients)]
    while not all(task.done() for task in tasks):
        await asyncio.sleep(1)
        samples.append((time.perf_counter() - begun, memory(process), done[0]))
    await asyncio.gather(*tasks)
    return samples


def plot(samples, file, title):
    width, height, left, top = 720, 260, 60, 40
    longest, most = samples[-1][0], 1.2 * max(mb for _, mb, _ in samples)
    x = lambda seconds: left + (width - left - 20) * seconds / longest
    y = lambda mb: height - 40 - (height - 40 - top) * mb / most
    line = " ".join(f"{x(seconds):.1f},{y(mb):.1f}" for seconds, mb, _ in samples)
    text = lambda at, up, said, anchor="middle": f'<text x="{at:.0f}" y="{up:.0f}" text-anchor="{anchor}">{said}</text>'
    marks = [text(left - 8, y(mb) + 4, f"{mb:.0f}", "end") + f'<line x1="{left}" x2="{width - 20}" y1="{y(mb):.1f}" y2="{y(mb):.1f}" stroke="#ddd"/>'
             for mb in (0, most / 4, most / 2, 3 * most / 4)]
    marks += [text(x(longest * part / 5), height - 22, f"{longest * part / 300:.1f}") for part in range(6)]
    Path(file).write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">'
        f'<rect width="{width}" height="{height}" fill="white"/>{text(left, 20, title, "start")}{"".join(marks)}'
        f'{text(width / 2, height - 6, "minutes")}{text(left, top - 6, "MB resident", "start")}'
        f'<polyline fill="none" stroke="#1f77b4" stroke-width="1.5" points="{line}"/></svg>\n')


def started(command, **how):
    """A server, and what it said first: where it listens."""
    server = subprocess.Popen(command, text=True, **how)
    return server, (server.stdout or server.stderr).readline()


def measure(given, service, address, proxy, seconds):
    clients = [int(n) for n in given.clients.split(",")]
    if given.minutes:
        samples = asyncio.run(soak(address, proxy.pid, clients[0], 60 * given.minutes))
        (_, first, _), (_, last, done) = samples[len(samples) // 5], samples[-1]
        title = f"{done} requests of mixed traffic by {clients[0]} clients in {given.minutes} minutes"
        if given.plot:
            plot(samples, given.plot, title)
        print(f"{title}: {first:.0f} MB after a fifth of the time, {last:.0f} MB at the end")
        return
    for count in clients:
        rate, p50, p99 = asyncio.run(load(service, count, max(3, given.seconds // 2)))
        with_rate, with50, with99 = asyncio.run(load(address, count, given.seconds))
        print(f"| {seconds} | {count} | {rate:.0f} | {p50:.1f} | {p99:.1f} | {with_rate:.0f} | {with50:.1f} | {with99:.1f} "
              f"| **{with50 - p50:.1f}** | **{with99 - p99:.1f}** |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cape", type=Path)
    parser.add_argument("--clients", default="16,256")
    parser.add_argument("--answers", default="0.5")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--plot", type=Path)
    given = parser.parse_args()
    if not given.minutes:
        print("| answer after s | clients | service alone: a second | p50 ms | p99 ms | with cape: a second | p50 ms | p99 ms "
              "| added p50 | added p99 |")
        print("|---" * 10 + "|")
    for seconds in given.answers.split(","):
        upstream, port = started([sys.executable, HERE / "upstream.py", "0", seconds], stdout=subprocess.PIPE)
        service = ("127.0.0.1", int(port))
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "cape.toml").write_text("[proxy]\nmax-requests = 400\n")
            command = [given.cape.resolve(), "serve", "--listen", "127.0.0.1:0", "--upstream", f"http://127.0.0.1:{port.strip()}/v1"]
            proxy, line = started(command, cwd=folder, stderr=subprocess.PIPE, env={**os.environ, "XDG_DATA_HOME": folder})
            # the log would fill the pipe
            drain = subprocess.Popen(["cat"], stdin=proxy.stderr, stdout=subprocess.DEVNULL)
            try:
                host, port = json.loads(line)["address"].rsplit(":", 1)
                measure(given, service, (host, int(port)), proxy, seconds)
            finally:
                proxy.terminate()
                proxy.wait()
                drain.wait()
                upstream.terminate()
                upstream.wait()


main()
