"""Releases a column of prompts on a Ray cluster: one map for the whole job, paid for from a ledger as a whole."""

import ray

from cape_dp import Cape, Ledger
from cape_dp.ray import Perturb

PROMPTS = ["Draft a letter to Mrs. Wojciechowska.", "Wojciechowska moved to Leeds.", "What is a haiku?"]

cape = Cape(epsilon=8)
ledger = Ledger("ledger.db", "ledger.key", limit_key=2000)
# reserving the same job again costs nothing and gives the same secret: a job that was stopped goes on
draws = cape.count_draws(PROMPTS)
job = ledger.account("research").reserve("letters of November", draws, cape)

ray.init(log_to_driver=False)
prompts = ray.data.from_items([{"id": i, "prompt": text} for i, text in enumerate(PROMPTS)])
released = prompts.map_batches(
    Perturb,
    fn_constructor_kwargs={"secret": job.secret.reveal(), "column": "prompt", "keep": ["id"], "cape": cape},
    batch_format="pyarrow",
    compute=ray.data.ActorPoolStrategy(size=1),
)
for row in released.take_all():
    print(row["id"], row["prompt"])
ray.shutdown()
ledger.settle("letters of November", draws)
