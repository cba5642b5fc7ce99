#!/usr/bin/env python3
"""Turn a corpus of documents into token arrays for masked-language-model training.

Input:  a file of JSON lines, plain or zstd (`.zst`), one document a line:
        {"source": "news", "text": "..."}
Output: a folder with
        train.npz    tokens, sentence starts and document starts, by source
        heldout.npz  the same for documents that training never sees
        meta.json    what was read, kept and dropped

Nothing is cut into rows here: `train.py` does that anew for every pass, so that a
document seen twice is not seen twice in the same pieces.

The held-out split is a fixed rule, so that every model measured on one corpus is
measured on the same documents: sources in order of their first line, `random.seed(0)`
once, then for each source `random.shuffle(documents)`, of which the first
max(5, n // 200) are held out. Corpora repeat themselves, so the held-out part is then
cleaned of what the training part has too: a document of which a fifth or more of the
runs of `--ngram` words also stand in the training part is dropped, and of the others
each sentence that shares such a run.

`--exclude FILE` (repeatable) names text that must not be trained on, such as a
benchmark's test set. A sentence of the training part that shares a run of
`--ngram` words with it is dropped; how many were is in meta.json.
"""
import argparse
import io
import json
import os
import random
import re

import numpy as np
from tokenizers import Tokenizer

# A sentence ends at . ! or ? (with closing quotes), followed by a space and something
# that can begin another one. Text split into words ("end . Next") works the same way.
SENTENCE_END = re.compile(r"""(?<=[.!?])(["')\]]*)\s+(?=["'(\[]*\s?[A-Z0-9])""")
WORD = re.compile(r"[a-z0-9]+")


def read_documents(path):
    """{source: [text, ...]}, sources and documents in the order of the file."""
    if path.endswith(".zst"):
        import zstandard

        raw = zstandard.ZstdDecompressor().stream_reader(open(path, "rb"))
        lines = io.TextIOWrapper(raw, encoding="utf-8")
    else:
        lines = open(path, encoding="utf-8")
    by_source = {}
    with lines:
        for line in lines:
            if line.strip():
                doc = json.loads(line)
                by_source.setdefault(doc["source"], []).append(doc["text"])
    return by_source


def split(by_source):
    """The split rule of the module's description: {source: (held out, training)}."""
    random.seed(0)
    parts = {}
    for source, docs in by_source.items():
        random.shuffle(docs)
        n = max(5, len(docs) // 200)
        parts[source] = (docs[:n], docs[n:])
    return parts


def sentences(text):
    out, start = [], 0
    for m in SENTENCE_END.finditer(text):
        out.append(text[start : m.end(1)])
        start = m.end()
    out.append(text[start:])
    return [s for s in out if s.strip()]


def ngrams(text, n):
    words = WORD.findall(text.lower())
    return (hash(tuple(words[i : i + n])) for i in range(len(words) - n + 1))


def ngram_set(text, n):
    return set(ngrams(text, n))


def clean_heldout(docs, seen, n):
    """Documents as lists of sentences, without what stands in the training part too."""
    kept = []
    for text in docs:
        sents = [(s, ngram_set(s, n)) for s in sentences(text)]
        total = sum(len(g) for _, g in sents)
        shared = sum(len(g & seen) for _, g in sents)
        if shared * 5 < total or total == 0:
            kept.append([s for s, g in sents if not g & seen])
    return kept


def clean_train(docs, banned, watch, seen, n):
    """(documents as lists of sentences without banned text, how many sentences were banned)

    What stands in `watch` too is added to `seen`.
    """
    out, dropped = [], 0
    for text in docs:
        kept = []
        for s in sentences(text):
            grams = ngram_set(s, n)
            if grams & banned:
                dropped += 1
            else:
                kept.append(s)
                seen |= grams & watch
        out.append(kept)
    return out, dropped


def encode(tokenizer, docs):
    """(tokens, sentence starts, document starts) of documents given as lists of sentences"""
    tokens, sent_starts, doc_starts, total = [], [], [], 0
    for at in range(0, len(docs), 1000):
        part = docs[at : at + 1000]
        owner = [d for d, sents in enumerate(part) for _ in sents]
        encoded = tokenizer.encode_batch_fast([s for sents in part for s in sents], add_special_tokens=False)
        last = None
        for d, enc in zip(owner, encoded):
            if not enc.ids:
                continue
            if d != last:
                doc_starts.append(total)
                last = d
            sent_starts.append(total)
            tokens.append(np.array(enc.ids, dtype=np.uint16))
            total += len(enc.ids)
    tokens = np.concatenate(tokens) if tokens else np.zeros(0, np.uint16)
    return tokens, np.array(sent_starts, np.int64), np.array(doc_starts, np.int64)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("corpus", help="JSON lines, .jsonl or .jsonl.zst")
    p.add_argument("--tokenizer", required=True, help="a tokenizer.json (WordPiece)")
    p.add_argument("--out", required=True, help="folder to write")
    p.add_argument("--exclude", action="append", default=[], metavar="FILE", help="text never to train on (repeatable)")
    p.add_argument("--ngram", type=int, default=10, metavar="N", help="words in a row that count as the same text (10)")
    args = p.parse_args()

    tokenizer = Tokenizer.from_file(args.tokenizer)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    if tokenizer.get_vocab_size() > 65536:
        p.error("tokens are stored in 16 bits: the vocabulary is too large")
    banned = set()
    for path in args.exclude:
        with open(path, encoding="utf-8") as f:
            for line in f:
                for field in line.split("\t"):
                    banned.update(ngrams(field, args.ngram))

    parts = split(read_documents(args.corpus))
    watch = {g for held, _ in parts.values() for text in held for s in sentences(text) for g in ngrams(s, args.ngram)}
    seen = set()
    os.makedirs(args.out, exist_ok=True)
    meta = {"excluded": [os.path.basename(x) for x in args.exclude], "ngram": args.ngram, "sources": {}}
    arrays = {"train": {}, "heldout": {}}

    def add(name, source, docs, kept, **more):
        arrays_of = dict(zip(("tokens", "sentences", "documents"), encode(tokenizer, kept)))
        for key, array in arrays_of.items():
            arrays[name][f"{source}/{key}"] = array
        info = {key: len(array) for key, array in arrays_of.items()} | {"documents_before": len(docs)} | more
        meta["sources"].setdefault(source, {})[name] = info
        print(name, source, json.dumps(info), flush=True)

    for source, (_, train) in parts.items():
        kept, dropped = clean_train(train, banned, watch, seen, args.ngram)
        add("train", source, train, kept, excluded_sentences=dropped)
    for source, (held, _) in parts.items():
        add("heldout", source, held, clean_heldout(held, seen, args.ngram))
    for name, data in arrays.items():
        tmp = os.path.join(args.out, name + ".tmp.npz")
        np.savez(tmp, **data)
        os.replace(tmp, os.path.join(args.out, name + ".npz"))
    with open(os.path.join(args.out, "meta.json"), "w") as f:
        json.dump(meta, f, indent=1)


if __name__ == "__main__":
    main()
