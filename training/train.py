#!/usr/bin/env python3
"""Train a BERT-shaped masked language model on the CPU, from given weights, resumably.

    python train.py --data DATA --init MODEL --out RUN          begin
    python train.py --data DATA --out RUN --resume RUN/last.pt  go on

DATA is a folder written by prep.py, MODEL a folder in the Hugging Face layout. RUN gets
    last.pt      the newest checkpoint: weights, optimizer, schedule, place in the data
    stable.pt    the checkpoint just before the learning rate began to fall
    model/       the newest weights in the Hugging Face layout, f16
    log.jsonl    one line for each report and each evaluation

Learning rate: warm-up, then constant, then a linear fall to zero ("cool-down"). All of it
is counted in tokens trained, never in time, so that a paused or slow process follows the
same curve. The constant part may go on over as many runs as wanted; the weights
are at their best only after a cool-down. So:
  * `--tokens N` plans the end: the fall covers the last `--cooldown` tokens of N.
  * SIGUSR1 begins the cool-down now, over --cooldown tokens.
  * A file RUN/end with a number begins it now, to end at that many tokens; the number may
    be changed while the run goes on, to be done in time on a machine of uneven speed.
  * SIGTERM or SIGINT saves a checkpoint and stops.
  * To train on after a cool-down, either resume from stable.pt, or resume from last.pt
    with --rewarm, which begins the schedule again with a new warm-up (remove RUN/end first).

Data: each source is a stream of rows. For every pass over a source its documents are cut
anew: a row starts where the last one ended, aims at a length drawn log-uniformly between
--min-row and --max-row, and mostly ends with a sentence. Sources are mixed by
tokens ** --temperature, and none gets more than --cap of the mix. Rows of (nearly) one
length make a batch, cut to the shortest, so there is no padding.

Masking: --mask-rate of the tokens, in whole words for --whole-word of the rows and token
by token for the others; 90 % become [MASK], 5 % a random token, 5 % stay. Only masked
positions go through the head.
"""
import argparse
import ctypes
import json
import os
import signal
import sys
import time

# A thread that waits should sleep: where the cores are shared, spinning costs half the
# speed. This must be said before torch is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("GOMP_SPINCOUNT", "0")

import numpy as np
import torch
from safetensors.torch import save_file
from transformers import BertConfig, BertForMaskedLM

import eval as evaluation
from eval import CLS, MASK, SEP, UNK


# --- data -----------------------------------------------------------------------------


class Stream:
    """One source's rows, in an order that depends on the seed, the source and the pass."""

    def __init__(self, number, data, args, state=None):
        self.number, self.args = number, args
        self.tokens, self.sentences, self.documents = data
        self.passes, self.at = state or (0, 0)
        self.cut()

    def state(self):
        return (self.passes, self.at)

    def cut(self):
        a = self.args
        rng = np.random.default_rng([a.seed, 1, self.number, self.passes])
        ends = np.append(self.sentences[1:], len(self.tokens))
        lengths = np.exp(rng.uniform(np.log(a.min_row), np.log(a.max_row + 1), 1 << 16)).astype(np.int64)
        lengths = (lengths - 2).tolist()  # without [CLS] and [SEP]
        clean = (rng.random(1 << 16) < a.clean_ends).tolist()
        rows, k, shortest = [], 0, a.min_row - 2
        bounds = self.documents.tolist() + [len(self.tokens)]
        for start, stop in zip(bounds, bounds[1:]):
            while stop - start >= 6:
                end = min(start + lengths[k & 0xFFFF], stop)
                if clean[k & 0xFFFF] and end < stop:
                    whole = int(ends[np.searchsorted(ends, end, side="right") - 1])
                    if whole - start >= shortest:
                        end = whole
                k += 1
                rows.append((start, end))
                start = end
        rows = np.array(rows, np.int64)
        self.rows = rows[rng.permutation(len(rows))]

    def take(self, budget):
        """Rows of about `budget` tokens: an array of (start, end)."""
        out = []
        while budget > 0:
            if self.at >= len(self.rows):
                self.passes, self.at = self.passes + 1, 0
                self.cut()
            size = np.cumsum(self.rows[self.at :, 1] - self.rows[self.at :, 0])
            n = int(np.searchsorted(size, budget)) + 1
            out.append(self.rows[self.at : self.at + n])
            self.at += len(out[-1])
            budget -= int(size[min(n, len(size)) - 1])
        return np.concatenate(out)


