"""Does the stated guarantee hold? Results name private words: audit with a made-up text."""

from ._cape_dp import DrawLoss, ExactAudit, SampleAudit, WorstPair, context, exact, sample

__all__ = ["DrawLoss", "ExactAudit", "SampleAudit", "WorstPair", "context", "exact", "sample"]
