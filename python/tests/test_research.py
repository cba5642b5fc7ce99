"""The mechanisms that Cape is compared with, attacks, measures and audits."""

import math
import pickle

import pytest

import cape_dp
from cape_dp import Cape, Mechanism, Secret, attack, audit, metric

TEXT = "My daughter Alice was diagnosed with asthma in London last Tuesday."


@pytest.mark.parametrize("name", ["cape-paper", "santext", "custext", "inferdpt"])
def test_other_mechanisms_say_what_they_promise(name):
    mechanism = Mechanism(name, 6.0)
    release = mechanism.perturb("A good book about asthma.")
    assert release.privacy.mechanism == name and release.privacy.draws >= 3
    assert mechanism.perturb(["A good book."] * 3, seed=7)[0] == mechanism.perturb(["A good book."], seed=7)[0]
    assert mechanism.guarantee.evidence == {"inferdpt": "none", "cape-paper": "bound"}.get(name, "proof")
    again = pickle.loads(pickle.dumps(mechanism))
    assert again == mechanism and hash(again) == hash(mechanism) and repr(again) == f"Mechanism('{name}', epsilon=6)"
    assert pickle.loads(pickle.dumps(release)) == release
    with pytest.raises(cape_dp.SettingError):
        release.restore("an answer")


def test_settings_of_other_mechanisms_are_checked():
    for name, settings in [
        ("cape", {}),
        ("santext", {"bucket_count": 5}),
        ("cape-paper", {"list_size": 5}),
        ("santext", {"list_size": 5}),
        ("inferdpt", {"words": "whitespace"}),
        ("cape-paper", {"context": "none"}),
    ]:
        with pytest.raises(cape_dp.SettingError):
            Mechanism(name, **settings)
    with pytest.raises(cape_dp.ModelError):
        Mechanism("cape-paper", model="no-such-model")
    with pytest.raises(cape_dp.EpsilonError):
        Mechanism("santext", epsilon=-1)


def test_attacks_read_what_is_hardly_hidden_and_not_what_is():
    bayes = attack.Bayes()

    # a weekday is a value, and not guessed among words
    def right(cape):
        release = cape.perturb(TEXT, secret=Secret.seeded(1))
        guesses = bayes.guesses(release)
        assert [release.words[guess.word].original for guess in guesses] == ["Alice", "asthma", "London"]
        return sum(guess.right for guess in guesses), [near.rank for near in attack.nearest(release)]

    open_, ranks = right(Cape(epsilon=30.0, k=1))
    assert open_ == 3 and ranks == [0, 0, 0]
    hidden, ranks = right(Cape(epsilon=0.01, k=1000))
    assert hidden == 0 and max(ranks) > 100


def test_measures():
    assert metric.rouge_l("police killed the gunman", "police kill the gunman") == 0.75
    with pytest.raises(cape_dp.ModelError):
        metric.SentenceEncoder("no-such-model")


def test_the_exact_loss_is_what_is_stated():
    cape = Cape(epsilon=4.0)
    found = audit.exact(cape, TEXT, 6, sample=40)
    assert found.holds and found.outputs == 21_345
    assert found.protected is not None and math.isclose(found.protected.loss, 4.0, abs_tol=1e-6)
    assert found.any is not None and found.any.loss <= found.any.stated
    with pytest.raises(IndexError):
        audit.exact(cape, TEXT, 11)


def test_only_the_changed_word_gives_anything_away():
    draws = audit.context(Cape(), TEXT, TEXT.replace("asthma", "fever"))
    assert [draw.words for draw in draws if draw.changed] == [[6]]
    assert all(draw.loss == 0 for draw in draws if not draw.changed)
    assert all(draw.loss <= draw.stated for draw in draws)
    with pytest.raises(cape_dp.SettingError):
        audit.context(Cape(), TEXT, TEXT + " More.")


def test_releases_do_not_refute_the_statement():
    found = audit.sample(Cape(epsilon=1.0), "She has asthma", "She has lupus", draws=200)
    assert found.draws == 200 and not found.refuted and found.epsilon <= found.claimed
    assert not found.dependent and not found.departed
    with pytest.raises(cape_dp.SettingError):
        audit.sample(Cape(), "the same", "the same")
