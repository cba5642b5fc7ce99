#!/usr/bin/env python3
"""What a prompt costs as it grows, and as the vocabulary grows: a table on stdout and a plot.

    python benches/peers/scaling.py PLOT.svg DIR

measures the embedded model over prompts of 8 to 512 tokens, then models of 2 layers with 2,000 to
152,000 rows of vocabulary (made in DIR, see random_bert.py) over one prompt of 18 letters, each a
token of its own in all of them. Repetitions wait for quiet and go around all lengths in turn; the
median of those with the least foreign use counts.
"""

import argparse
import statistics
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
from ours import ROOT, built
from peers import Peer, wait_for_quiet

TEXT = (ROOT / "crates/cape-cli/src/commands/bench/text.txt").read_text()
LENGTHS = [8, 16, 32, 64, 128, 256, 512]
ROWS = [2_000, 8_000, 30_522, 64_000, 152_000]
LETTERS = "b c e f g h j k l n p q r u v w x z"
FORMS = ["released", "raw"]


def prompt(length):
    """So many words and punctuation marks, which are as many tokens but for rare words."""
    marks = TEXT.replace(".", " .").replace(",", " ,").split()
    return " ".join((marks * (length // len(marks) + 1))[:length])


def measure(jobs, repetitions, patience):
    """Median milliseconds of each job, given as a command and a request."""
    peers = [Peer("", command, request) for command, request in jobs]
    for repetition in range(-1, repetitions):
        for peer in peers:
            patience = wait_for_quiet(patience)
            peer.run(count=repetition >= 0)
    medians = [statistics.median(ms for ms, _ in peer.clean()) for peer in peers]
    for peer in peers:
        peer.stop()
    return medians


def model(directory, rows):
    path = Path(directory) / f"vocab-{rows}"
    if not (path / "model.safetensors").exists():
        script = Path(__file__).with_name("random_bert.py")
        subprocess.run([sys.executable, script, path, "--vocab", str(rows)], check=True)
    return path


def table(title, column, medians):
    print(f"\n| {title} | released ms | raw ms |\n|---|---|---|")
    for value, released, raw in zip(column, *medians):
        print(f"| {value:,} | {released:.1f} | {raw:.1f} |")


def plot(path, panels):
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for axis, (label, column, medians) in zip(axes, panels):
        for form, values in zip(FORMS, medians):
            axis.loglog(column, values, marker="o", label=form)
        axis.set(xlabel=label, ylabel="ms per prompt")
        axis.set_xticks(column, [f"{value:,}" for value in column], rotation=30)
        axis.minorticks_off()
        axis.grid(alpha=0.3)
        axis.legend()
    figure.savefig(path, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plot", type=Path)
    parser.add_argument("models", type=Path)
    parser.add_argument("--repetitions", type=int, default=8)
    parser.add_argument("--patience", type=float, default=60, help="seconds to wait, per curve")
    args = parser.parse_args()
    ours = built("forward")

    def curve(jobs):
        return measure(jobs, args.repetitions, args.patience)

    lengths = [
        curve([([ours, "default"], f"{form} {prompt(n)}") for n in LENGTHS]) for form in FORMS
    ]
    table("tokens, about", LENGTHS, lengths)
    models = [model(args.models, rows) for rows in ROWS]
    rows = [
        curve([([ours, path, "int16"], f"{form} {LETTERS}") for path in models]) for form in FORMS
    ]
    table("rows", ROWS, rows)
    plot(
        args.plot,
        [("tokens of the prompt, about", LENGTHS, lengths), ("rows of the vocabulary", ROWS, rows)],
    )


if __name__ == "__main__":
    main()
