#!/usr/bin/env python3
"""SANTEXT, CUSTEXT and InferDPT beside plain NumPy versions of the same, in one run.

    python benches/peers/baselines.py --vectors glove.840B.300d.txt --prompts sentences.txt

The vectors are cut to the sizes that the paper has (SANTEXT 14,283 words, InferDPT 11,000) or as many
as there are (CUSTEXT); then SANTEXT at 221,642 words of made-up vectors, where the matrix of the
original does not fit. Each peer runs in a process of its own, alternately, several rounds; times are
the least of the rounds, memory is the process's largest.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ours import built

PAPER = {"santext": (325.14, 0.003, 0.81), "custext": (2929.75, 0.002, 0.16), "inferdpt": (28.66, 0.05, 1.03)}


def numpy_version(mechanism, epsilon, path, prompts):
    """The mechanism as its public code computes it: tables first, then draws from them."""
    import numpy as np

    vectors = np.load(path).astype(np.float32)
    words = Path(path).with_suffix(".txt").read_text().split("\n")[: len(vectors)]
    index = {word: i for i, word in enumerate(words)}
    lines = [line.split() for line in Path(prompts).read_text().splitlines()]
    rng = np.random.default_rng()
    n = len(vectors)

    def distances(a, b):
        squares = (a * a).sum(1)[:, None] + (b * b).sum(1)[None] - 2 * a @ b.T
        return np.sqrt(np.maximum(squares, 0, out=squares), out=squares)

    start = time.perf_counter()
    if mechanism == "santext":
        p = distances(vectors, vectors)
        p *= -epsilon / 2
        p -= p.max(axis=1, keepdims=True)
        np.exp(p, out=p)
        p /= p.sum(axis=1, keepdims=True)
        draw = lambda t: rng.choice(n, p=p[t].astype(np.float64) / p[t].sum(dtype=np.float64))
        unknown = lambda: rng.integers(n)
    elif mechanism == "custext":
        unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        free = np.ones(n, dtype=bool)
        lists, table = {}, {}
        for seed in range(n):
            if not free[seed]:
                continue
            s = np.where(free, unit @ unit[seed], -np.inf)
            k = min(20, int(free.sum()))
            members = np.argpartition(-s, k - 1)[:k]
            free[members] = False
            for t in members:
                u = unit[members] @ unit[t]
                spread = u.max() - u.min()
                w = np.exp(epsilon / 2 * ((u - u.min()) / spread if spread else np.ones(k)))
                lists[t], table[t] = members, w / w.sum()
        draw = lambda t: rng.choice(lists[t], p=table[t].astype(np.float64) / table[t].sum(dtype=np.float64))
        unknown = lambda: None
    else:
        d = distances(vectors, vectors)
        order = np.argsort(d, axis=1)
        d = np.take_along_axis(d, order, axis=1)
        scale = np.ptp(vectors, axis=0) / (
            0.01658160142016071 * np.log(19.064721649556482 * epsilon - 38.1294334077209) + 9.311083811697406)

        def draw(t):
            radius = np.linalg.norm(rng.laplace(0, scale))
            near = np.searchsorted(d[t], radius)
            w = np.exp(epsilon / 2 * (radius - d[t, :near].astype(np.float64)) / radius)
            return order[t, rng.choice(near, p=w / w.sum())]

        unknown = lambda: rng.integers(n)
    set_up = time.perf_counter() - start

    times = []
    for line in lines:
        start = time.perf_counter()
        for word in line:
            t = index.get(word)
            draw(t) if t is not None else unknown()
        times.append(time.perf_counter() - start)
    times.sort()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"set_up": set_up, "prompt": times[len(times) // 2], "memory": memory}))


def run(command):
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def cut(vectors, words, n, folder):
    import numpy as np

    path = Path(folder) / f"{n}x{vectors.shape[1]}.npy"
    if not path.exists():
        np.save(path, vectors[:n])
        path.with_suffix(".txt").write_text("\n".join(words[:n]) + "\n")
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", required=True, help="GloVe or word2vec text")
    parser.add_argument("--prompts", required=True, help="one a line, words apart by spaces")
    parser.add_argument("--epsilon", type=float, default=6)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    import numpy as np

    words, rows = [], []
    with open(args.vectors) as file:
        for line in file:
            *word, numbers = line.rstrip().split(" ", 1)
            numbers = numbers.split(" ")
            if len(numbers) > 10 and word and "\xa0" not in word[0]:
                words.append(word[0])
                rows.append(np.array(numbers, dtype=np.float32))
    vectors = np.stack(rows)
    program = built("baselines")
    rng = np.random.default_rng(1)
    large = (rng.standard_normal((221_642, 300)) * 0.35).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        cases = [
            ("santext", cut(vectors, words, 14_283, folder), True),
            ("custext", cut(vectors, words, len(words), folder), True),
            ("inferdpt", cut(vectors, words, 11_000, folder), True),
            ("santext", cut(large, words + [f"w{i}" for i in range(len(words), len(large))], len(large), folder), False),
            ("custext", cut(large, words + [f"w{i}" for i in range(len(words), len(large))], len(large), folder), False),
        ]
        print("| mechanism | words | | set-up s | prompt ms | memory MB |")
        print("|---|---|---|---|---|---|")
        for mechanism, path, with_numpy in cases:
            epsilon = str(args.epsilon if mechanism != "santext" else args.epsilon / 2)
            ours, theirs = [], []
            for _ in range(args.rounds):
                for lists in path.parent.glob("*.lists-*.cape"):
                    lists.unlink()
                ours.append(run([program, mechanism, epsilon, path, args.prompts]))
                if with_numpy:
                    theirs.append(run([sys.executable, __file__, "numpy", mechanism, epsilon, path, args.prompts]))
            best = lambda runs, key: min(run[key] for run in runs)
            size = path.stem.replace("x", " × ")
            row = lambda who, runs: print(
                f"| {mechanism} | {size} | {who} | {best(runs, 'set_up'):.3f} | {best(runs, 'prompt') * 1e3:.3f} "
                f"| {best(runs, 'memory'):.0f} |")
            row("ours", ours)
            if theirs:
                row("NumPy", theirs)
                ratios = [best(theirs, key) / best(ours, key) for key in ("set_up", "prompt", "memory")]
                print(f"| {mechanism} | {size} | NumPy / ours | " + " | ".join(f"{r:.1f}" for r in ratios) + " |")
                s, p, m = PAPER[mechanism]
                print(f"| {mechanism} | | the paper's own, on its machine | {s} | {p * 1e3:.0f} | {m * 1024:.0f} |")
            sys.stdout.flush()


if len(sys.argv) > 1 and sys.argv[1] == "numpy":
    numpy_version(sys.argv[2], float(sys.argv[3]), sys.argv[4], sys.argv[5])
else:
    main()
