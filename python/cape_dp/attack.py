"""What adversaries make of a release of `Cape`. Results name private words: they are for you alone."""

from ._cape_dp import Bayes, Guess, Nearness, nearest

__all__ = ["Bayes", "Guess", "Nearness", "nearest"]
