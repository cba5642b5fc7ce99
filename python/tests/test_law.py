"""Draws through the package follow the law that it states, exactly."""

import math
from collections import Counter

import pytest

from cape_dp import Cape

TEXT = "My son has asthma, aged 12."


def test_a_plan_spends_nothing_and_says_what_a_release_would():
    cape = Cape()
    plan = cape.plan(TEXT)
    assert [word.original for word in plan.words] == ["My", "son", "has", "asthma", "aged", "12"]
    assert [word.level for word in plan.words].count("protected") == 2
    assert plan == cape.plan(TEXT)
    release = cape.perturb(TEXT)
    assert plan.draws == release.privacy.draws
    assert math.isclose(plan.epsilon_prompt, release.privacy.epsilon_prompt)


def test_an_explanation_is_a_distribution_within_epsilon():
    cape = Cape(epsilon=3.0, k=50)
    for word in (1, 3, 5):
        explained = cape.explain(TEXT, word, most=None)
        weights = [candidate.weight for candidate in explained.candidates]
        assert len(weights) == explained.ranks and sum(weights) == explained.total_weight
        ranked, rest = weights[: explained.ranked], weights[explained.ranked :]
        assert math.log(max(ranked) / min(ranked)) <= explained.epsilon + 1e-12
        assert len(set(rest)) <= 1 and all(weight <= ranked[-1] for weight in rest)
        assert math.isclose(sum(candidate.probability for candidate in explained.candidates), 1.0)
        assert explained.candidates[0].released.lower() == explained.original.lower() or not explained.listed
    assert len(cape.explain(TEXT, 3).candidates) == 20
    with pytest.raises(IndexError):
        cape.explain(TEXT, 6)


def chi_square_limit(freedom):
    """What chi-square exceeds with a probability of about 1e-9 (Wilson and Hilferty)."""
    return freedom * (1 - 2 / (9 * freedom) + 5.998 * math.sqrt(2 / (9 * freedom))) ** 3


def distance(counts, expected, draws):
    return sum((counts[rank] - draws * p) ** 2 / (draws * p) for rank, p in expected.items())


def test_draws_follow_the_law_that_is_explained():
    cape, draws, k = Cape(epsilon=8.0, k=20), 3_000, 20
    explained = cape.explain("asthma", 0, most=None)
    rank = {candidate.released.lower(): candidate.rank for candidate in reversed(explained.candidates)}
    # the first k ranks one by one, and all others together
    expected = {r: explained.candidates[r - 1].probability for r in range(1, k + 1)}
    expected[0] = 1 - sum(expected.values())
    counts = Counter()
    for _ in range(draws):
        drawn = rank[cape.perturb("asthma").text.lower()]
        counts[drawn if drawn <= k else 0] += 1
    limit = chi_square_limit(k)
    assert distance(counts, expected, draws) < limit
    # the check has the power to find a law of another ε
    other = Cape(epsilon=7.0, k=20).explain("asthma", 0, most=k)
    wrong = {candidate.rank: candidate.probability for candidate in other.candidates}
    wrong[0] = 1 - sum(wrong.values())
    assert distance(counts, wrong, draws) > limit
