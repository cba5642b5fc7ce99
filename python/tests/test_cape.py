"""Releases, settings and errors."""

import asyncio
import math

import pytest

import cape_dp
from cape_dp import Cape, Release, Secret

TEXT = "My daughter Alice was diagnosed with asthma in London last Tuesday."


def test_a_release_keeps_its_structure_and_states_its_price():
    cape = Cape()
    release = cape.perturb(TEXT)
    assert isinstance(release, Release)
    assert release.original == TEXT
    assert str(release) == release.text
    assert release.text.endswith(".") and len(release.text.split()) == 11
    protected = [word.original for word in release.words if word.level == "protected"]
    assert protected == ["Alice", "asthma", "London", "Tuesday"]
    assert all(TEXT[word.start : word.end] == word.original for word in release.words)
    privacy = release.privacy
    assert privacy.guarantee.epsilon_protected == 8.0
    assert privacy.draws == 11 and privacy.protected_words == 4 and privacy.uncovered_words == 0
    assert math.isclose(privacy.epsilon_prompt, 11 * privacy.guarantee.epsilon_any)
    assert (privacy.guarantee.notion, privacy.guarantee.evidence) == ("LDP", "proof")
    assert cape.guarantee.epsilon_nominal == 8.0


def test_places_are_counted_in_characters():
    text = "Grüße an Ångström — 😀 and Alice."
    for word in Cape(any_script=True).perturb(text).words:
        assert text[word.start : word.end] == word.original


def test_several_texts_share_one_map_and_a_secret_lasts():
    cape = Cape()
    releases = cape.perturb([f"Alice has {n} cats." for n in range(2, 100)])
    assert len({release.words[0].released for release in releases}) == 1
    secret = Secret()
    once = cape.perturb("Alice met Zoltan.", secret=secret)
    again = cape.perturb(["Zoltan met Alice."], secret=Secret.from_bytes(secret.reveal()))[0]
    # a first place gives a capital
    released = {word.original: word.released.lower() for word in once.words}
    assert {word.original: word.released.lower() for word in again.words} == released
    # without it there are other draws: all 20 the same has a probability of e^-40 at most
    assert len({cape.perturb("Zoltan").text for _ in range(20)}) > 1
    assert cape.perturb([]) == []


def test_a_seed_promises_nothing():
    release = Cape().perturb(TEXT, secret=Secret.seeded(7))
    assert release == Cape().perturb(TEXT, secret=Secret.seeded(7))
    assert release.privacy.guarantee.notion == "none"
    with pytest.raises(cape_dp.SecretError):
        Secret.seeded(7).reveal()


def test_names_come_back():
    release = Cape().perturb("Write to Alice.", secret=Secret.seeded(1))
    sent = release.words[2].released
    assert sent != "Alice"
    assert release.restore(f"Dear {sent},") == "Dear Alice,"
    assert release.restore(f"Dear {sent},", wanted=[]) == f"Dear {sent},"
    with pytest.raises(cape_dp.SettingError):
        release.restore("", wanted=["people"])


def test_each_error_has_its_class():
    cape = Cape()
    for text, error in [
        ("Alice\0", cape_dp.ControlCharacterError),
        ("Η Άννα έχει άσθμα.", cape_dp.ScriptError),
    ]:
        with pytest.raises(error) as raised:
            cape.perturb(text)
        assert isinstance(raised.value, cape_dp.TextError) and isinstance(raised.value, ValueError)
        assert raised.value.row is None
        with pytest.raises(error) as raised:
            cape.perturb(["fine"] * 40 + [text])
        assert raised.value.row == 40 and "Alice" not in str(raised.value)
    for settings, error in [
        ({"epsilon": 0}, cape_dp.EpsilonError),
        ({"epsilon": float("nan")}, cape_dp.EpsilonError),
        ({"k": 10**6}, cape_dp.SettingError),
        ({"profile": "me"}, cape_dp.SettingError),
        ({"format": "yaml"}, cape_dp.SettingError),
        ({"protect": ["two words"]}, cape_dp.PhraseError),
    ]:
        with pytest.raises(error):
            Cape(**settings)
    for wrong in (7, None, b"bytes", [b"bytes"], ["text", None], {"a": 1}.values()):
        with pytest.raises(TypeError):
            cape.perturb(wrong)


def test_nothing_private_is_shown_unasked():
    cape = Cape(protect=["canary"], keep=["warbler"])
    release = cape.perturb("A canary and Zoltan.", secret=Secret.seeded(3))
    secret = Secret()
    shown = repr([cape, release, release.words, release.privacy, cape.guarantee, secret])
    assert "canary" not in shown and "Zoltan" not in shown and "warbler" not in shown
    assert secret.reveal().hex() not in shown and repr(secret.reveal()) not in shown


def test_a_notebook_shows_the_changes_and_runs_nothing():
    page = Cape().perturb("<script>alert('Zoltan')</script> & Alice", secret=Secret.seeded(1))._repr_html_()
    assert "<script" not in page and "&lt;" in page and "&amp;" in page
    assert "<del" in page and "<ins" in page and "Zoltan" in page


def test_it_can_be_awaited():
    async def both():
        return await asyncio.gather(Cape().perturb_async(TEXT), Cape().perturb_async([TEXT, TEXT]))

    one, two = asyncio.run(both())
    assert isinstance(one, Release) and len(two) == 2


def test_classes_are_frozen():
    with pytest.raises(AttributeError):
        Cape().epsilon = 1
    with pytest.raises(AttributeError):
        Cape().perturb(TEXT).text = "another"
