"""Measures the lexicon's files: who is protected, and how near releases stay to their texts.

    python experiments.py --pii pii_sentences.jsonl --sst2 sst2_dev.tsv [--epsilon 7 --k 100] [--without gender,form]

A simplified cut and level (profile `personal`) stand in for the crate's; numbers become random digits. Judges: all-MiniLM-L6-v2,
and an average of GloVe vectors weighted by rarity. Both gave their vectors to the ranking, so neither is neutral.
"""

import argparse
import collections
import json
import pathlib
import re

import numpy as np

import reference
import vectors

UNIT = re.compile(
    r"[\w.+-]+@[\w.-]+\.\w+|https?://\S+|www\.\S+|\b(?:[\w-]+\.)+(?:com|org|net|edu|gov|io|co|uk|de)\b|(?:[A-Za-z]\.){2,}"
    r"|\d[\d\-\s.,()+/:]*\d|[^\W_]+(?:['’\-][^\W_]+)*"
)
GROUPS = {
    "names": "given surname place country organisation day demonym software".split(),
    "gender": ["gender"],
    "sensitive": "illness drug body religion politics sexuality crime money".split(),
    "proper": ["proper"],
    "common": ["common"],
    "form": [f"form{i}" for i in range(1, 10)],
}


def kind(unit: str) -> str:
    if "@" in unit or "://" in unit or re.fullmatch(r"(?:[\w-]+\.)+[a-z]{2,3}", unit):
        return "address"
    return "word" if any(c.isalpha() for c in unit) else "number"


def ordinary(flags: dict[str, str], unit: str, first: bool) -> bool:
    unit = unit.replace("’", "'")
    if unit.lower() in ("i", "i'm", "i'll", "i've", "i'd") or "k" in flags.get(unit, ""):
        return True
    if "o" not in flags.get(unit, "") and first and unit[0].isupper() and unit[1:] == unit[1:].lower():
        unit = unit.lower()
        if "n" in flags.get(unit, ""):
            return False
    found = flags.get(unit, "")
    return "o" in found and not set(found) & set("IBRPXCM")


def units(flags, text):
    """(start, end, string, kind, protected, first) of each unit."""
    out, end = [], 0
    for match in UNIT.finditer(text):
        start, unit = match.start(), re.sub(r"['’][sS]\Z", "", match.group())
        gap = text[end:start]
        first = end == 0 or "\n" in gap or re.search(r"[.!?][\"'”’)\]]*\s", gap) is not None
        end = start + len(unit)
        what = kind(unit)
        out.append((start, end, unit, what, not (what == "word" and ordinary(flags, unit, first)), first))
    return out


def release(texts, lexicon, epsilon, k, rng):
    """One release of each text; the same ranks are drawn whatever the vectors are."""
    n = len(lexicon.substitutes)
    top = k * np.exp(epsilon) / (k * (np.exp(epsilon) - 1) + n)
    orders, out = {}, []
    for text, cut in texts:
        parts, end, seen = [], 0, {}
        for start, stop, unit, what, protected, first in cut:
            parts.append(text[end:start])
            end = stop
            near, at, digits = rng.random() < top, rng.random(), rng.integers(0, 10, 64)
            rank = int(at * k) if near else k + int(at * (n - k))
            if not protected:
                parts.append(unit)
            elif what == "word":
                key = unit.lower()
                if key not in seen:
                    if unit not in orders:
                        orders[unit] = np.argsort(-lexicon.scores(unit.replace("’", "'")), kind="stable")
                    seen[key] = lexicon.words[lexicon.substitutes[orders[unit][rank]]]
                word = seen[key]
                parts.append(word[0].upper() + word[1:] if first else word)
            elif what == "address":
                parts.append("www.example.com")
            else:
                parts.append("".join(str(digits[i % 64]) if c.isdigit() else c for i, c in enumerate(unit)))
        out.append("".join(parts) + text[end:])
    return out


def glove_average(texts, glove):
    place = {w: i for i, w in enumerate(glove)}
    out = np.zeros((len(texts), 300), np.float32)
    for i, text in enumerate(texts):
        for word in re.findall(r"[a-z]+", text.lower()):
            if word in glove:
                out[i] += 1e-4 / (1e-4 + 0.08 / (1 + place[word])) * glove[word]
    return vectors.unit(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pii", type=pathlib.Path, required=True)
    parser.add_argument("--sst2", type=pathlib.Path, required=True)
    parser.add_argument("--epsilon", type=float, default=7)
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--without", default="", help="parts left out: " + ", ".join(GROUPS))
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=2)
    args = parser.parse_args()
    lexicon = reference.Lexicon()
    off = [vectors.SEMANTIC + vectors.AXES.index(a) for g in args.without.split(",") if g for a in GROUPS[g]]
    lexicon.vectors, lexicon.ngrams = lexicon.vectors.copy(), lexicon.ngrams.copy()
    lexicon.vectors[:, off] = 0
    lexicon.ngrams[:, off] = 0
    lexicon._target = lexicon.vectors[lexicon.substitutes].astype(np.float64)
    stop = set((pathlib.Path(__file__).resolve().parent.parent / "crates/cape/src/stopwords_en.txt").read_text().split())

    rows = [json.loads(line) for line in open(args.pii, encoding="utf-8")]
    total, safe = collections.Counter(), collections.Counter()
    for row in rows:
        row["cut"] = units(lexicon.flags, row["text"])
        for start, end, unit, what, protected, _ in row["cut"]:
            label = next((s["label"] for s in row["spans"] if s["start"] <= start and end <= s["end"]), "outside")
            if unit.lower() not in stop and (label != "outside" or what == "word"):
                total[label] += 1
                safe[label] += protected
    for label in sorted(total):
        print(f"{label}: {total[label]} words, {100 * safe[label] / total[label]:.2f} % protected")

    rows = rows[: args.sentences]
    inside = [[c if any(s["start"] <= c[0] and c[1] <= s["end"] for s in r["spans"]) else (*c[:4], False, c[5]) for c in r["cut"]] for r in rows]
    masked = []
    for row in rows:
        text = row["text"]
        for span in sorted(row["spans"], key=lambda s: -s["start"]):
            text = text[: span["start"]] + f"<{span['label']}>" + text[span["end"] :]
        masked.append(text)
    films = [line.split("\t")[0] for line in args.sst2.read_text(encoding="utf-8").split("\n")[1:151]]
    glove = vectors.read_glove()

    def judge(name, originals, released):
        a, b = vectors.unit(vectors.encode(originals, 128)), vectors.unit(vectors.encode(released, 128))
        times = len(released) // len(originals)
        near = 100 * (np.tile(a, (times, 1)) * b).sum(1).reshape(times, -1).mean(0)
        other = 100 * (np.tile(glove_average(originals, glove), (times, 1)) * glove_average(released, glove)).sum(1).mean()
        print(f"{name}: MiniLM {near.mean():.1f} ± {near.std() / len(near) ** 0.5:.1f}, GloVe {other:.1f}", flush=True)

    texts = [r["text"] for r in rows]
    judge("labelled spans masked by their type", texts, masked)
    for name, source, cuts in (
        ("release", texts, [r["cut"] for r in rows]),
        ("release, labelled spans alone drawn", texts, inside),
        ("release, SST-2", films, [units(lexicon.flags, t) for t in films]),
    ):
        rng = np.random.default_rng(0)
        out = [t for _ in range(args.repeats) for t in release(list(zip(source, cuts)), lexicon, args.epsilon, args.k, rng)]
        judge(name, source, out)


if __name__ == "__main__":
    main()
