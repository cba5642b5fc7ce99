"""Spark: a column released by `mapInArrow`, with the same noise wherever a partition is computed.

    secret = cape_dp.Secret()
    released = cape_dp.spark.perturb(df, "prompt", secret=secret.reveal(), keep=["id"])

The secret travels with the job, as all that a Spark function refers to: whoever can read the cluster's traffic can undo the
releases (`spark.network.crypto.enabled` encrypts it). It must be fresh for each job, and never leave the cluster that may
see the prompts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ._batches import REASON, Batches, Errors
from ._cape_dp import Cape

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

__all__ = ["perturb"]


def perturb(
    df: DataFrame,
    column: str = "prompt",
    *,
    secret: bytes,
    keep: Sequence[str] = (),
    cape: Cape | None = None,
    errors: Errors = "raise",
) -> DataFrame:
    """The data frame with the released column, and with the columns to keep alone.

    column: the column of texts that is released.
    secret: the 32 bytes of the job's `Secret`.
    keep: columns that pass unchanged, outside any ε. All others are dropped.
    cape: the mechanism; `Cape()` without one.
    errors: "raise" ends the job with the first text that cannot be released; "reason" leaves that text out and says why
        in a column `cape_error`.
    """
    from pyspark.sql.types import StringType, StructField, StructType

    # here as well as on the workers, so that a mistake shows before the job starts
    Batches(secret, column, keep, cape, errors)
    fields = [df.schema[name] for name in keep] + [StructField(column, StringType())]
    if errors == "reason":
        fields.append(StructField(REASON, StringType()))

    def released(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        job = Batches(secret, column, keep, cape, errors)
        for batch in batches:
            columns = job.columns(batch)
            yield pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))

    # only what is released or kept goes to Python at all
    return df.select(*keep, column).mapInArrow(released, StructType(fields))
