"""The ledger: paid for first, and once."""

import multiprocessing
import pickle

import pytest

import cape_dp
from cape_dp import Cape, Ledger, Secret


@pytest.fixture
def place(tmp_path):
    return str(tmp_path / "ledger.db"), str(tmp_path / "ledger.key")


def released(release):
    """What words became, without the capital that a first place gives."""
    return {word.original: word.released.lower() for word in release.words}


def test_words_are_paid_for_once_and_become_the_same(place):
    cape, ledger = Cape(), Ledger(*place)
    account = ledger.account("an API key", "a user")
    first = cape.perturb("Alice met Zoltan.", account=account)
    again = cape.perturb(["Zoltan met Alice.", "Alice again."], account=account)
    assert released(again[0]) == released(first) and released(again[1])["Alice"] == released(first)["Alice"]
    (spent,) = ledger.spending()
    assert spent.draws == 4 and spent.releases == 2 and spent.maps == 1
    assert spent.epsilon == pytest.approx(4 * cape.guarantee.epsilon_any)
    # another user has another map, and the same key pays
    cape.perturb("Alice met Zoltan.", account=ledger.account("an API key", "another"))
    assert ledger.spending()[0].draws == 7
    # and so have texts that the service may know
    cape.perturb("Alice", account=account.known())
    assert ledger.spending()[0].draws == 8 and ledger.spending()[0].maps == 3
    ledger.close()
    # the file holds no word, and opening it again goes on where it was
    later = Ledger(*place).account("an API key", "a user")
    assert released(cape.perturb("Alice", account=later))["Alice"] == released(first)["Alice"]
    assert b"Alice" not in open(place[0], "rb").read()


def test_a_limit_refuses_before_anything_is_drawn(place):
    cape, ledger = Cape(), Ledger(*place, limit_key=50.0)
    account = ledger.account("job")
    assert account.left() == {"limit_key_day": None, "limit_key": 50.0, "limit_day": None, "limit_total": None}
    cape.perturb("Alice met", account=account)
    with pytest.raises(cape_dp.BudgetError) as raised:
        cape.perturb(["Alice", "Zoltan met Krzysztof."], account=account)
    assert isinstance(raised.value, cape_dp.LedgerError) and "Zoltan" not in str(raised.value)
    assert ledger.spending()[0].draws == 2
    left = account.left()["limit_key"]
    assert left == pytest.approx(50.0 - 2 * cape.guarantee.epsilon_any)


def test_files_and_settings_are_checked(place, tmp_path):
    Ledger(*place).close()
    (tmp_path / "other.key").write_bytes(b"short")
    (tmp_path / "other.key").chmod(0o600)
    for key in ("other.key", "third.key"):
        with pytest.raises(cape_dp.KeyFileError):
            Ledger(place[0], str(tmp_path / key))
    with pytest.raises(cape_dp.SettingError):
        Ledger(*place, limit_key=-1.0)
    ledger = Ledger(*place)
    with pytest.raises(cape_dp.SettingError):
        Cape().perturb("Alice", secret=Secret(), account=ledger.account("k"))
    for holder in (ledger, ledger.account("k")):
        with pytest.raises(cape_dp.SecretError):
            pickle.dumps(holder)
        assert repr(holder) in ("Ledger(…)", "Account(…)")


ACCOUNT = None


def perturb_forked(_):
    try:
        Cape().perturb("Alice", account=ACCOUNT)
    except cape_dp.LedgerError as error:
        return str(error)


def test_a_forked_process_opens_its_own(place):
    global ACCOUNT
    ACCOUNT = Ledger(*place).account("k")
    Cape().perturb("Alice", account=ACCOUNT)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert "forked" in pool.map_async(perturb_forked, [0]).get(timeout=60)[0]


def test_a_job_is_reserved_as_a_whole_and_settled(place):
    cape, ledger = Cape(), Ledger(*place, limit_total=150.0)
    account = ledger.account("jobs")
    texts = ["Alice met Zoltan.", "Zoltan met Alice again."]
    assert cape.count_draws(texts) == 4 and cape.count_draws(texts[0]) == 3 and cape.count_draws([]) == 0
    with pytest.raises(cape_dp.BudgetError):
        account.reserve("too large", 7, cape)
    job = account.reserve("one", 6, cape)
    assert job.epsilon == pytest.approx(6 * cape.guarantee.epsilon_any)
    # another worker, or the same after a crash
    again = account.reserve("one", 6, cape)
    assert again.epsilon == 0 and again.secret.reveal() == job.secret.reveal()
    one, two = (cape.perturb(text, secret=job.secret) for text in texts)
    assert released(one)["Alice"] == released(two)["Alice"]
    assert ledger.settle("one", cape.count_draws(texts)) == pytest.approx(2 * cape.guarantee.epsilon_any)
    assert ledger.spending()[0].draws == 4
    with pytest.raises(cape_dp.LedgerError):
        account.reserve("one", 6, cape)
    with pytest.raises(cape_dp.SecretError):
        pickle.dumps(job)
    assert job.secret.reveal().hex() not in repr(job)
