#!/usr/bin/env python3
"""Make a masked language model to start from, of a sentence encoder of MPNet's shape.

    python from_mpnet.py ENCODER --tokenizer BERT --out MODEL                    all layers
    python from_mpnet.py TRAINED --layers 0,1,3,8,10,11 --out MODEL              some of them

ENCODER is a folder in the Hugging Face layout: all-mpnet-base-v2 without a masked-LM head. Its
words are those of bert-base-uncased with other special tokens around them: the rows are put
into BERT's order, so that MODEL has the tokenizer of BERT (a folder's tokenizer.json). The head
is new: the identity, GELU, a layer normalisation, and the word embeddings once more.

TRAINED is a MODEL after training. With --layers only these are kept; training mends the seams.
"""
import argparse
import os
import shutil

import torch
from transformers import MPNetConfig, MPNetForMaskedLM, MPNetModel

from eval import CLS, MASK, SEP

WORDS = 30_522  # of bert-base-uncased
SHIFT = 4  # MPNet's four special tokens come before BERT's words; <mask> is its last word
SPECIAL = {CLS: 0, SEP: 2, MASK: SHIFT + WORDS}  # <s>, </s>, <mask>


def of_encoder(folder):
    encoder = MPNetModel.from_pretrained(folder, add_pooling_layer=False, dtype=torch.float32)
    config = MPNetConfig.from_pretrained(folder)
    assert config.vocab_size == SHIFT + WORDS + 1, "these are not MPNet's words"
    # [PAD] is never shown, and an id that no text has must count as padding: that of [unused0]
    config.update({"vocab_size": WORDS, "pad_token_id": 1, "bos_token_id": CLS, "eos_token_id": SEP})
    config.architectures = ["MPNetForMaskedLM"]
    rows = torch.arange(WORDS) + SHIFT
    for word, row in SPECIAL.items():
        rows[word] = row
    state = encoder.state_dict()
    state["embeddings.word_embeddings.weight"] = state["embeddings.word_embeddings.weight"][rows]
    model = MPNetForMaskedLM(config)
    missing, unexpected = model.mpnet.load_state_dict(state, strict=False)
    assert not missing and not unexpected, (missing, unexpected)
    torch.nn.init.eye_(model.lm_head.dense.weight)
    torch.nn.init.zeros_(model.lm_head.dense.bias)
    return model


def keep(model, layers):
    model.mpnet.encoder.layer = torch.nn.ModuleList(model.mpnet.encoder.layer[i] for i in layers)
    model.config.num_hidden_layers = len(layers)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model", help="folder of the encoder, or of a model trained from it")
    p.add_argument("--tokenizer", metavar="DIR", help="folder with BERT's tokenizer.json (needed for an encoder)")
    p.add_argument("--layers", help="the layers to keep, counted from 0, with commas between them")
    p.add_argument("--out", required=True, help="folder to write")
    args = p.parse_args()
    model = (
        of_encoder(args.model)
        if args.tokenizer
        else MPNetForMaskedLM.from_pretrained(args.model, dtype=torch.float32)
    )
    if args.layers:
        keep(model, [int(i) for i in args.layers.split(",")])
    model.save_pretrained(args.out)
    shutil.copy(os.path.join(args.tokenizer or args.model, "tokenizer.json"), args.out)


if __name__ == "__main__":
    main()
