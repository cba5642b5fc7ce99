"""Makes the lexicon: words.tsv, vectors.bin and ngrams.bin. README.md says from what, and how each flag is decided."""

import argparse
import collections
import pathlib
import pickle
import sys

import numpy as np

import lists
import sources
import vectors

HERE = pathlib.Path(__file__).resolve().parent
STOPWORDS = HERE.parent / "crates/cape/src/stopwords_en.txt"
LIMIT = 50_000  # lines of words.tsv
COMMONEST = 3_000  # ordinary words that protected words are ranked among

# Classes from WordNet: the nouns whose first sense stands under one of these.
ROOTS = {
    "I": ["illness.1", "disorder.1", "symptom.1", "injury.1", "medicine.2", "therapy.1", "medical_procedure.1", "pathological_state.1",
          "mental_disorder.1", "drug_of_abuse.1", "disability.1", "vaccine.1", "pain.1"],
    "B": ["body_part.1"],
    "R": ["religion.1", "religion.2", "religionist.1", "clergyman.1", "place_of_worship.1"],
    "P": ["politician.1", "politician.2"],
    "C": ["crime.1", "criminal.1"],
}
BY_HAND = {"I": lists.ILLNESS, "B": lists.BODY, "R": lists.RELIGION, "P": lists.POLITICS, "X": lists.SEXUALITY, "C": lists.CRIME, "M": lists.MONEY}
DRUGS = ["medicine.2", "drug.1", "vaccine.1"]
# Of these roots only words outside the ordinary ones take the class; ordinary words take it from the lists alone.


def offensive(net: sources.WordNet) -> set[str]:
    """Words that no release may hold: better_profanity's list, WordNet's slurs, vulgar and disparaging terms, and intimate ones."""
    found = set((sources.package("better_profanity") / "profanity_wordlist.txt").read_text().split("\n"))
    domains = {net.sense(s) for s in ["ethnic_slur.1", "disparagement.1", "obscenity.2", "obscenity.3"]}
    for synset, tops in net.domain.items():
        if domains & set(tops):
            found.update(name.lower() for name, letter in net.lemmas[synset] if net.senses[name.lower(), letter][0] == synset)
    found = {w.strip().lower() for w in found}
    found |= {w + "s" for w in found} | set(lists.OFFENSIVE)
    return found - set(lists.NOT_OFFENSIVE) | set(lists.INTIMATE)


def ordinary(args, net, lower, inside, rank, stop, rated) -> set[str]:
    """Ordinary words: SCOWL 10, what is frequent of SCOWL 20 and 35, contractions, stopwords, common compounds."""
    kinds = [f"{k}-words" for k in ("english", "american", "british", "british_z")]
    size = sources.scowl(args.scowl, kinds, [10, 20, 35, 40, 50])
    sensitive = {w for roots in ROOTS.values() for w, place in net.under(roots).items() if not place}
    sensitive |= {w + "s" for w in sensitive}
    # pancreatic, paralysed, harassed
    stems = {w[:5] for w in sensitive | {w for words in BY_HAND.values() for w in words} if len(w) > 4}
    found = set()
    for word, s in size.items():
        if not word.islower() or len(word) < 2:
            continue
        r = rank.get(word, 10**9)
        often = lower[word]
        frequent = s == 10 and (r < 30_000 or often >= 5) or s == 20 and (r < 24_000 or often >= 60)
        # the web knows words of offices, kitchens and trade that other text seldom has
        frequent = frequent or r < 14_000 and often >= 2 and word not in sensitive
        frequent = frequent or s == 35 and (r < 12_000 and often >= 30 or often >= 200) or s >= 40 and (r < 9_000 and often >= 20 or often >= 300)
        # what is no noun says how things are, and seldom a private fact
        adds = s <= 40 and often >= 25 and word[:5] not in stems and form(word, net, stop, rated) in "345678"
        frequent = frequent or adds
        if frequent and (often >= 0.5 * inside[word.title()] or s == 10 or often >= 200):
            found.add(word)
    found |= {w for w, s in sources.scowl(args.scowl, ["english-contractions"], [10, 35, 40]).items() if w.islower()}
    found |= {w for w in STOPWORDS.read_text().split() if sources.plain(w)}
    found |= set(lists.ORDINARY_EXTRA) | set(lists.CODE)
    for word, often in lower.items():
        if "-" in word and often >= 100 and all(p in found or p in ("co", "ex", "non", "re", "anti", "pre", "mid") for p in word.split("-")):
            found.add(word)
    # peoples and languages are written with a capital
    peoples = {w.lower() for w in lists.DEMONYMS + lists.LANGUAGES} - {"polish"}
    junk = set(lists.NOT_WORDS) | peoples
    return {w for w in found if sources.plain(w) and w not in junk and (len(w) > 1 or w in ("a", "I"))}


