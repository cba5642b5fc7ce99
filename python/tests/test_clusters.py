"""Jobs on a local Ray cluster of two nodes and on a Spark cluster of two workers, with one killed on the way."""

import os
import signal
import sys
from pathlib import Path

import pytest

pa = pytest.importorskip("pyarrow")

from cape_dp import Cape, Secret, SettingError, TextError
from cape_dp._batches import Batches

ROWS = 400
NAMES = ["Alice", "Jonas", "Priya", "Weber", "Okafor", "Lindqvist", "Moreau"]
CITIES = ["London", "Leeds", "Osaka", "Porto", "Lima"]
PROMPTS = [
    f"My friend {NAMES[i % 7]} from {CITIES[i % 5]} owes me {100 + i} euros." for i in range(ROWS)
]
SECRET = Secret().reveal()


def expected():
    """What one process makes of the rows, in one batch."""
    released = Cape().perturb(PROMPTS, secret=Secret.from_bytes(SECRET))
    return {i: release.text for i, release in enumerate(released)}


def die_once(mark: str, pid: int) -> None:
    """Kills a process the first time that this is called in any process."""
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(pid, signal.SIGKILL)


@pytest.fixture(autouse=True)
def workers_find_this_file(monkeypatch):
    here = str(Path(__file__).parent)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])]))
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)


def check(rows):
    """Every row once, as one process would have released it: nothing lost, nothing drawn twice."""
    assert sorted(id for id, _ in rows) == list(range(ROWS))
    assert dict(rows) == expected()


def test_ray_with_a_killed_worker(tmp_path):
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    from cape_dp.ray import Perturb

    class Dying(Perturb):
        def __init__(self, mark, **settings):
            super().__init__(**settings)
            self.mark = mark

        def __call__(self, batch):
            released = super().__call__(batch)
            # the worst moment: it is computed, and nobody has it
            if ROWS // 2 in batch.column("id").to_pylist():
                die_once(self.mark, os.getpid())
            return released

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    try:
        for _ in range(2):
            cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, log_to_driver=False)
        mark = tmp_path / "killed"
        rows = [{"id": i, "prompt": text, "ssn": "never sent"} for i, text in enumerate(PROMPTS)]
        settings = {"secret": SECRET, "column": "prompt", "keep": ["id"]}
        released = ray.data.from_items(rows, override_num_blocks=8).map_batches(
            Dying,
            fn_constructor_kwargs={"mark": str(mark), **settings},
            batch_format="pyarrow",
            batch_size=25,
            compute=ray.data.ActorPoolStrategy(size=2),
        )
        rows = released.take_all()
        assert mark.exists(), "no worker was killed"
        assert all(set(row) == {"id", "prompt"} for row in rows)
        check([(row["id"], row["prompt"]) for row in rows])
    finally:
        ray.shutdown()
        cluster.shutdown()


def test_spark_with_a_killed_executor(tmp_path):
    pytest.importorskip("pyspark")
    from pyspark.sql import SparkSession

    from cape_dp import spark

    session = (
        SparkSession.builder.master("local-cluster[2,1,512]")
        .config("spark.executor.memory", "512m")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", 25)
        .getOrCreate()
    )
    try:
        mark = str(tmp_path / "killed")
        rows = [(i, text, "never sent") for i, text in enumerate(PROMPTS)]
        df = session.createDataFrame(rows, "id long, prompt string, ssn string").repartition(8, "id")

        def dying(batches):
            for batch in batches:
                if ROWS // 2 in batch.column("id").to_pylist():
                    # Python's worker is a child of its daemon, which is one of the executor
                    stat = Path(f"/proc/{os.getppid()}/stat").read_text()
                    die_once(mark, int(stat.rsplit(")", 1)[1].split()[1]))
                yield batch

        released = spark.perturb(df, "prompt", secret=SECRET, keep=["id"])
        assert released.columns == ["id", "prompt"]
        rows = released.mapInArrow(dying, released.schema).collect()
        assert Path(mark).exists(), "no executor was killed"
        check([(row.id, row.prompt) for row in rows])
    finally:
        session.stop()


def test_refused_texts_get_a_reason_or_end_the_job():
    batch = pa.table({"id": [1, 2, 3], "prompt": ["My friend Alice.", "a\x00b", None]})
    with pytest.raises(TextError):
        Batches(SECRET, "prompt", ["id"], None, "raise").columns(batch)
    columns = Batches(SECRET, "prompt", ["id"], None, "reason").columns(batch)
    released, reasons = columns["prompt"].to_pylist(), columns["cape_error"].to_pylist()
    assert released[1:] == [None, None] and "friend" in released[0]
    assert reasons[0] is None and reasons[2] is None
    assert reasons[1] and "a\x00b" not in reasons[1]


def test_the_released_column_cannot_be_kept():
    with pytest.raises(SettingError):
        Batches(SECRET, "prompt", ["prompt"], None, "raise")
