"""Local differential privacy for LLM prompts, with an ε that is proven.

>>> from cape_dp import Cape
>>> release = Cape(epsilon=8).perturb("My daughter Alice has asthma.")
>>> release.privacy.draws
5
"""

from . import attack, audit, metric
from ._cape_dp import (
    Account,
    Candidate,
    Cape,
    Column,
    Explanation,
    Guarantee,
    Ledger,
    Mechanism,
    Plan,
    PlannedWord,
    Privacy,
    Release,
    Reservation,
    Secret,
    Spending,
    Word,
)
from ._errors import (
    BudgetError,
    CapeError,
    ControlCharacterError,
    EntropyError,
    EpsilonError,
    KeyFileError,
    LedgerError,
    ModelError,
    PhraseError,
    ProxyError,
    ScriptError,
    SecretError,
    SettingError,
    TextError,
)
from ._proxy import Proxy

__all__ = [
    "Account",
    "BudgetError",
    "Candidate",
    "Cape",
    "CapeError",
    "Column",
    "ControlCharacterError",
    "EntropyError",
    "EpsilonError",
    "Explanation",
    "Guarantee",
    "KeyFileError",
    "Ledger",
    "LedgerError",
    "Mechanism",
    "ModelError",
    "PhraseError",
    "Plan",
    "PlannedWord",
    "Privacy",
    "Proxy",
    "ProxyError",
    "Release",
    "Reservation",
    "ScriptError",
    "Secret",
    "SecretError",
    "SettingError",
    "Spending",
    "TextError",
    "Word",
    "attack",
    "audit",
    "metric",
]