def form(word: str, net: sources.WordNet, stop: set[str], rated: dict[str, float]) -> str:
    """One of 1-9, by WordNet's parts of speech and counts, and by the ending; `rated` has words of a good or bad tone."""
    if not word.islower():
        return ""
    if word in stop or "'" in word:
        return "9"
    word = word.rsplit("-", 1)[-1]
    scores = {}
    for letter in "nvar":
        base = net.base(word, letter)
        if base:
            inflected = base != word
            end = "1378"["nvar".index(letter)]
            if inflected and letter == "n":
                end = "2"
            if inflected and letter == "v":
                end = "6" if word.endswith("ing") else "4" if word.endswith("s") else "5"
            if inflected and letter == "a":
                end = "7"
            # a diabetic is one because he is diabetic; boring is said of films before it is done in the ground
            if letter == "a" and (word.endswith(("ic", "ous", "ive", "able", "ful", "less")) or word.endswith("ing") and word in rated):
                return "7"
            scores[end] = max(scores.get(end, 0), net.count[base, letter] + 0.5 + (8 if not inflected and net.count[word, letter] else 0))
    if not scores:
        for ending, end in (("ly", "8"), ("ing", "6"), ("ed", "5"), ("s", "2"), ("ous", "7"), ("able", "7"), ("al", "7")):
            if word.endswith(ending):
                return end
        return "1"
    return max(sorted(scores), key=scores.get)


def name_weights(census, faker, people, kind, companies, demonyms) -> dict[str, dict[str, float]]:
    """How much a capitalised string is a given name, a surname, a place ...; 1 is a clear case."""
    weight: dict[str, dict[str, float]] = collections.defaultdict(dict)

    def put(word, what, value):
        if word and value > weight[word].get(what, 0):
            weight[word][what] = value

    def step(value, steps):
        return next((w for limit, w in steps if value >= limit), steps[-1][1])

    for what in "fm":
        for name, share in census[what].items():
            put(name, what, step(share, [(0.1, 1), (0.03, 0.8), (0.01, 0.6), (0.004, 0.4), (0, 0.25)]))
        for name, count in faker[what].items():
            put(name, what, step(count, [(4, 0.8), (2, 0.6), (0, 0.4)]))
    for name, share in census["s"].items():
        if share >= 0.001:
            put(name, "s", step(share, [(0.05, 1), (0.02, 0.8), (0.008, 0.6), (0.003, 0.4), (0, 0.25)]))
    for name, count in faker["s"].items():
        put(name, "s", step(count, [(4, 0.6), (2, 0.5), (0, 0.35)]))
    for name, population in people.items():
        put(name, "p", step(population, [(900_000, 1), (300_000, 0.7), (100_000, 0.4), (30_000, 0.25), (0, 0.12)]))
    for name in companies:
        put(name, "g", 0.9)
    for name in demonyms:
        put(name, "t", 1)
    # Who is called so mostly by one sex, or mostly by family name, counts as that alone; weak classes go.
    for name, w in weight.items():
        f, m = census["f"].get(name, 0), census["m"].get(name, 0)
        if f and m:
            if f > 6 * m:
                w.pop("m", None)
            if m > 6 * f:
                w.pop("f", None)
        given, family = max(f, m), census["s"].get(name, 0)
        if family > max(5 * given, 0.01):
            w.pop("f", None)
            w.pop("m", None)
        if given > 5 * family:
            w.pop("s", None)
        if min(w.get("f", 0), w.get("m", 0)) < 0.7 * max(w.get("f", 0), w.get("m", 0)):
            w.pop("f" if w.get("f", 0) < w.get("m", 0) else "m", None)
        if w.get("p", 0) >= 0.7:  # Paris and Milan are cities before they are names
            for what in [k for k in "fms" if w.get(k, 0) < 0.8]:
                w.pop(what, None)
        top = max(w.values(), default=0)
        for what in [k for k, v in w.items() if v < 0.5 * top]:
            del w[what]
    return weight


