"""One batch of a job on many machines, for the modules of Ray and Spark."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from ._cape_dp import Cape, Secret
from ._errors import SettingError, TextError

if TYPE_CHECKING:
    import pyarrow as pa

#: The column that says why a text was refused.
REASON = "cape_error"

Errors = Literal["raise", "reason"]


@functools.lru_cache(maxsize=1)
def _secret_of(job: bytes) -> Secret:
    """The secret of a job: one for all tasks in this process, which remember together what they drew."""
    return Secret.from_bytes(job)


class Batches:
    """Releases one column of batches, and drops all columns that are not named.

    The noise comes from the secret and the words alone, so a batch that is computed twice is released once, and a word
    becomes the same on every machine.
    """

    def __init__(self, secret: bytes, column: str, keep: Sequence[str], cape: Cape | None, errors: Errors) -> None:
        if column in keep:
            raise SettingError(f"{column!r} is released, so it cannot be kept as well")
        if errors not in ("raise", "reason"):
            raise SettingError("errors is 'raise' or 'reason'")
        self._secret = _secret_of(secret)
        self._column = column
        self._keep = list(keep)
        self._cape = Cape() if cape is None else cape
        self._errors = errors

    def columns(self, batch: pa.RecordBatch | pa.Table) -> dict[str, pa.Array | pa.ChunkedArray]:
        """The columns of the released batch, in order, by name."""
        import pyarrow as pa

        columns = {name: batch.column(name) for name in self._keep}
        texts = batch.column(self._column)
        reasons: list[str | None] = [None] * len(texts)
        try:
            released = pa.array(self._cape.perturb(texts, secret=self._secret))
        except TextError:
            if self._errors == "raise":
                raise
            released, reasons = self._one_by_one(texts)
        columns[self._column] = released
        if self._errors == "reason":
            columns[REASON] = pa.array(reasons, pa.string())
        return columns

    def _one_by_one(self, texts: pa.Array | pa.ChunkedArray) -> tuple[pa.Array, list[str | None]]:
        """The texts that can be released, and the reasons of the others."""
        import pyarrow as pa

        released: list[str | None] = []
        reasons: list[str | None] = []
        for text in texts.to_pylist():
            reason = None
            try:
                text = None if text is None else self._cape.perturb(text, secret=self._secret).text
            except TextError as error:
                text, reason = None, str(error)
            released.append(text)
            reasons.append(reason)
        return pa.array(released, pa.string()), reasons
