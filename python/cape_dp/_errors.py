"""One class for each kind of error. No message holds a word of a text."""

from __future__ import annotations


class CapeError(Exception):
    """The base of all errors of this package."""

    row: int | None = None
    """The number of the text among several, counted from 0."""


class SettingError(CapeError, ValueError):
    """A setting is outside its range, or has no meaning there."""


class EpsilonError(SettingError):
    """ε is not a positive finite number, or larger than the integer weights can hold."""


class PhraseError(SettingError):
    """A list of single words has a phrase on it."""


class TextError(CapeError, ValueError):
    """A text cannot be released. Nothing of it was."""


class ControlCharacterError(TextError):
    """A text has a control character."""


class ScriptError(TextError):
    """Most letters of a text are of a script that the word list does not have."""


class EntropyError(CapeError, OSError):
    """The operating system gave no randomness: nothing is released without it."""


class ModelError(CapeError):
    """A device model, word vectors or a sentence encoder cannot be used."""


class LedgerError(CapeError):
    """The ledger failed, and nothing was released."""


class BudgetError(LedgerError):
    """A limit does not allow it. Nothing was spent, drawn or sent."""


class KeyFileError(LedgerError):
    """The ledger's key file cannot be used, or is that of another ledger."""


class ProxyError(CapeError):
    """The proxy in this process cannot start."""


class SecretError(CapeError, TypeError):
    """A secret would have been copied to where it must not be, or is none."""