def build(args):
    net = sources.WordNet(args.wordnet)
    glove_words = [line.split(" ", 1)[0] for line in open(vectors.glove_file(), encoding="utf-8")]
    rank = {w: i for i, w in enumerate(glove_words)}
    counts = args.cache / "counts.pickle"
    if not counts.exists():
        counts.write_bytes(pickle.dumps(sources.text_counts(args.text)))
    lower, inside, first = pickle.loads(counts.read_bytes())
    stop = set(STOPWORDS.read_text().split()) | set(lists.FUNCTION)
    rated = sources.vader()
    bad = offensive(net)
    census, faker = sources.census(), sources.faker_names()
    people, place_kind, parts = sources.places()
    upper = sources.scowl(args.scowl, [f"{k}-{u}" for k in ("english", "american", "british") for u in ("upper", "proper-names")], [10, 20, 35, 40, 50])
    # O'Brien and McDonald are written so.
    written = {w.replace("'", "").replace("-", "").lower(): w for w in upper if w[:1].isupper() and (w[1:] != w[1:].lower())}

    def fix(names):
        return {written.get(n.lower(), n): v for n, v in names.items()}

    census = {k: fix(v) for k, v in census.items()}

    entries: dict[str, set[str]] = collections.defaultdict(set)
    plain_words = ordinary(args, net, lower, inside, rank, stop, rated) - bad
    for word in plain_words:
        entries[word] |= set("lo")
    for word in set(lists.DAYS):
        entries[word] |= {"d"} if word in lists.DAYS_UNLISTED else {"d", "l"}
    for word in lists.LANGUAGES:
        entries[word] |= set("lkt") if word in lists.BIG_LANGUAGES else set("lt")
    for word in lists.SOFTWARE + lists.ABBREVIATIONS:
        entries[word] |= set("lk") if word not in lists.COMPANIES else {"l"}  # an employer is no instruction
    for word in lists.TITLES:
        entries[word] |= {"l"}
    for word in lists.NUMERALS:
        entries[word] |= {"l"}
    for word in lists.GREETINGS:
        entries[word] |= set("lo")
    demonyms = {w for w in net.under(["inhabitant.1", "ethnic_group.1", "person_of_color.1"]) if sources.plain(w) and w[0].isupper()
                and w not in people and w in upper and inside[w] > lower[w.lower()]}
    demonyms |= set(lists.LANGUAGES) | set(lists.DEMONYMS)
    weight = name_weights(census, faker, people, place_kind, set(lists.COMPANIES), demonyms)
    for word in lists.DAYS + lists.SOFTWARE + lists.ABBREVIATIONS + lists.TITLES + lists.RELIGION + lists.ILLNESS:  # March and Python are no family names here
        weight.pop(word, None)
    for word in demonyms:
        weight[word] = {"t": 1}
    for word in lists.COMPANIES:
        weight[word] = {k: v for k, v in weight.get(word, {}).items() if v >= 0.8} | {"g": 0.9}

    # How well known a capitalised word is: by the text, or by GloVe's rank if it is not an ordinary word as well.
    def known(word):
        low = word.lower()
        cap = inside[word] + (0.3 * first[word] if low not in plain_words else 0)
        by_rank = 30_000 / (1 + rank[low]) * 20 if low in rank and lower[low] < 0.2 * (inside[word] + 1) else 0
        return max(cap, by_rank)

    quota = {"f": args.given, "m": args.given * 4 // 5, "s": args.surnames, "p": args.places}
    value = {
        "f": lambda w: census["f"].get(w, 0) * 1000 + faker["f"][w] * 2 + min(known(w), 200) / 20,
        "m": lambda w: census["m"].get(w, 0) * 1000 + faker["m"][w] * 2 + min(known(w), 200) / 20,
        "s": lambda w: census["s"].get(w, 0) * 1000 + faker["s"][w] + min(known(w), 200) / 20,
        "p": lambda w: known(w) + (300 if place_kind.get(w) == "country" else 100 if place_kind.get(w) == "state" else 0)
        + min(people.get(w, 0) / 1e5, 60),
    }
    for what, size in quota.items():
        names = [w for w, ws in weight.items() if ws.get(what, 0) >= 0.99 * max(ws.values()) and w.lower() not in bad and (len(w) > 2 or w in ("US", "UK", "EU"))
                 and (what != "p" or place_kind[w] == "country" or known(w) >= 20 and ws["p"] >= 0.4 and inside[w] > 3 * lower[w.lower()])
                 and (what == "p" or known(w) >= 8) and (w.lower() not in plain_words or inside[w] > 0.1 * lower[w.lower()])]
        for word in sorted(names, key=lambda w: (-value[what](w), w))[:size]:
            entries[word].add("l")
    for word in lists.COMPANIES:
        entries[word] |= {"g"} if word in lists.COMPANIES_UNLISTED else {"g", "l"}
    for word in demonyms:
        entries[word] |= {"t", "l"} if known(word) >= 15 or word in lists.DEMONYMS else {"t"}
    for word, w in weight.items():
        if word in entries or known(word) >= 1 or max(w.values()) >= 0.35:
            entries[word] |= set(w)
    for word in parts:
        if word.lower() not in plain_words and not (entries[word] - {"l"}):
            entries[word].add("p")

    # Sensitive classes.
    drugs = set(lists.ILLNESS_DRUGS)
    for word, place in net.under(DRUGS).items():
        if place == 0:
            drugs.add(word)
    for letter, words in BY_HAND.items():
        for word in words:
            if word in lists.HARMLESS or word.lower() in bad:
                continue
            entries[word].add(letter)
            if word.lower() in rank or inside[word] > 3 or lower[word] > 3:
                entries[word].add("l")
    # Few are in GloVe's file; with all of the list, a drug has a hundred others to become.
    for word in lists.ILLNESS_DRUGS - lists.HARMLESS:
        entries[word] |= set("lI")
    candidates = collections.defaultdict(list)
    drinks = net.under(["alcohol.1", "tobacco.1"])  # for WordNet these are drugs
    for letter, roots in ROOTS.items():
        for word, place in net.under(roots).items():
            if word in drinks or word.isupper():
                continue
            if not sources.plain(word) or place or word in lists.HARMLESS:
                continue
            for form_ in (word, word + "s"):
                if form_ in plain_words:
                    if letter not in entries[form_]:
                        candidates[letter].append(form_)
                    continue
                seen = form_.lower() in rank
                if form_ != word and not seen or word[0].isupper() and entries.get(word):
                    continue
                if word[0].islower() and lower[form_] < inside[form_.title()]:
                    continue
                entries[form_].add(letter)
                if seen and rank[form_.lower()] < args.rare and form_.lower() not in bad:
                    entries[form_].add("l")
    if args.candidates:
        for letter, words in candidates.items():
            print(letter, *sorted(words), file=sys.stderr)
    # Professions and other persons that GloVe knows are listed, so that a person becomes a person.
    for word, place in net.under(["professional.1", "worker.1", "expert.1"]).items():
        for form_ in (word, word + "s"):
            if word.islower() and sources.plain(word) and not place and rank.get(form_, 10**9) < 20_000 and form_ not in bad:
                if lower[form_] > inside[form_.title()]:
                    entries[form_].add("l")

    # The rest: strings that are not drawn but have a good vector.
    rest = sources.scowl(args.scowl, [f"{k}-words" for k in ("english", "american", "british", "british_z")], [10, 20, 35, 40, 50])
    extra = [w for w in rest if w not in entries and (w in rank or lower[w] >= 12)]
    extra += [w for w in upper if w not in entries and w[0].isupper() and len(w) > 1 and known(w) >= 4]
    extra += [w for w, c in inside.items() if c >= 40 and w not in entries and len(w) > 2 and (w[1:].islower() or w.isupper())
              and lower[w.lower()] < c and sources.plain(w) and w.title() not in entries and w.lower() not in plain_words]
    for word in dict.fromkeys(extra):
        entries[word] |= set()
    # `n`: first in a sentence it is more often a name, or a common one.
    names_first = sum(first[w] for w in weight if w.lower() not in plain_words)
    names_inside = sum(inside[w] for w in weight if w.lower() not in plain_words)
    r0 = names_first / names_inside
    n_words = []
    for word in plain_words:
        title = word[0].upper() + word[1:]
        if word in stop or word in lists.NEVER_NAME or not word.islower():
            continue
        expected = r0 * inside[title] / (first[title] + 1)
        common = max(census["s"].get(title, 0), census["f"].get(title, 0), census["m"].get(title, 0), 0.05 if people.get(title, 0) > 200_000 else 0)
        share = inside[title] / (inside[title] + lower[word] + 1)
        if share > 0.5 and inside[title] >= 5 or common >= 0.004 and (expected > 0.3 or share > 0.08) or common >= 0.02 or title in lists.GIVEN_WORDS or word in lists.ADDRESS:
            entries[word].add("n")
            n_words.append(word)

    final: dict[str, str] = {}
    for word, flags in entries.items():
        if not sources.plain(word) or len(word) < 2 and word not in ("a", "I") or len(word) > 24:
            continue
        if word.lower() in bad and not (flags & set("fmsp") and word[0].isupper() and "l" not in flags):
            flags = flags - {"l", "o"}
        if word in lists.NOT_WORDS:
            flags = flags - {"l", "o"}
        if "o" in flags:
            flags = flags | {"l"} | ({"c"} if word in lists.CAPITAL_ANYWHERE else set())
        final[word] = flags
    if len(final) > LIMIT:
        def keep(word):
            flags = final[word]
            low = word.lower()
            often = max(inside[word], lower[word], 3000 / (1 + rank[low]) * 20 if low in rank else 0)
            return often + 50 * bool(flags & set("IBRPXCMdkt")) + 60 * max(max(weight.get(word, {"": 0}).values(), default=0) - 0.3, 0) + faker["f"][word] + faker["m"][word] + faker["s"][word]
        spare = sorted((w for w in final if "l" not in final[w]), key=lambda w: (-keep(w), w))
        listed = [w for w in final if "l" in final[w]]
        final = {w: final[w] for w in listed + spare[: LIMIT - len(listed)]}
    order = sorted(final, key=lambda w: w.encode())
    low_entries = {w for w in final if w.islower()}

    def common(word):
        """How common a word is, from -1 to 1: by the text in its own case, and by GloVe's rank where the case is clear."""
        by_text = np.log10(1 + (lower[word] if word.islower() else inside[word] + 0.5 * first[word]))
        if word.lower() in rank and (word.islower() or word.lower() not in low_entries):
            by_text = (by_text + np.log10(2e6 / (rank[word.lower()] + 20))) / 2
        return float(np.clip((by_text - 1.7) / 2, -1, 1))

    info = {
        "weight": {w: weight[w] for w in order if w in weight},
        "place": {w: place_kind[w] for w in order if w in place_kind},
        "drugs": drugs,
        "titles": set(lists.TITLES + lists.GREETINGS),
        "numerals": set(lists.NUMERALS),
        "common": {w: common(w) for w in order},
    }
    flags = {w: final[w] | set(form(w, net, stop, rated)) for w in order}
    for word in rest_of_the_list(flags, rank, stop):
        flags[word].add("r")
    return order, flags, info


def rest_of_the_list(flags: dict[str, set[str]], rank: dict[str, int], stop: set[str]) -> set[str]:
    """The ordinary words that protected words are not ranked among: stopwords, contractions, and all but the commonest."""
    ordinary_ = {w for w in flags if "o" in flags[w] and not flags[w] & set("IBRPXCM")}
    content = [w for w in ordinary_ if w not in stop and "'" not in w]
    return ordinary_ - set(sorted(content, key=lambda w: (rank.get(w, 10**9), w))[:COMMONEST])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--text", type=pathlib.Path, required=True, help="public English text (plain, or JSON lines with a field text; .zst allowed)")
    parser.add_argument("--scowl", type=pathlib.Path, default=pathlib.Path("/usr/share/dict/scowl"))
    parser.add_argument("--wordnet", type=pathlib.Path, default=pathlib.Path("/usr/share/wordnet"))
    parser.add_argument("--out", type=pathlib.Path, default=HERE.parent / "crates/cape/lexicon")
    parser.add_argument("--cache", type=pathlib.Path, default=pathlib.Path(".cache"))
    parser.add_argument("--given", type=int, default=500, help="listed female given names; four fifths of it male")
    parser.add_argument("--surnames", type=int, default=700)
    parser.add_argument("--places", type=int, default=800)
    parser.add_argument("--rare", type=int, default=30_000, help="GloVe rank up to which a sensitive word is listed")
    parser.add_argument("--candidates", action="store_true", help="print ordinary words that WordNet would call sensitive")
    parser.add_argument("--words-only", action="store_true")
    args = parser.parse_args()
    args.cache.mkdir(exist_ok=True)
    args.out.mkdir(exist_ok=True)
    order, flags, info = build(args)
    canonical = "lorcknIBRPXCMfmspgdt123456789"
    with open(args.out / "words.tsv", "w", encoding="utf-8", newline="\n") as file:
        for word in order:
            file.write(word + "\t" + "".join(c for c in canonical if c in flags[word]) + "\n")
    tally = collections.Counter(c for w in order for c in flags[w])
    listed = collections.Counter(c for w in order if "l" in flags[w] for c in flags[w])
    ordinary_ = collections.Counter(c for w in order if "o" in flags[w] for c in flags[w])
    print("lines", len(order))
    for c in canonical:
        print(c, "all", tally[c], "listed", listed[c], "ordinary", ordinary_[c])
    (args.cache / "info.pickle").write_bytes(pickle.dumps((order, flags, info)))
    if not args.words_only:
        vectors.make(order, flags, info, args.text, args.out, args.cache)


if __name__ == "__main__":
    main()
