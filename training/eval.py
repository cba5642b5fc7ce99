#!/usr/bin/env python3
"""Measure a masked language model on held-out text: loss, top-1 and top-5.

The text is the held-out part that `prep.py` wrote. Every document is cut into rows of
`--row` tokens, and from each source at most `--rows` rows are drawn. In each row 15 % of
the positions are replaced by [MASK] (always by [MASK], never by a random or the same
token), and the model has to name the token that stood there. A source with few rows is
measured under several disjoint choices of positions (at most 6), so that its number is
not mere noise; one with fewer than 500 tokens is left out. Everything is seeded: two runs
on one machine give the same figures.

`overall` is over all masked positions together; `balanced` is the mean of the sources,
each counting the same. `--text NAME=FILE` (repeatable) measures a plain text file too,
each line a document of its own; it does not count in `overall` and `balanced`.

The model is a folder in the Hugging Face layout (config.json, model.safetensors).
"""
import argparse
import json
import math
import os
import time

import numpy as np
import torch

CLS, SEP, MASK, UNK = 101, 102, 103, 100  # of bert-base-uncased's vocabulary


def load_split(path):
    """{source: (tokens, sentence starts, document starts)} of an .npz by prep.py."""
    with np.load(path) as z:
        names = list(dict.fromkeys(k.split("/")[0] for k in z.files))
        return {s: (z[f"{s}/tokens"], z[f"{s}/sentences"], z[f"{s}/documents"]) for s in names}


def read_text(path, tokenizer):
    """The same for a plain text file, each line a document."""
    with open(path, encoding="utf-8") as f:
        encoded = tokenizer.encode_batch([line for line in f if line.strip()], add_special_tokens=False)
    lines = [np.array(e.ids, np.uint16) for e in encoded if e.ids]
    starts = np.cumsum([0] + [len(x) for x in lines])[:-1]
    return np.concatenate(lines), starts, starts


def build(heldout, row=62, rows=200, rate=0.15, seed=1, min_tokens=500):
    """The fixed questions: {source: [(ids with [MASK], positions, answers), ...]}."""
    tests = {}
    for number, (source, (tokens, _, documents)) in enumerate(heldout.items()):
        rng = np.random.default_rng([seed, number])
        pieces = []
        for a, b in zip(documents, list(documents[1:]) + [len(tokens)]):
            pieces += [tokens[i : min(i + row, b)].astype(np.int64) for i in range(a, b, row)]
        pieces = [p for p in pieces if len(p) >= 8]
        if len(pieces) > rows:
            pieces = [pieces[i] for i in np.sort(rng.choice(len(pieces), rows, replace=False))]
        if sum(map(len, pieces)) < min_tokens:
            continue  # too little to say anything
        masks = min(6, max(1, math.ceil(rows / len(pieces))))
        tests[source] = questions = []
        for piece in pieces:
            order = rng.permutation(np.flatnonzero(piece != UNK))
            k = max(1, round(rate * len(piece)))
            for m in range(masks):
                chosen = np.sort(order[m * k : (m + 1) * k])
                if len(chosen) == 0:
                    break
                ids = np.concatenate([[CLS], piece, [SEP]])
                ids[chosen + 1] = MASK
                questions.append((ids, chosen + 1, piece[chosen]))
    return tests


@torch.no_grad()
def evaluate(model, tests, batch=64):
    """{source, overall, balanced: {loss, top1, top5, n}}"""
    was_training = model.training
    model.eval()
    result, total = {}, np.zeros(4)
    for source, questions in tests.items():
        sums = np.zeros(4)  # loss, top-1, top-5, positions
        by_length = {}
        for q in questions:
            by_length.setdefault(len(q[0]), []).append(q)
        for group in by_length.values():
            for i in range(0, len(group), batch):
                part = group[i : i + batch]
                ids = torch.from_numpy(np.stack([q[0] for q in part]))
                flat = torch.from_numpy(np.concatenate([r * ids.shape[1] + q[1] for r, q in enumerate(part)]))
                labels = torch.from_numpy(np.concatenate([q[2] for q in part]))
                hidden = model.bert(input_ids=ids)[0].flatten(0, 1)[flat]
                logits = model.cls(hidden).float()
                sums[0] += torch.nn.functional.cross_entropy(logits, labels, reduction="sum").item()
                best = logits.topk(5).indices == labels[:, None]
                sums[1] += best[:, 0].sum().item()
                sums[2] += best.any(1).sum().item()
                sums[3] += len(labels)
        result[source] = figures(sums)
        total += sums
    sources = list(result.values())
    result["balanced"] = {k: float(np.mean([s[k] for s in sources])) for k in ("loss", "top1", "top5")} | {"n": int(total[3])}
    result["overall"] = figures(total)
    model.train(was_training)
    return result


def figures(sums):
    loss, top1, top5, n = sums
    return {"loss": loss / n, "top1": top1 / n, "top5": top5 / n, "n": int(n)}


def table(result):
    """The figures as lines of text."""
    lines = [f"{'source':<12}{'masked':>8}{'loss':>8}{'top-1':>8}{'top-5':>8}"]
    for name, r in result.items():
        lines.append(f"{name:<12}{r['n']:>8}{r['loss']:>8.3f}{r['top1']:>8.4f}{r['top5']:>8.4f}")
    return "\n".join(lines)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model", help="folder of the model, Hugging Face layout")
    p.add_argument("--data", required=True, help="folder written by prep.py")
    p.add_argument("--text", action="append", default=[], metavar="NAME=FILE", help="a text file to measure too")
    p.add_argument("--row", type=int, default=62, help="tokens in a row, without [CLS] and [SEP] (62)")
    p.add_argument("--rows", type=int, default=200, help="rows of each source at most (200)")
    p.add_argument("--rate", type=float, default=0.15, help="part of the positions that is masked (0.15)")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--json", metavar="FILE", help="write the figures there too")
    args = p.parse_args()

    from tokenizers import Tokenizer
    from transformers import BertForMaskedLM

    torch.set_num_threads(args.threads)
    model = BertForMaskedLM.from_pretrained(args.model, dtype=torch.float32)
    how = (args.row, args.rows, args.rate, args.seed)
    started = time.time()
    result = evaluate(model, build(load_split(os.path.join(args.data, "heldout.npz")), *how))
    if args.text:
        tokenizer = Tokenizer.from_file(os.path.join(args.model, "tokenizer.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        texts = {name: read_text(path, tokenizer) for name, path in (t.split("=", 1) for t in args.text)}
        extra = evaluate(model, build(texts, *how))
        result |= {name: extra[name] for name in texts}
    print(table(result))
    print(f"{time.time() - started:.0f} s")
    if args.json:
        with open(args.json, "w") as f:
            json.dump(result, f, indent=1)


if __name__ == "__main__":
    main()
