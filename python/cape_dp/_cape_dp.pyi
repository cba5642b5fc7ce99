"""The package's own module, in Rust. Import its names from `cape_dp`."""

from collections.abc import Coroutine, Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Protocol, TypedDict, final, overload

Profile = Literal["personal", "names", "everything"]
Format = Literal["prose", "code", "json"]
Wanted = Literal["persons", "identifiers", "other-names", "values"]

class ArrowStream(Protocol):
    """A column of pyarrow, pandas, polars or any other library that speaks Arrow."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class ArrowArray(Protocol):
    """The same in one piece."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

class CapeSettings(TypedDict):
    """All settings of `Cape`, by the names of its constructor."""

    epsilon: float
    profile: Profile
    k: int
    alpha: float | None
    epsilon_ordinary: float | None
    protect: list[str]
    ordinary: list[str]
    keep: list[str]
    format: Format
    any_script: bool

@final
class Cape:
    """Perturbs texts: their private words become random ones that fit.

    Two with the same settings are equal, have the same hash in every process, and are pickled by their settings.

    epsilon: ε₁ between any two protected words. Smaller is more private and less useful.
    profile: which words are protected.
    k: a protected word mostly becomes one of its k nearest words.
    alpha: how fast the probability falls after them; None, it drops at once.
    epsilon_ordinary: ε₂ of ordinary words; None, one in a million of them is replaced.
    protect, ordinary: single words that are protected, or ordinary, whatever the profile says.
    keep: words and phrases that are sent as they are, outside any ε.
    format: how texts are cut into words.
    any_script: perturb texts in other scripts than Latin, too, and do not refuse them.
    """

    def __new__(
        cls,
        epsilon: float = 8.0,
        profile: Profile = "personal",
        *,
        k: int = 100,
        alpha: float | None = None,
        epsilon_ordinary: float | None = None,
        protect: Sequence[str] = ...,
        ordinary: Sequence[str] = ...,
        keep: Sequence[str] = ...,
        format: Format = "prose",
        any_script: bool = False,
    ) -> Cape: ...
    @property
    def settings(self) -> CapeSettings: ...
    @property
    def guarantee(self) -> Guarantee: ...
    @property
    def fingerprint(self) -> str: ...
    @overload
    def perturb(self, texts: str, *, secret: Secret | None = None, account: Account | None = None) -> Release: ...  # type: ignore[overload-overlap]
    @overload
    def perturb(
        self, texts: ArrowStream | ArrowArray, *, secret: Secret | None = None, account: Account | None = None
    ) -> Column: ...
    @overload
    def perturb(
        self, texts: Iterable[str], *, secret: Secret | None = None, account: Account | None = None
    ) -> list[Release]:
        """Releases one text, several, or a column of them.

        All texts of a call share one map, in which a word becomes the same: a new one, that of a secret, or that of an
        account, which pays for new words first.
        """

    @overload
    def perturb_async(  # type: ignore[overload-overlap]
        self, texts: str, *, secret: Secret | None = None, account: Account | None = None
    ) -> Coroutine[Any, Any, Release]: ...
    @overload
    def perturb_async(
        self, texts: ArrowStream | ArrowArray, *, secret: Secret | None = None, account: Account | None = None
    ) -> Coroutine[Any, Any, Column]: ...
    @overload
    def perturb_async(
        self, texts: Iterable[str], *, secret: Secret | None = None, account: Account | None = None
    ) -> Coroutine[Any, Any, list[Release]]:
        """`perturb` in a thread, to be awaited."""

    def restore(
        self, answer: str, said: Sequence[Release | str], *, wanted: Sequence[Wanted] | None = None
    ) -> str:
        """An answer with your own words in the place of those that were sent, after a conversation: releases, and as
        texts the service's answers to them."""

    def count_draws(self, texts: str | ArrowStream | ArrowArray | Iterable[str]) -> int:
        """How many different draws some texts need together, whatever becomes of them: what a job reserves."""

    def plan(self, text: str) -> Plan:
        """A text's words before any draw: nothing is spent."""

    def explain(self, text: str, word: int, *, most: int | None = ...) -> Explanation:
        """The exact distribution of one word of a text, by its number in the plan; at most so many candidates."""

    def __hash__(self) -> int: ...

