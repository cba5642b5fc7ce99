#!/usr/bin/env python3
"""How well do the words that Cape draws fit? A causal model that Cape does not use is the judge.

    python judge.py PROMPTS --judge FILE.gguf --cape CAPE --models default,MODEL --epsilons 6,10,14

PROMPTS is text with a prompt a line. Each is released with each of the models (`cape perturb
--lines --seed`, so draws are reproducible), and the judge says how many bits the released text
has: the fewer, the more it reads like text. Bits are per word of the prompt, which has the same
words for all models, and in lower case, as releases are. Releases that keep more of the prompt have
fewer bits, too: *kept* is the part of the sensitive tokens that stayed as they were. The first line
is the prompts as they are. A difference is that to the first model, prompt by prompt, with its
standard error. A model's folder must be calibrated, as the default is, and have its window.
"""
import argparse
import json
import math
import os
import subprocess
import sys

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as in train.py

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def bits(judge, tokenizer, texts):
    """The bits of each text, in lower case."""
    out = []
    for text in texts:
        ids = tokenizer(text.lower(), add_special_tokens=False).input_ids
        ids = torch.tensor([[judge.config.bos_token_id, *ids]])
        with torch.no_grad():
            logits = judge(ids).logits[0, :-1]
        out.append(torch.nn.functional.cross_entropy(logits, ids[0, 1:], reduction="sum").item() / math.log(2))
    return np.array(out)


def released(args, model, epsilon, prompts):
    """One release of each prompt, and the part of the sensitive tokens that stayed."""
    command = [args.cape, "perturb", "--lines", "--json", "--seed", str(args.seed), "--epsilon", epsilon]
    command += ["--model", model] if model != "default" else []
    done = subprocess.run(command, input="\n".join(prompts) + "\n", capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    releases = [json.loads(line) for line in done.stdout.split("\n") if line]
    assert len(releases) == len(prompts), "a line for each prompt"
    drawn = [t for release in releases for t in release["tokens"] if t["kept"] is None]
    stayed = sum(t["released"].lower() == t["original"].lower() for t in drawn)
    return [release["text"] for release in releases], stayed / len(drawn)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("prompts", help="text, a prompt a line")
    p.add_argument("--judge", required=True, help="a causal model, GGUF")
    p.add_argument("--cape", default="cape", help="the program (cape)")
    p.add_argument("--models", default="default", help="device models, with commas between them")
    p.add_argument("--epsilons", default="6,10,14")
    p.add_argument("--limit", type=int, default=200, help="the first so many prompts (200)")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--threads", type=int, default=1)
    args = p.parse_args()
    for model in args.models.split(","):
        if model != "default" and "window" not in json.load(open(os.path.join(model, "cape.json"))):
            sys.exit(f"{model}: cape.json has no window")
    torch.set_num_threads(args.threads)
    folder, name = os.path.split(os.path.abspath(args.judge))
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name)
    judge = AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.float32).eval()
    with open(args.prompts, encoding="utf-8") as f:
        prompts = [line.strip() for line in f if line.strip()][: args.limit]
    words = np.array([len(prompt.split()) for prompt in prompts])

    def row(model, epsilon, kept, all_bits, first):
        per_word = all_bits.sum() / words.sum()
        difference = ""
        if first is not None:
            d = (all_bits - first) / words.mean()
            difference = f"{d.mean():+.2f} ± {d.std(ddof=1) / math.sqrt(len(d)):.2f}"
        print(f"| {model} | {epsilon} | {kept} | {per_word:.2f} | {difference} |", flush=True)

    print(f"{len(prompts)} prompts, {words.sum()} words\n")
    print("| model | ε | kept % | bits per word | difference |\n|---|---|---|---|---|")
    row("(the prompts)", "", "", bits(judge, tokenizer, prompts), None)
    for epsilon in args.epsilons.split(","):
        first = None
        for model in args.models.split(","):
            texts, kept = released(args, model, epsilon, prompts)
            b = bits(judge, tokenizer, texts)
            row(os.path.basename(model), epsilon, f"{100 * kept:.1f}", b, first)
            first = b if first is None else first


if __name__ == "__main__":
    main()
