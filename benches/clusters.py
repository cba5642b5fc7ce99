#!/usr/bin/env python3
"""Rows a second against workers: the command on a file, Ray and Spark, on this machine. A table on stdout and a plot.

    python benches/clusters.py CAPE PLOT.svg [--rows 400000]

Every worker computes on one thread. Times are those of whole jobs, with the start of the engines. Needs cape_dp, matplotlib, pyarrow, ray, pyspark and Java.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["PYSPARK_PYTHON"] = sys.executable

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import pyarrow as pa
import pyarrow.parquet as pq

from cape_dp import Secret

SECRET = Secret().reveal()


def prompts(rows):
    """Short prompts; few names come often and many seldom, as in life."""
    draw = random.Random(7)
    parts = ["ka", "lo", "min", "ter", "sa", "bu", "rio", "den", "fa", "gul", "vey", "nor", "pis", "tam"]
    names = ["".join(draw.choices(parts, k=3)).capitalize() for _ in range(20_000)]
    often = [1 / (i + 10) for i in range(len(names))]
    people = iter(draw.choices(names, often, k=2 * rows))
    return [f"Write to {next(people)} that {next(people)} owes {draw.randrange(5000)} euros for the room." for _ in range(rows)]


def on_file(cape, source, folder, workers):
    env = {**os.environ, "RAYON_NUM_THREADS": str(workers)}
    out = Path(folder, "released.parquet")
    command = [cape, "perturb", "--input", source, "--output", out, "--field", "prompt", "--pass", "id"]
    subprocess.run(command, env=env, check=True, capture_output=True)
    out.unlink()


def on_ray(_, source, __, workers):
    import ray

    from cape_dp.ray import Perturb

    ray.init(num_cpus=workers + 1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    ray.data.DataContext.get_current().enable_progress_bars = False
    settings = {"secret": SECRET, "column": "prompt", "keep": ["id"]}
    data = ray.data.read_parquet(str(source), override_num_blocks=16)
    released = data.map_batches(Perturb, fn_constructor_kwargs=settings, batch_format="pyarrow", compute=ray.data.ActorPoolStrategy(size=workers))
    assert sum(len(batch) for batch in released.iter_batches(batch_format="pyarrow", batch_size=None)) == pq.read_metadata(source).num_rows
    ray.shutdown()


def on_spark(_, source, __, workers):
    from pyspark.sql import SparkSession

    from cape_dp import spark

    session = SparkSession.builder.master(f"local[{workers}]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    frame = session.read.parquet(str(source)).repartition(16)
    spark.perturb(frame, "prompt", secret=SECRET, keep=["id"]).write.format("noop").mode("overwrite").save()
    session.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cape", type=Path)
    parser.add_argument("plot", type=Path)
    parser.add_argument("--rows", type=int, default=400_000)
    args = parser.parse_args()
    workers = list(range(1, os.cpu_count() + 1))
    figure, axis = plt.subplots(figsize=(5.5, 3.8), layout="constrained")
    print("| | " + " | ".join(f"rows/s, {n} workers" for n in workers) + " |\n" + "|---" * (len(workers) + 1) + "|")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "prompts.parquet")
        pq.write_table(pa.table({"id": range(args.rows), "prompt": prompts(args.rows)}), source, row_group_size=25_000)
        for name, job in [("cape perturb --input", on_file), ("Ray", on_ray), ("Spark", on_spark)]:
            rates = []
            for n in workers:
                begun = time.perf_counter()
                job(args.cape.resolve(), source, folder, n)
                rates.append(args.rows / (time.perf_counter() - begun))
            print(f"| {name} | " + " | ".join(f"{rate:,.0f}" for rate in rates) + " |", flush=True)
            line, = axis.plot(workers, rates, "o-", label=name)
            axis.plot(workers, [rates[0] * n for n in workers], "--", color=line.get_color(), alpha=0.5)
    axis.set(xlabel="workers of one thread (dashed: in proportion)", ylabel="rows per second", xticks=workers, ylim=0)
    axis.grid(alpha=0.3)
    axis.legend()
    figure.savefig(args.plot, metadata={"Date": None})


main()