@final
class PlannedWord:
    """One word of a text before any draw."""

    def __new__(
        cls, start: int, end: int, original: str, level: str, kind: str, why: str, draw: int | None
    ) -> PlannedWord: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def original(self) -> str: ...
    @property
    def level(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def why(self) -> str: ...
    @property
    def draw(self) -> int | None: ...

@final
class Plan:
    """A text before any draw: nothing of it is spent."""

    def __new__(cls, words: Sequence[PlannedWord], draws: int, epsilon_prompt: float) -> Plan: ...
    @property
    def words(self) -> list[PlannedWord]: ...
    @property
    def draws(self) -> int: ...
    @property
    def epsilon_prompt(self) -> float: ...

@final
class Candidate:
    """Something that a word can become."""

    def __new__(
        cls, rank: int, released: str, similarity: float | None, weight: int, probability: float
    ) -> Candidate: ...
    @property
    def rank(self) -> int: ...
    @property
    def released(self) -> str: ...
    @property
    def similarity(self) -> float | None: ...
    @property
    def weight(self) -> int: ...
    @property
    def probability(self) -> float: ...

@final
class Explanation:
    """The exact distribution of one draw."""

    def __new__(
        cls,
        original: str,
        level: str,
        kind: str,
        why: str,
        epsilon: float,
        ranks: int,
        ranked: int,
        total_weight: int,
        listed: bool,
        candidates: Sequence[Candidate],
    ) -> Explanation: ...
    @property
    def original(self) -> str: ...
    @property
    def level(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def why(self) -> str: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def ranks(self) -> int: ...
    @property
    def ranked(self) -> int: ...
    @property
    def total_weight(self) -> int: ...
    @property
    def listed(self) -> bool: ...
    @property
    def candidates(self) -> list[Candidate]: ...

@final
class Secret:
    """What words are drawn from: with the same secret, a word becomes the same in all texts.

    Whoever has it can undo the draws. It is never shown or pickled. The time that a text takes tells which of its words
    came before: it is for the texts of one person or one job, and not for a service with many users.
    """

    def __new__(cls) -> Secret: ...
    @staticmethod
    def from_bytes(secret: bytes) -> Secret: ...
    @staticmethod
    def seeded(seed: int) -> Secret: ...
    def reveal(self) -> bytes: ...

@final
class Release:
    """A released text. `text`, which is also `str(release)`, may be sent; all else is for you alone."""

    def __new__(
        cls, by: Cape | Mechanism, original: str, text: str, words: Sequence[Word], privacy: Privacy
    ) -> Release: ...
    @property
    def text(self) -> str: ...
    @property
    def original(self) -> str: ...
    @property
    def words(self) -> list[Word]: ...
    @property
    def privacy(self) -> Privacy: ...
    def restore(self, answer: str, *, wanted: Sequence[Wanted] | None = None) -> str:
        """An answer to the release with your own words in the place of those that were sent."""

    def _repr_html_(self) -> str: ...

@final
class Word:
    """One word of a text, and what stands in its place."""

    def __new__(
        cls, start: int, end: int, original: str, released: str, level: str, kind: str, why: str
    ) -> Word: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def original(self) -> str: ...
    @property
    def released(self) -> str: ...
    @property
    def level(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def why(self) -> str: ...

@final
class Guarantee:
    """What is promised of any release with some settings."""

    def __new__(
        cls,
        epsilon_nominal: float,
        epsilon_protected: float,
        epsilon_any: float,
        most_kept: float,
        most_kept_value: float | None,
        most_guessed: float,
        notion: str,
        evidence: str,
    ) -> Guarantee: ...
    @property
    def epsilon_nominal(self) -> float: ...
    @property
    def epsilon_protected(self) -> float: ...
    @property
    def epsilon_any(self) -> float: ...
    @property
    def most_kept(self) -> float: ...
    @property
    def most_kept_value(self) -> float | None: ...
    @property
    def most_guessed(self) -> float: ...
    @property
    def notion(self) -> str: ...
    @property
    def evidence(self) -> str: ...

@final
class Privacy:
    """What is promised of one release."""

    def __new__(
        cls,
        mechanism: str,
        guarantee: Guarantee,
        epsilon_prompt: float,
        words: int,
        draws: int,
        protected_words: int,
        uncovered_words: int,
    ) -> Privacy: ...
    @property
    def mechanism(self) -> str: ...
    @property
    def guarantee(self) -> Guarantee: ...
    @property
    def epsilon_prompt(self) -> float: ...
    @property
    def words(self) -> int: ...
    @property
    def draws(self) -> int: ...
    @property
    def protected_words(self) -> int: ...
    @property
    def uncovered_words(self) -> int: ...

@final
class Column:
    """A column of released texts, which libraries that speak Arrow take as it is."""

    @property
    def draws(self) -> int: ...
    def to_pylist(self) -> list[str | None]: ...
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

MechanismName = Literal["cape-paper", "santext", "santext+", "custext", "custext+", "inferdpt"]

class MechanismSettings(TypedDict):
    """All settings of `Mechanism`, by the names of its constructor."""

    name: MechanismName
    epsilon: float
    model: str
    keep: list[str]
    context: Literal["raw", "released"] | None
    lambda_l: float | None
    lambda_d: float | None
    bucket_count: int | None
    vectors: Path | None
    corpus: Path | None
    unknown: Literal["replace", "keep", "drop"] | None
    words: str | None
    list_size: int | None
    sensitive_share: float | None
    frequent_drawn: float | None

@final
class Mechanism:
    """A mechanism on tokens, to compare Cape with: it promises less, and each release says what.

    model: the device model: "default" is embedded; or a folder, or a model in the hub's cache.
    keep: words and phrases that are kept.
    context, lambda_l, lambda_d, bucket_count: for cape-paper.
    vectors, corpus, unknown, words, list_size, sensitive_share, frequent_drawn: for the others.
    """

    def __new__(
        cls,
        name: MechanismName,
        epsilon: float = 6.0,
        *,
        model: str = ...,
        keep: Sequence[str] = ...,
        context: Literal["raw", "released"] | None = None,
        lambda_l: float | None = None,
        lambda_d: float | None = None,
        bucket_count: int | None = None,
        vectors: str | PathLike[str] | None = None,
        corpus: str | PathLike[str] | None = None,
        unknown: Literal["replace", "keep", "drop"] | None = None,
        words: str | None = None,
        list_size: int | None = None,
        sensitive_share: float | None = None,
        frequent_drawn: float | None = None,
    ) -> Mechanism: ...
    @property
    def settings(self) -> MechanismSettings: ...
    @property
    def guarantee(self) -> Guarantee: ...
    @property
    def fingerprint(self) -> str: ...
    @overload
    def perturb(self, texts: str, *, seed: int | None = None) -> Release: ...  # type: ignore[overload-overlap]
    @overload
    def perturb(self, texts: ArrowStream | ArrowArray, *, seed: int | None = None) -> Column: ...
    @overload
    def perturb(self, texts: Iterable[str], *, seed: int | None = None) -> list[Release]:
        """Releases one text, several, or a column of them: each token is drawn for anew. A seed is for experiments."""

    @overload
    def perturb_async(self, texts: str, *, seed: int | None = None) -> Coroutine[Any, Any, Release]: ...  # type: ignore[overload-overlap]
    @overload
    def perturb_async(
        self, texts: ArrowStream | ArrowArray, *, seed: int | None = None
    ) -> Coroutine[Any, Any, Column]: ...
    @overload
    def perturb_async(self, texts: Iterable[str], *, seed: int | None = None) -> Coroutine[Any, Any, list[Release]]:
        """`perturb` in a thread, to be awaited."""

    def __hash__(self) -> int: ...

@final
class Spending:
    """The spending of one API key on one day."""

    def __new__(cls, key: str, day: str, releases: int, draws: int, maps: int, epsilon: float) -> Spending: ...
    @property
    def key(self) -> str: ...
    @property
    def day(self) -> str: ...
    @property
    def releases(self) -> int: ...
    @property
    def draws(self) -> int: ...
    @property
    def maps(self) -> int: ...
    @property
    def epsilon(self) -> float: ...

@final
class Ledger:
    """What pays for draws: the ledger of a proxy, or one of its own.

    place: a SQLite file or postgres://…; key: its key file. They are made where there are none. Without names they are
    those of `cape serve`: CAPE_LEDGER and CAPE_LEDGER_KEY, or in the user's data folder.
    limit_key_day, limit_key, limit_day, limit_total: the most ε for one API key or all of them, in a day (UTC) or ever.
    """

    def __new__(
        cls,
        place: str | None = None,
        key: str | PathLike[str] | None = None,
        *,
        limit_key_day: float | None = None,
        limit_key: float | None = None,
        limit_day: float | None = None,
        limit_total: float | None = None,
    ) -> Ledger: ...
    def account(self, key: str, user: str = "") -> Account:
        """The account of an API key and a user id: the one that the proxy charges for requests with them. For a job or
        a notebook any name will do."""

    def spending(self) -> list[Spending]:
        """The spending of each API key on each day."""

    def settle(self, job: str, draws: int) -> float:
        """Settles a job once it has ended: nobody may draw from its secret any more. It made so many different draws;
        the ε of the others is given back, and returned."""

    def close(self) -> None:
        """Closes the database."""

@final
class Account:
    """An account of a ledger: what `perturb` draws with it is paid for first, and a word that was paid for before
    becomes what it became then, in the proxy, too."""

    def known(self) -> Account:
        """The same account for texts that the service may know, such as results of tools: it must not read the user's
        map off them, so they have another."""

    def reserve(self, job: str, draws: int, cape: Cape) -> Reservation:
        """Reserves the draws of a job before it starts, at most so many different ones: all of them count as spent,
        until it is settled. The job draws with the reservation's secret. Reserving the same again costs nothing and
        gives the same secret, so that a job can go on after a crash."""

    def left(self) -> dict[str, float | None]:
        """What is left of each limit, by its name; None where there is no limit."""

@final
class Reservation:
    """The draws of a job that are reserved, and what they are drawn from."""

    @property
    def secret(self) -> Secret: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def name(self) -> str: ...

@final
class _Server:
    """The server behind `cape_dp.Proxy`."""

    def __new__(
        cls,
        socket: str | PathLike[str],
        upstream: str,
        cape: Cape,
        ledger: Ledger,
        *,
        policy: str,
        restore: Sequence[str] | None,
        notice: bool,
        memory: str,
        plain_http: bool,
        timeout: int,
        max_body: int,
    ) -> _Server: ...
    def close(self) -> None: ...

@final
class Guess:
    """A guess of a protected word."""

    def __new__(cls, word: int, guess: str | None, right: bool, exact: bool) -> Guess: ...
    @property
    def word(self) -> int: ...
    @property
    def guess(self) -> str | None: ...
    @property
    def right(self) -> bool: ...
    @property
    def exact(self) -> bool: ...

@final
class Bayes:
    """The Bayes attack: an adversary who knows Cape to the last bit, and expects at each place what a masked language
    model expects there."""

    def __new__(cls, model: str = "default") -> Bayes: ...
    def guesses(self, release: Release) -> list[Guess]:
        """Guesses each protected word of a release. Numbers and addresses are left out."""

@final
class Nearness:
    """How near the true word is to the one that was released."""

    def __new__(cls, word: int, rank: int) -> Nearness: ...
    @property
    def word(self) -> int: ...
    @property
    def rank(self) -> int: ...

def nearest(release: Release) -> list[Nearness]:
    """The attack by nearest neighbours on each protected word of a release, for every k at once."""

def rouge_l(original: str, released: str) -> float:
    """ROUGE-L F1 between two texts, from 0 to 1: the longest common subsequence of their words."""

@final
class SentenceEncoder:
    """Compares texts by their meaning, with a sentence encoder in the Hugging Face layout."""

    def __new__(cls, model: str) -> SentenceEncoder: ...
    @property
    def dim(self) -> int: ...
    def encode(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text."""

    def similarity(self, original: str, released: str) -> float:
        """The cosine of the vectors of two texts, at most 1."""

@final
class WorstPair:
    """The two words that one release tells apart best."""

    def __new__(cls, stated: float, loss: float, released: str, most: str, least: str) -> WorstPair: ...
    @property
    def stated(self) -> float: ...
    @property
    def loss(self) -> float: ...
    @property
    def released(self) -> str: ...
    @property
    def most(self) -> str: ...
    @property
    def least(self) -> str: ...

@final
class ExactAudit:
    """The exact loss of one draw."""

    def __new__(
        cls,
        inputs: int,
        ordinary: int,
        outputs: int,
        any: WorstPair | None,
        protected: WorstPair | None,
        holds: bool,
    ) -> ExactAudit: ...
    @property
    def inputs(self) -> int: ...
    @property
    def ordinary(self) -> int: ...
    @property
    def outputs(self) -> int: ...
    @property
    def any(self) -> WorstPair | None: ...
    @property
    def protected(self) -> WorstPair | None: ...
    @property
    def holds(self) -> bool: ...

def exact(cape: Cape, text: str, word: int, *, sample: int | None = None) -> ExactAudit:
    """The exact loss of the draw of one word: every listed word and 2,000 others, or a sample of them, in its place."""

@final
class DrawLoss:
    """What one draw of two texts gives away."""

    def __new__(cls, words: Sequence[int], changed: bool, loss: float, stated: float) -> DrawLoss: ...
    @property
    def words(self) -> list[int]: ...
    @property
    def changed(self) -> bool: ...
    @property
    def loss(self) -> float: ...
    @property
    def stated(self) -> float: ...

def context(cape: Cape, text: str, other: str) -> list[DrawLoss]:
    """What each draw of two texts of equal structure gives away: exactly."""

@final
class SampleAudit:
    """What was seen in many releases of two texts."""

    def __new__(
        cls,
        draws: int,
        claimed: float,
        epsilon: float,
        visible: float | None,
        dependent: bool,
        departed: bool,
        refuted: bool,
    ) -> SampleAudit: ...
    @property
    def draws(self) -> int: ...
    @property
    def claimed(self) -> float: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def visible(self) -> float | None: ...
    @property
    def dependent(self) -> bool: ...
    @property
    def departed(self) -> bool: ...
    @property
    def refuted(self) -> bool: ...

def sample(cape: Cape, text: str, other: str, *, draws: int = 10_000, confidence: float = 0.999) -> SampleAudit:
    """Tests the statement on many releases of two texts, seen from outside. Finding nothing is no proof."""
