#!/usr/bin/env python3
"""A sentence encoder beside sentence-transformers on torch, in one run, one repetition of each in turn.

    python benches/peers/sentences.py MODEL sentences.txt

MODEL is a folder such as all-MiniLM-L6-v2's. Both compute in f32 with the same number of threads; torch
gets the batch size that suits it best. A ratio is the median over the rounds of torch's time to ours.
"""

import argparse
import os
import statistics
import subprocess
import time
from pathlib import Path

from ours import built


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("sentences", type=Path)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    options = parser.parse_args()

    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(options.threads)
    theirs = SentenceTransformer(options.model, device="cpu")
    sentences = options.sentences.read_text().splitlines()
    ours = subprocess.Popen(
        [built("sentences"), options.model, options.sentences],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"RAYON_NUM_THREADS": str(options.threads)},
    )
    assert ours.stdout.readline() == "ready\n"

    def ask(what):
        ours.stdin.write(what + "\n")
        ours.stdin.flush()
        return float(ours.stdout.readline())

    def torch_time(texts, batch):
        start = time.perf_counter()
        theirs.encode(texts, batch_size=batch, normalize_embeddings=True, show_progress_bar=False)
        return 1e3 * (time.perf_counter() - start)

    batches = {size: min(torch_time(sentences, size) for _ in range(2)) for size in (8, 16, 32, 64, 200)}
    batch = min(batches, key=batches.get)
    print(f"torch {torch.__version__}, {options.threads} threads, batches of {batch}")
    for what, texts in (("all", sentences), ("one", sentences[:1])):
        ask(what), torch_time(texts, batch)
        pairs = [(ask(what), torch_time(texts, batch)) for _ in range(options.rounds)]
        mine, other = ([pair[i] for pair in pairs] for i in (0, 1))
        ratio = statistics.median(b / a for a, b in pairs)
        for name, times in (("ours", mine), ("torch", other)):
            least, middle = min(times), statistics.median(times)
            print(
                f"{what:4} {name:6} median {middle:8.1f} ms, least {least:8.1f} ms, "
                f"{1e3 * len(texts) / middle:6.0f} sentences/s (best {1e3 * len(texts) / least:.0f})"
            )
        print(f"{what:4} torch / ours {ratio:.2f} (least over least {min(other) / min(mine):.2f})")


if __name__ == "__main__":
    main()
