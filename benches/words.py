#!/usr/bin/env python3
"""What Cape costs as prompts grow, as the list grows and with more cores: tables on stdout and a plot.

    python benches/words.py CAPE PLOT.svg

Lengths and cores by `cape bench`, of which the best of three runs counts; the list by `cargo bench --bench listed`. Dashed
lines are the limits: cost in proportion, and all cores at work. Needs matplotlib and Rust.
"""

import argparse
import json
import os
import subprocess
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

LENGTHS = [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096]


def bench(cape, lengths, threads):
    """The rows of three runs, the fastest of each kind."""
    command = [cape, "bench", "--json", "--seconds", "1", "--lengths", ",".join(map(str, lengths))]
    env = {**os.environ, "RAYON_NUM_THREADS": str(threads)}
    runs = [json.loads(subprocess.run(command, env=env, check=True, capture_output=True).stdout)["rows"] for _ in range(3)]
    return [min(rows, key=lambda row: row["ms_p50"]) for rows in zip(*runs)]


def table(names, rows):
    print("\n| " + " | ".join(names) + " |\n" + "|---" * len(names) + "|")
    for row in rows:
        print("| " + " | ".join((f"{value:,.0f}" if value > 999 else f"{value:.3g}") if isinstance(value, float) else f"{value:,}" for value in row) + " |")


def panel(axis, title, xs, ys, limit, ylabel):
    axis.loglog(xs, ys, "o-", label="measured")
    axis.loglog(xs, limit, "--", color="gray", label="limit")
    axis.set(xlabel=title, ylabel=ylabel)
    axis.set_xticks(xs, [f"{x:,}" for x in xs], rotation=45)
    axis.minorticks_off()
    axis.grid(alpha=0.3)
    axis.legend()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cape", type=Path)
    parser.add_argument("plot", type=Path)
    args = parser.parse_args()

    alone = [row for row in bench(args.cape, LENGTHS, 1) if row["side_by_side"] == 1]
    lengths = [row["ms_p50"] for row in alone]
    table(["words", "of them protected", "ms p50", "words/s"],
          [(n, row["protected_words"], row["ms_p50"], row["words_per_second"]) for n, row in zip(LENGTHS, alone)])

    cores = list(range(1, os.cpu_count() + 1))
    rates = [next(row["words_per_second"] for row in bench(args.cape, [64], n) if row["side_by_side"] > 1) for n in cores]
    table(["cores", "words/s of 64-word prompts, 16 at once"], list(zip(cores, rates)))

    out = subprocess.run(["cargo", "bench", "--quiet", "--workspace", "--bench", "listed"], check=True, capture_output=True, text=True).stdout
    listed = [(int(n), float(us)) for n, us in (line.split() for line in out.splitlines() if line)]
    table(["listed words", "µs a draw"], listed)

    figure, axes = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
    proportion = lambda xs, ys: [ys[-1] * x / xs[-1] for x in xs]
    panel(axes[0], "words of the prompt", LENGTHS, lengths, proportion(LENGTHS, lengths), "ms per prompt")
    sizes, draws = zip(*listed)
    panel(axes[1], "listed words", sizes, draws, proportion(sizes, draws), "µs per draw")
    panel(axes[2], "cores", cores, rates, [rates[0] * n for n in cores], "words per second")
    figure.savefig(args.plot, metadata={"Date": None})


main()
