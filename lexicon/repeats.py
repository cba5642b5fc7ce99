"""How often the best guess is right when a protected word is drawn anew several times, by the default law.

    python repeats.py [--epsilon 8] [--k 100]

The attacker knows the list and the law, and takes all protected words among the substitutes to be equally likely. A plateau
has two weights, so the best guess is a word whose k nearest hold most of what was drawn.
"""

import argparse

import numpy as np

import reference
import vectors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epsilon", type=float, default=8)
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--trials", type=int, default=4000)
    args = parser.parse_args()
    lexicon = reference.Lexicon()
    flags = [lexicon.flags[lexicon.words[i]] for i in lexicon.substitutes]
    protected = np.array([i for i, f in enumerate(flags) if "o" not in f or set(f) & vectors.SENSITIVE.keys()])
    rows, n = lexicon.vectors[lexicon.substitutes].astype(np.float32), len(lexicon.substitutes)
    nearest = np.zeros((len(protected), n), bool)
    for place, word in enumerate(protected):
        score = rows @ rows[word]
        score[word] = np.inf
        nearest[place, np.argpartition(-score, args.k)[: args.k]] = True
    near = args.k / (args.k + (n - args.k) * np.exp(-args.epsilon))
    rng = np.random.default_rng(0)
    for releases in (1, 2, 5, 10):
        right = 0.0
        for _ in range(args.trials):
            t = rng.integers(len(protected))
            own = np.flatnonzero(nearest[t])
            drawn = [rng.choice(own) if rng.random() < near else rng.integers(n) for _ in range(releases)]
            hits = nearest[:, drawn].sum(1)
            best = np.flatnonzero(hits == hits.max())
            right += (t in best) / len(best)
        print(f"{releases} releases: {100 * right / args.trials:.1f} % of {len(protected)} protected words")


if __name__ == "__main__":
    main()
