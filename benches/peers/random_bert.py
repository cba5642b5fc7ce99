#!/usr/bin/env python3
"""Write a model of BERT-base's shape with seeded random weights, in the Hugging Face layout.

    python random_bert.py DIR [--vocab ROWS]

Speed does not depend on what the weights say, so this stands in for the real one where that
cannot be fetched. The tokenizer is that of the embedded model, whose vocabulary has the same
30,522 rows; with --vocab ROWS it is a made-up one of so many entries, and the network a small
one (2 layers, 384 wide), to see what the vocabulary alone costs.
"""

import argparse
import json
import shutil
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

DEFAULT = Path(__file__).resolve().parents[2] / "crates/cape-models/default"
BASE = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12}
SMALL = {"hidden_size": 384, "num_hidden_layers": 2, "num_attention_heads": 12}


def weights(config):
    """Scaled so that every sublayer keeps its input's size and logits spread over a few units."""
    rng = np.random.default_rng(20261116)
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    tensors = {}

    def normal(scale, *shape):
        return rng.standard_normal(shape, dtype=np.float32) * np.float32(scale)

    def linear(name, outputs, inputs):
        tensors[f"{name}.weight"] = normal(inputs**-0.5, outputs, inputs)
        tensors[f"{name}.bias"] = normal(0.02, outputs)

    def norm(name):
        tensors[f"{name}.weight"] = np.ones(hidden, np.float32)
        tensors[f"{name}.bias"] = np.zeros(hidden, np.float32)

    tables = {
        "word": config["vocab_size"],
        "position": config["max_position_embeddings"],
        "token_type": config["type_vocab_size"],
    }
    for name, rows in tables.items():
        tensors[f"bert.embeddings.{name}_embeddings.weight"] = normal(0.1, rows, hidden)
    norm("bert.embeddings.LayerNorm")
    for i in range(config["num_hidden_layers"]):
        layer = f"bert.encoder.layer.{i}"
        for name in ("self.query", "self.key", "self.value", "output.dense"):
            linear(f"{layer}.attention.{name}", hidden, hidden)
        norm(f"{layer}.attention.output.LayerNorm")
        linear(f"{layer}.intermediate.dense", inner, hidden)
        linear(f"{layer}.output.dense", hidden, inner)
        norm(f"{layer}.output.LayerNorm")
    linear("cls.predictions.transform.dense", hidden, hidden)
    norm("cls.predictions.transform.LayerNorm")
    tensors["cls.predictions.bias"] = np.zeros(config["vocab_size"], np.float32)
    return tensors


def made_up_tokenizer(rows):
    """The embedded model's tokenizer with another number of entries: ours first, then numbers."""
    tokenizer = json.loads((DEFAULT / "tokenizer.json").read_text())
    vocab = tokenizer["model"]["vocab"]
    entries = sorted(vocab, key=vocab.get)[:rows]
    # letters as pieces let every word be spelled, whatever was left out
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    needed = [piece for c in letters for piece in (c, f"##{c}")] + list(".,;:!?'-")
    missing = [piece for piece in needed if piece not in entries]
    entries = entries[: rows - len(missing)] + missing
    entries += [f"word{i}" for i in range(rows - len(entries))]
    tokenizer["model"]["vocab"] = {entry: i for i, entry in enumerate(entries)}
    return tokenizer


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dir", type=Path)
    parser.add_argument("--vocab", type=int)
    args = parser.parse_args()
    args.dir.mkdir(parents=True, exist_ok=True)
    shape = SMALL if args.vocab else BASE
    config = {
        "architectures": ["BertForMaskedLM"],
        "model_type": "bert",
        "vocab_size": args.vocab or 30_522,
        **shape,
        "intermediate_size": 4 * shape["hidden_size"],
        "max_position_embeddings": 512,
        "type_vocab_size": 2,
        "layer_norm_eps": 1e-12,
        "hidden_act": "gelu",
        "tie_word_embeddings": True,
    }
    (args.dir / "config.json").write_text(json.dumps(config, indent=1))
    if args.vocab:
        tokenizer = json.dumps(made_up_tokenizer(args.vocab), ensure_ascii=False)
        (args.dir / "tokenizer.json").write_text(tokenizer)
    else:
        shutil.copy(DEFAULT / "tokenizer.json", args.dir)
    (args.dir / "cape.json").write_text('{"lo": -20, "hi": 20}\n')
    save_file(weights(config), args.dir / "model.safetensors", {"format": "pt"})


if __name__ == "__main__":
    main()
