"""How much of a text is left in its release."""

from ._cape_dp import SentenceEncoder, rouge_l

__all__ = ["SentenceEncoder", "rouge_l"]
