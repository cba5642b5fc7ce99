"""Pickles, hashes and processes."""

import copy
import multiprocessing
import pickle
import subprocess
import sys
import threading
import time

import pytest

import cape_dp
from cape_dp import Cape, Secret

SETTINGS = {"epsilon": 4.0, "profile": "names", "k": 50, "protect": ["canary"], "keep": ["Acme Inc."]}
TEXTS = [f"Zoltan met Alice at {hour} o'clock." for hour in range(1, 60)]


def perturb(cape, texts):
    return cape.perturb(texts)


def release_with(secret):
    return [release.text for release in Cape().perturb(TEXTS, secret=Secret.from_bytes(secret))]


def test_settings_are_pickled_and_nothing_else():
    cape = Cape(**SETTINGS)
    again = pickle.loads(pickle.dumps(cape))
    assert again == cape and hash(again) == hash(cape) and again.fingerprint == cape.fingerprint
    assert again.settings == cape.settings and cape.settings.items() >= SETTINGS.items()
    assert copy.deepcopy(cape) == cape == copy.copy(cape)
    assert pickle.dumps(cape) == pickle.dumps(Cape(**SETTINGS))
    assert cape != Cape() and hash(cape) != hash(Cape()) and cape != 1
    assert Cape(any_script=True).fingerprint != Cape().fingerprint


def test_a_hash_is_the_same_in_every_process():
    code = "from cape_dp import Cape; print(hash(Cape(4.0, keep=['Acme Inc.'])))"
    hashes = {subprocess.check_output([sys.executable, "-c", code]) for _ in range(2)}
    assert hashes == {f"{hash(Cape(4.0, keep=['Acme Inc.']))}\n".encode()}


def seeded(batch, cape):
    return {"released": [release.text for release in cape.perturb(batch["prompt"], secret=Secret.seeded(1))]}


def test_data_sets_find_what_they_mapped_before():
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset.from_dict({"prompt": TEXTS})
    mapped = lambda cape: data.map(seeded, batched=True, fn_kwargs={"cape": cape})._fingerprint
    assert mapped(Cape(4.0)) == mapped(Cape(4.0)) != mapped(Cape(5.0))


def test_a_release_is_pickled_whole():
    release = Cape(**SETTINGS).perturb("Zoltan met Alice.", secret=Secret.seeded(5))
    again = pickle.loads(pickle.dumps(release))
    assert again == release and again.words == release.words and again.privacy == release.privacy
    assert again.restore(release.text) == release.restore(release.text)


def test_a_secret_is_not_pickled():
    for holder in (Secret(), Secret.seeded(1), [Secret()], {"secret": Secret()}):
        with pytest.raises(cape_dp.SecretError):
            pickle.dumps(holder)
        with pytest.raises(cape_dp.SecretError):
            copy.deepcopy(holder)
    secret = Secret()
    assert secret.reveal() not in pickle.dumps(Cape().perturb(TEXTS, secret=secret))


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_processes_work_and_share_a_secret_that_is_sent(method):
    cape = Cape(**SETTINGS)
    # the parent's threads are there before it forks, and are not in the child
    cape.perturb(TEXTS)
    context = multiprocessing.get_context(method)
    with context.Pool(2) as pool:
        parts = pool.starmap_async(perturb, [(cape, TEXTS[:30]), (cape, TEXTS[30:])]).get(timeout=120)
        assert [release.original for part in parts for release in part] == TEXTS
        assert all(release.privacy.guarantee == part[0].privacy.guarantee for part in parts for release in part)
        secret = Secret().reveal()
        one, two = pool.map_async(release_with, [secret, secret]).get(timeout=120)
    assert one == two == release_with(secret)


def test_other_threads_run_meanwhile():
    cape, ticks, done = Cape(), [], threading.Event()

    def work():
        cape.perturb(TEXTS * 20)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        ticks.append(time.monotonic())
        time.sleep(0.001)
    thread.join()
    # with the lock held there would be one tick before and one after
    assert len(ticks) > 5