def mixture(data, temperature, cap):
    """Each source's part of the tokens: size ** temperature, none above `cap`."""
    w = {s: len(d[0]) ** temperature for s, d in data.items()}
    total = sum(w.values())
    w = {s: x / total for s, x in w.items()}
    if cap * len(w) > 1:
        for _ in range(50):
            over = {s for s, x in w.items() if x >= cap}
            free = sum(x for s, x in w.items() if s not in over)
            scale = (1 - cap * len(over)) / free if free else 1
            w = {s: cap if s in over else x * scale for s, x in w.items()}
    return w


class Batches:
    """Rounds of about --round tokens; in a round, rows sorted by length into batches.

    The place in the data is (state of the streams when the round began, batch in the
    round): everything else follows from the seed.
    """

    def __init__(self, data, args, continuation, state=None):
        state = state or {"round": 0, "batch": 0, "streams": {}}
        self.args, self.data, self.continuation = args, data, continuation
        self.weights = mixture(data, args.temperature, args.cap)
        self.streams = {s: Stream(i, d, args, state["streams"].get(s)) for i, (s, d) in enumerate(data.items())}
        self.round, self.batch = state["round"], state["batch"]
        self.plan()

    def plan(self):
        self.before = {s: st.state() for s, st in self.streams.items()}
        rng = np.random.default_rng([self.args.seed, 2, self.round])
        rows = []
        for s, stream in self.streams.items():
            rows += [(s, a, b) for a, b in stream.take(self.weights[s] * self.args.round).tolist()]
        rng.shuffle(rows)
        rows.sort(key=lambda r: r[2] - r[1])
        self.batches, i = [], 0
        while i < len(rows):
            n = max(1, self.args.batch // (rows[i][2] - rows[i][1] + 2))
            self.batches.append(rows[i : i + n])
            i += n
        self.batches = [self.batches[j] for j in rng.permutation(len(self.batches))]

    def state(self):
        return {"round": self.round, "batch": self.batch, "streams": self.before}

    def next(self):
        if self.batch >= len(self.batches):
            self.round, self.batch = self.round + 1, 0
            self.plan()
        rng = np.random.default_rng([self.args.seed, 3, self.round, self.batch])
        rows = self.batches[self.batch]
        self.batch += 1
        length = min(b - a for _, a, b in rows)
        ids = np.empty((len(rows), length + 2), np.int64)
        ids[:, 0], ids[:, -1] = CLS, SEP
        for i, (s, a, _) in enumerate(rows):
            ids[i, 1:-1] = self.data[s][0][a : a + length]
        return mask(ids, rng, self.args, self.continuation)


def mask(ids, rng, args, continuation):
    """(ids with masks, flat positions, answers)"""
    n, width = ids.shape
    column = np.broadcast_to(np.arange(width), ids.shape)
    # Every token gets the score of its word's first piece; the lowest scores are masked.
    first = np.where(continuation[ids] & (column > 1), 0, column)
    first = np.maximum.accumulate(first, axis=1)
    piecewise = rng.random(n) >= args.whole_word
    first[piecewise] = column[piecewise]
    score = np.take_along_axis(rng.random(ids.shape), first, 1)
    score[(ids == CLS) | (ids == SEP) | (ids == UNK)] = 2
    k = max(1, round(args.mask_rate * (width - 2)))
    limit = np.partition(score, k - 1, axis=1)[:, k - 1 : k]
    flat = np.flatnonzero((score <= limit) & (score < 2))
    answers = ids.reshape(-1)[flat]
    how = rng.random(len(flat))
    new = np.where(how < 0.9, MASK, np.where(how < 0.95, rng.integers(1000, len(continuation), len(flat)), answers))
    ids = ids.copy()
    ids.reshape(-1)[flat] = new
    return torch.from_numpy(ids), torch.from_numpy(flat), torch.from_numpy(answers)


def continuation_table(model_dir):
    """For each token id, whether it continues a word ("##ing")."""
    with open(os.path.join(model_dir, "tokenizer.json"), encoding="utf-8") as f:
        vocab = json.load(f)["model"]["vocab"]
    table = np.zeros(max(vocab.values()) + 1, bool)
    for token, i in vocab.items():
        table[i] = token.startswith("##")
    return table


def keep_memory():
    """glibc: reuse freed memory rather than give it back after each step (about 8 % faster)."""
    try:
        libc = ctypes.CDLL(None)
        for option, value in ((-4, 0), (-1, 2**31 - 1), (-2, 1 << 26)):  # MMAP_MAX, TRIM_THRESHOLD, TOP_PAD
            libc.mallopt(option, value)
    except (OSError, AttributeError):
        pass  # another libc: only slower


# --- model, schedule, checkpoints -----------------------------------------------------


def optimizer_for(model, args):
    decay = [p for p in model.parameters() if p.dim() > 1]
    plain = [p for p in model.parameters() if p.dim() <= 1]
    groups = [{"params": decay, "weight_decay": args.weight_decay}, {"params": plain, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=args.lr, betas=(0.9, 0.98), eps=1e-6, fused=True)


def learning_rate(args, progress):
    """The rate of the next step; in the cool-down a straight line from the last one to the end."""
    tokens, end = progress["tokens"], progress["end"]
    if end is None:
        return args.lr * min(1.0, (tokens - progress["warm_from"] + args.batch) / args.warmup)
    left = end - progress["last_tokens"]
    return progress["rate"] * max(0.0, (end - tokens) / left) if left > 0 else 0.0


def asked_end(out):
    """The number in the file RUN/end, if there is one."""
    try:
        with open(os.path.join(out, "end")) as f:
            return float(f.read())
    except (OSError, ValueError):
        return None


def write(path, action):
    """Atomic: the file is whole or the old one is still there."""
    action(path + ".tmp")
    os.replace(path + ".tmp", path)


def export(model, tokenizer_from, out, dtype=torch.float16):
    """Hugging Face layout; the decoder is tied to the embeddings and not stored."""
    os.makedirs(out, exist_ok=True)
    skip = ("cls.predictions.decoder.", "bert.embeddings.position_ids", "bert.pooler.")
    tensors = {k: v.detach().to(dtype).contiguous() for k, v in model.state_dict().items() if not k.startswith(skip)}
    weights = os.path.join(out, "model.safetensors")
    write(weights, lambda p: save_file(tensors, p, metadata={"format": "pt"}))
    os.chmod(weights, 0o644)
    for name in ("config.json", "tokenizer.json"):
        src = os.path.join(tokenizer_from, name)
        dst = os.path.join(out, name)
        if os.path.abspath(src) != os.path.abspath(dst):
            with open(src, "rb") as f:
                content = f.read()
            with open(dst, "wb") as f:
                f.write(content)


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", required=True, help="folder written by prep.py")
    p.add_argument("--out", required=True, help="folder of the run")
    p.add_argument("--init", help="folder of the starting model (needed unless --resume)")
    p.add_argument("--resume", metavar="FILE", help="checkpoint to go on from")
    p.add_argument("--rewarm", action="store_true", help="with --resume: warm up again, as after a cool-down")
    p.add_argument("--tokens", type=float, default=1e12, help="tokens in all, those before --resume included (no end)")
    p.add_argument("--cooldown", type=float, default=3e6, help="tokens of the cool-down (3e6)")
    p.add_argument("--lr", type=float, default=3e-4, help="highest learning rate (3e-4)")
    p.add_argument("--warmup", type=float, default=2e5, help="tokens of the warm-up (2e5)")
    p.add_argument("--weight-decay", type=float, default=0.01)
    p.add_argument("--clip", type=float, default=1.0, help="largest norm of the gradient (1)")
    p.add_argument("--batch", type=int, default=3072, help="tokens of a batch (3072)")
    p.add_argument("--min-row", type=int, default=16, help="shortest row, [CLS] and [SEP] included (16)")
    p.add_argument("--max-row", type=int, default=128, help="longest row (128)")
    p.add_argument("--clean-ends", type=float, default=0.8, help="part of the rows that end with a sentence where one can (0.8)")
    p.add_argument("--mask-rate", type=float, default=0.2, help="part of the tokens that is asked for (0.2)")
    p.add_argument("--whole-word", type=float, default=0.8, help="part of the rows masked in whole words (0.8)")
    p.add_argument("--temperature", type=float, default=0.5, help="sources are mixed by tokens to this power (0.5)")
    p.add_argument("--cap", type=float, default=0.3, help="largest part of the mix for one source (0.3)")
    p.add_argument("--round", type=float, default=1e6, help="tokens planned at once (1e6)")
    p.add_argument("--report", type=int, default=25, help="steps between two lines of the log (25)")
    p.add_argument("--save", type=int, default=100, help="steps between two checkpoints (100)")
    p.add_argument("--eval", type=int, default=400, help="steps between two evaluations (400)")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()
    if not args.init and not args.resume:
        p.error("--init or --resume is needed")
    return args


def main():
    args = parse()
    os.makedirs(args.out, exist_ok=True)
    with open(os.path.join(args.out, "train.pid"), "w") as f:
        f.write(str(os.getpid()))
    keep_memory()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    model_dir = os.path.join(args.out, "model")

    saved = torch.load(args.resume, weights_only=True) if args.resume else None
    if saved and not args.init:
        args.init = model_dir  # config.json and tokenizer.json are there from before
    config = BertConfig.from_pretrained(args.init)
    if saved:
        model = BertForMaskedLM._from_config(config, attn_implementation="sdpa")
        model.load_state_dict(saved["model"])
    else:
        model = BertForMaskedLM.from_pretrained(args.init, attn_implementation="sdpa", dtype=torch.float32)
    model.train()
    optimizer = optimizer_for(model, args)
    progress = {"step": 0, "tokens": 0, "cpu": 0.0, "warm_from": 0, "end": None, "rate": 0.0, "last_tokens": 0}
    if saved:
        optimizer.load_state_dict(saved["optimizer"])
        progress = saved["progress"]
        if args.rewarm:
            progress |= {"warm_from": progress["tokens"], "end": None}
        for key in ("seed", "batch", "min_row", "max_row", "clean_ends", "temperature", "cap", "round"):
            if saved["args"][key] != getattr(args, key):
                sys.exit(f"--{key.replace('_', '-')} was {saved['args'][key]}: the place in the data would not be the same")
    data = evaluation.load_split(os.path.join(args.data, "train.npz"))
    batches = Batches(data, args, continuation_table(args.init), saved and saved["place"])
    tests = evaluation.build(evaluation.load_split(os.path.join(args.data, "heldout.npz")))
    del saved

    log_file = open(os.path.join(args.out, "log.jsonl"), "a")

    def log(entry):
        line = json.dumps(entry)
        print(line, flush=True)
        log_file.write(line + "\n")
        log_file.flush()

    def save(name="last.pt"):
        state = {
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "progress": progress,
            "place": batches.state(),
            "args": vars(args),
        }
        write(os.path.join(args.out, name), lambda p: torch.save(state, p))

    def measure():
        r = evaluation.evaluate(model, tests)
        short = {s: [round(x["loss"], 3), round(x["top1"], 4), round(x["top5"], 4)] for s, x in r.items()}
        log({"eval": short, "step": progress["step"], "tokens": progress["tokens"]})

    asked = set()
    for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda n, _: asked.add(n))

    log({"begin": vars(args), "mix": {s: round(w, 3) for s, w in batches.weights.items()}, "progress": progress})
    loss_sum = count = tokens_here = 0
    wall, cpu = time.time(), time.process_time()
    while progress["end"] or progress["tokens"] < args.tokens:
        wanted = asked_end(args.out)
        if progress["end"] is None:
            if wanted or signal.SIGUSR1 in asked or progress["tokens"] >= args.tokens - args.cooldown:
                save("stable.pt")
                progress["end"] = wanted or min(args.tokens, progress["tokens"] + args.cooldown)
                log({"cooldown from": progress["tokens"], "to": progress["end"]})
        elif wanted and wanted != progress["end"]:
            progress["end"] = wanted
            log({"cooldown at": progress["tokens"], "to": wanted})
        rate = learning_rate(args, progress)
        if signal.SIGTERM in asked or signal.SIGINT in asked or rate <= 0:
            break
        progress["rate"], progress["last_tokens"] = rate, progress["tokens"]
        for group in optimizer.param_groups:
            group["lr"] = rate

        ids, where, answers = batches.next()
        hidden = model.bert(input_ids=ids)[0].flatten(0, 1)[where]
        loss = torch.nn.functional.cross_entropy(model.cls(hidden), answers)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

        progress["step"] += 1
        progress["tokens"] += ids.numel()
        tokens_here += ids.numel()
        loss_sum += loss.item()
        count += 1
        if progress["step"] % args.report == 0:
            w, c = time.time(), time.process_time()
            progress["cpu"] += c - cpu
            log({
                "step": progress["step"], "tokens": progress["tokens"], "loss": round(loss_sum / count, 3),
                "lr": round(rate, 7), "tokens_per_s": round(tokens_here / (w - wall)),
                "tokens_per_cpu_s": round(tokens_here / (c - cpu)), "at": round(w),
            })
            loss_sum = count = tokens_here = 0
            wall, cpu = w, c
        if progress["step"] % args.save == 0:
            save()
        if progress["step"] % args.eval == 0:
            export(model, args.init, model_dir)
            measure()
            wall, cpu, tokens_here = time.time(), time.process_time(), 0
    save()
    export(model, args.init, model_dir)
    measure()


if __name__ == "__main__":
    main()
