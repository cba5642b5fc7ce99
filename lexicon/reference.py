"""Reads the lexicon's files back and prints the nearest substitutes of the words given.

    python reference.py [--top 10] Krzysztof gonorrhea Alice London hiked
"""

import argparse
import pathlib
import struct

import numpy as np

from vectors import features

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "crates/cape/lexicon"


def read(file: pathlib.Path, magic: bytes) -> np.ndarray:
    data = file.read_bytes()
    assert data[:8] == magic, file
    rows, dim = struct.unpack("<II", data[8:16])
    return np.frombuffer(data, np.int8, offset=16).reshape(rows, dim)


class Lexicon:
    def __init__(self, folder: pathlib.Path = FOLDER):
        pairs = [line.split("\t") for line in (folder / "words.tsv").read_text(encoding="utf-8").splitlines()]
        self.words = [w for w, _ in pairs]
        self.flags = dict(pairs)
        self.row = {w: i for i, w in enumerate(self.words)}
        self.vectors = read(folder / "vectors.bin", b"CAPEVEC1")
        self.ngrams = read(folder / "ngrams.bin", b"CAPENGR1")
        assert len(self.words) == len(self.row) == len(self.vectors)
        assert self.words == sorted(self.words, key=lambda w: w.encode())
        # what protected words are ranked among
        self.substitutes = np.array([i for i, w in enumerate(self.words) if "l" in self.flags[w] and "r" not in self.flags[w]])
        self._target = self.vectors[self.substitutes].astype(np.float64)

    def entry(self, string: str) -> str | None:
        """The line that a string is looked up in: as written, in lower case, in title case."""
        for form in (string, string.lower(), string[:1].upper() + string[1:].lower()):
            if form in self.row:
                return form
        return None

    def query(self, string: str) -> np.ndarray:
        entry = self.entry(string)
        if entry is not None:
            return self.vectors[self.row[entry]].astype(np.int64)
        return self.ngrams[features(string, len(self.ngrams))].astype(np.int64).sum(0)

    def scores(self, string: str) -> np.ndarray:
        return self._target @ self.query(string).astype(np.float64)  # exact: far below 2^53

    def nearest(self, string: str, top: int) -> list[str]:
        order = np.argsort(-self.scores(string), kind="stable")[:top]
        return [self.words[self.substitutes[i]] for i in order]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=pathlib.Path, default=FOLDER)
    parser.add_argument("--top", type=int, default=10)
    parser.add_argument("words", nargs="+")
    args = parser.parse_args()
    lexicon = Lexicon(args.folder)
    for word in args.words:
        entry = lexicon.entry(word)
        where = f"line {entry!r}, flags {lexicon.flags[entry]}" if entry else "n-grams"
        print(f"{word} ({where}): {' '.join(lexicon.nearest(word, args.top))}")


if __name__ == "__main__":
    main()
