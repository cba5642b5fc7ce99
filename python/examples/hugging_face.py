"""A data set of Hugging Face, released by several processes with one map.

Each process makes the job's secret from bytes that it gets as an argument; it is in no pickle of Cape, and in no cache.
"""

import datasets

from cape_dp import Cape, Secret

PROMPTS = [f"Wojciechowska is {age} years old and has asthma." for age in range(20, 60)]


def release(batch, cape, secret):
    released = cape.perturb(batch["prompt"], secret=Secret.from_bytes(secret))
    return {"released": [str(one) for one in released]}


def main():
    data = datasets.Dataset.from_dict({"prompt": PROMPTS})
    # the fingerprint of the call names the settings and not the secret: it must not be derived from it
    cape, secret = Cape(epsilon=8), Secret().reveal()
    data = data.map(
        release,
        batched=True,
        batch_size=10,
        num_proc=2,
        fn_kwargs={"cape": cape, "secret": secret},
        new_fingerprint=f"{data._fingerprint}-{cape.fingerprint[:16]}",
    )
    names = {released.split()[0] for released in data["released"]}
    assert len(names) == 1, "one map for the whole job"
    print(data["released"][0])


if __name__ == "__main__":
    main()
