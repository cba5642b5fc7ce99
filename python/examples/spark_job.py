"""Releases a column of prompts on Spark: one map for the whole job."""

import os
import sys

from pyspark.sql import SparkSession

import cape_dp.spark
from cape_dp import Secret

PROMPTS = ["Draft a letter to Mrs. Wojciechowska.", "Wojciechowska moved to Leeds.", "What is a haiku?"]

# keep it where only you can read it if the job must be able to go on elsewhere; else it is gone with the job
secret = Secret()

# workers in the Python of this program
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
prompts = session.createDataFrame(list(enumerate(PROMPTS)), "id long, prompt string")
released = cape_dp.spark.perturb(prompts, "prompt", secret=secret.reveal(), keep=["id"])
released.show(truncate=False)
session.stop()
