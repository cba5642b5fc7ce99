"""Ray Data: one model for each actor, and the same noise wherever a batch is computed.

    secret = cape_dp.Secret()
    ds.map_batches(
        cape_dp.ray.Perturb,
        fn_constructor_kwargs={"secret": secret.reveal(), "column": "prompt", "keep": ["id"]},
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(size=2),
    )

The secret travels with the job, as all arguments of Ray's actors do: whoever can read the cluster's traffic or its store
can undo the releases. It must be fresh for each job, and never leave the cluster that may see the prompts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ._batches import Batches, Errors
from ._cape_dp import Cape

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Perturb"]


class Perturb:
    """A class for `Dataset.map_batches` with `batch_format="pyarrow"`.

    secret: the 32 bytes of the job's `Secret`.
    column: the column of texts that is released.
    keep: columns that pass unchanged, outside any ε. All others are dropped.
    cape: the mechanism; `Cape()` without one.
    errors: "raise" ends the job with the first text that cannot be released; "reason" leaves that text out and says why
        in a column `cape_error`.
    """

    def __init__(
        self,
        secret: bytes,
        column: str = "prompt",
        *,
        keep: Sequence[str] = (),
        cape: Cape | None = None,
        errors: Errors = "raise",
    ) -> None:
        self._batches = Batches(secret, column, keep, cape, errors)

    def __call__(self, batch: pa.Table) -> pa.Table:
        """The released batch."""
        import pyarrow as pa

        return pa.table(self._batches.columns(batch))
