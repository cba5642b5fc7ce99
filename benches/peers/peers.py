#!/usr/bin/env python3
"""Cape beside its peers in one run: repetitions alternate, and ratios are printed.

    cargo build --release
    python benches/peers/random_bert.py DIR/bert-base
    target/release/cape models pack DIR/bert-base DIR/bert-base-int8
    python benches/peers/peers.py forward DIR/bert-base DIR/bert-base-int8
    python benches/peers/peers.py prompt

`forward` is a plain pass of BERT-base over 24 masked copies of 24 tokens (99.5 GFLOP), the logits
of the whole vocabulary at each mask. `prompt` is a whole prompt of 24 tokens perturbed by the
embedded model: the paper's method in torch with the same weights, and ours.

OpenVINO in bf16 is not asked by default: where the processor has no such instructions it emulates
them, some fifty times slower (`--bf16` asks all the same).

Each peer runs in a process of its own and is asked for one repetition at a time, when the machine
idles (a busy one slows torch, whose threads wait for each other, far more than ours). The quarter of
its repetitions during which other programs used the processor least is kept, and how many cores they
used then is printed: where that is not near zero, medians say little, and the best says more.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from ours import ROOT, built

DEFAULT = ROOT / "crates/cape-models/default"
# 24 tokens, 13 of them sensitive
PROMPT = (
    "The ferry leaves the harbour at seven and reaches the island before noon. Tickets are sold at "
    "the small office beside the bridge"
)
TICKS = os.sysconf("SC_CLK_TCK")


def busy():
    """Seconds of processor time that all programs used together."""
    fields = [int(v) for v in Path("/proc/stat").read_text().splitlines()[0].split()[1:]]
    return (sum(fields[:3]) + sum(fields[5:8])) / TICKS


def wait_for_quiet(patience):
    """Waits until the machine idles, for so many seconds at the most; how many are left."""
    while patience > 0:
        before = busy()
        time.sleep(0.2)
        if busy() - before <= 0.02:
            break
        patience -= 0.2
    return patience


class Peer:
    def __init__(self, name, command, request):
        self.name, self.request, self.foreign = name, request, []
        self.process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        # what a library prints while it loads is no answer
        while (line := self.process.stdout.readline()) and line.strip() != "ready":
            pass
        self.works = bool(line)
        self.times = []

    def own(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def run(self, count):
        before, start = busy() - self.own(), time.perf_counter()
        self.process.stdin.write(f"{self.request}\n")
        self.process.stdin.flush()
        ms = float(self.process.stdout.readline())
        took = time.perf_counter() - start
        if count:
            self.times.append(ms)
            self.foreign.append((busy() - self.own() - before) / took)

    def resident_mb(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) * 1024 / 1e6

    def clean(self):
        """The quarter of the repetitions with the least foreign use, and all with next to none."""
        limit = max(0.05, sorted(self.foreign)[len(self.foreign) // 4])
        return [pair for pair in zip(self.times, self.foreign) if pair[1] <= limit]

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def compare(peers, repetitions, patience):
    for peer in peers:
        if not peer.works:
            print(f"{peer.name}: not to be had here", file=sys.stderr)
    peers = [peer for peer in peers if peer.works]
    for repetition in range(-2, repetitions):
        for peer in peers:
            # the last peer's threads go to sleep meanwhile
            patience = wait_for_quiet(patience)
            peer.run(count=repetition >= 0)
    kept = [[list(column) for column in zip(*peer.clean())] for peer in peers]
    best, median = min(kept[0][0]), statistics.median(kept[0][0])
    print(f"times faster than {peers[0].name}; {repetitions} repetitions each, alternating\n")
    print("| | best ms | median ms | faster, best | faster, median | others' cores | resident MB |")
    print("|---|---|---|---|---|---|---|")
    for peer, (times, foreign) in zip(peers, kept):
        low, middle = min(times), statistics.median(times)
        print(
            f"| {peer.name} | {low:.1f} | {middle:.1f} | {best / low:.2f} | {median / middle:.2f} "
            f"| {statistics.median(foreign):.2f} | {peer.resident_mb():.0f} |"
        )
        peer.stop()


def theirs(kind, model, request):
    name = {"torch": "torch f32", "torch-whole": "torch f32, logits everywhere"}.get(kind, kind)
    command = [sys.executable, Path(__file__).with_name("workers.py"), kind, model]
    return Peer(name, command, request)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["forward", "prompt"])
    parser.add_argument("models", nargs="*", help="forward: the model in f32 and in int8")
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--patience", type=float, default=300, help="seconds to wait for quiet")
    parser.add_argument("--bf16", action="store_true", help="forward: OpenVINO in bf16 too")
    args = parser.parse_args()
    ours = built("forward")
    if args.what == "forward":
        plain, packed = args.models
        request = "forward 24 24"
        kinds = ["torch", "onnxruntime-f32", "onnxruntime-int8", "openvino-f32"]
        kinds += ["openvino-bf16"] if args.bf16 else []
        peers = [theirs(kind, plain, request) for kind in kinds]
        for arithmetic in ["f32", "int16", "int8"]:
            model = plain if arithmetic == "f32" else packed
            peers.append(Peer(f"cape {arithmetic}", [ours, model, arithmetic], request))
    else:
        peers = [theirs(kind, DEFAULT, f"paper {PROMPT}") for kind in ["torch-whole", "torch"]]
        for arithmetic in ["f32", "int16", "int8"]:
            for form in ["raw", "released"]:
                name = f"cape {arithmetic}, {form}"
                peers.append(Peer(name, [ours, "default", arithmetic], f"{form} {PROMPT}"))
    compare(peers, args.repetitions, args.patience)


if __name__ == "__main__":
    main()
