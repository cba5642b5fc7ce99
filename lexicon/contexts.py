"""The places where words stand: what a masked language model expects there, averaged over sentences of a public text.

Words that fit into the same places can replace each other. A word's vector here is the mean of the model's states at masks that hide
it, one mask for the whole word. The model is the one that Cape embeds.
"""

import collections
import pathlib
import random
import re

import numpy as np

import sources

MODEL = pathlib.Path(__file__).resolve().parent.parent / "crates/cape-models/default"
PLACES = 15  # sentences for each word
MASKS = 4  # in a sentence
APART = 12  # characters between two masks
SHORTEST, LONGEST = 6, 36  # words of a sentence
SENTENCE = re.compile(r"(?<=[.!?])\s+")
WORD = re.compile(r"[A-Za-z]+(?:['-][A-Za-z]+)*")


def sentences(texts, wanted: set[str], most: int = PLACES):
    """Sentences with masks, and the words that the masks hide; rare words first, each in so many places at most."""
    rng = random.Random(1)
    seen: collections.Counter = collections.Counter()
    for text in texts:
        for sentence in SENTENCE.split(text):
            words = list(WORD.finditer(sentence))
            if not SHORTEST <= len(words) <= LONGEST:
                continue
            open_ = [word for word in words if word.group().lower() in wanted and seen[word.group().lower()] < most]
            rng.shuffle(open_)
            open_.sort(key=lambda word: seen[word.group().lower()])
            chosen = []
            for word in open_:
                if len(chosen) < MASKS and all(abs(word.start() - other.start()) > APART for other in chosen):
                    chosen.append(word)
            if not chosen:
                continue
            masked, at = "", 0
            for word in sorted(chosen, key=re.Match.start):
                seen[word.group().lower()] += 1
                masked, at = masked + sentence[at : word.start()] + "[MASK]", word.end()
            yield masked + sentence[at:], [word.group().lower() for word in sorted(chosen, key=re.Match.start)]


def load():
    """The embedded model: its matrices are integers with a scale for each row."""
    import safetensors.torch
    import torch
    import transformers

    stored = safetensors.torch.load_file(MODEL / "model.safetensors")
    weights = {}
    for name, tensor in stored.items():
        if not name.endswith(".scale"):
            scale = stored.get(f"{name}.scale")
            weights[name] = tensor.float() if scale is None else tensor.float() * scale[:, None]
    model = transformers.BertForMaskedLM(transformers.AutoConfig.from_pretrained(MODEL)).eval()
    missing, unexpected = model.load_state_dict(weights, strict=False)
    unknown = [name for name in missing if "decoder" not in name and "position_ids" not in name]
    if unknown or unexpected:
        raise SystemExit(f"the embedded model is not as expected: {unknown} {unexpected}")
    model.tie_weights()
    return transformers.PreTrainedTokenizerFast(tokenizer_file=str(MODEL / "tokenizer.json"), mask_token="[MASK]", pad_token="[PAD]"), model, torch


def vectors(text: pathlib.Path, wanted: set[str], cache: pathlib.Path) -> tuple[list[str], np.ndarray, np.ndarray]:
    """The words, the mean state of each, and in how many places it was seen."""
    file = cache / "contexts.npz"
    if file.exists():
        with np.load(file, allow_pickle=False) as stored:
            return stored["words"].tolist(), stored["means"], stored["counts"]
    tokenizer, model, torch = load()
    masked = sorted(sentences(sources.texts(text), wanted), key=lambda pair: len(pair[0]))
    words = sorted(wanted)
    place = {word: i for i, word in enumerate(words)}
    sums, counts = np.zeros((len(words), model.config.hidden_size), np.float32), np.zeros(len(words), np.int32)
    with torch.inference_mode():
        for at in range(0, len(masked), 64):
            batch = masked[at : at + 64]
            tokens = tokenizer([sentence for sentence, _ in batch], padding=True, truncation=True, max_length=64, return_tensors="pt")
            hidden = model.bert(input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"]).last_hidden_state
            masks = tokens["input_ids"] == tokenizer.mask_token_id
            states = model.cls.predictions.transform(hidden[masks]).numpy()
            states /= np.linalg.norm(states, axis=1, keepdims=True)
            states = iter(states)
            for row, (_, hidden_words) in zip(masks.sum(1).tolist(), batch):
                for word, state in zip(hidden_words[:row], [next(states) for _ in range(row)]):
                    sums[place[word]] += state
                    counts[place[word]] += 1
    means = sums / np.maximum(counts, 1)[:, None]
    np.savez(file, words=np.array(words), means=means, counts=counts)
    return words, means, counts
