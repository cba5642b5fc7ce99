"""The peers, each in a process of its own, with the line protocol of `crates/cape-models/benches/forward.rs`.

    python workers.py KIND MODEL_DIR

prints `ready`, and for each line `forward COPIES TOKENS` or `paper TEXT` of stdin the milliseconds
it took. Processes of their own keep the thread pools of one peer out of the way of another.
"""

import sys
import time
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModelForMaskedLM

STOPWORDS = Path(__file__).resolve().parents[2] / "crates/cape/src/stopwords_en.txt"
LAMBDA_L, LAMBDA_D, BUCKETS, EPSILON = 0.5, 1.0, 50, 12.0
LO, HI = -20.0, 20.0


def read_model(directory):
    """The model in torch, its integers (with a scale per row) widened."""
    stored = load_file(Path(directory) / "model.safetensors")
    scale = ".scale"
    tensors = {}
    for name, values in stored.items():
        if name.endswith(scale):
            continue
        values = values.astype(np.float32)
        if name + scale in stored:
            values *= stored[name + scale][:, None]
        tensors[name] = torch.from_numpy(values)
    model = AutoModelForMaskedLM.from_config(AutoConfig.from_pretrained(directory)).eval()
    unknown = model.load_state_dict(tensors, strict=False).unexpected_keys
    assert not unknown, unknown
    model.tie_weights()
    return model


def head(model):
    """What BERT or MPNet has after the encoder."""
    return model.cls.predictions if hasattr(model, "cls") else model.lm_head


class AtMasks(torch.nn.Module):
    """Logits at one position of each copy: the decoder is not run where nobody asks."""

    def __init__(self, model):
        super().__init__()
        self.encoder, self.head = model.base_model, head(model)

    def forward(self, ids, positions):
        hidden = self.encoder(input_ids=ids).last_hidden_state
        return self.head(hidden[torch.arange(ids.shape[0]), positions])


def masked_copies(copies, tokens):
    ids = torch.tensor([101] + [1000 + 37 * i for i in range(tokens - 2)] + [102])
    ids = ids.repeat(copies, 1)
    positions = torch.arange(copies) % (tokens - 2) + 1
    ids[torch.arange(copies), positions] = 103
    return ids, positions


def torch_forward(model, whole):
    """`whole` computes logits at every position, as a plain call of the model does."""
    if whole:
        return lambda ids, positions: model(input_ids=ids).logits[
            torch.arange(ids.shape[0]), positions
        ]
    return AtMasks(model)


def onnx_forward(model, directory, quantised):
    import onnx
    import onnxruntime
    from onnxruntime.quantization import quantize_dynamic

    path = Path(directory) / "peer.onnx"
    ids, positions = masked_copies(24, 24)
    if not path.exists():
        # a table shared with the embeddings would be quantised in two ways
        decoder = head(model).decoder
        decoder.weight = torch.nn.Parameter(decoder.weight.detach().clone())
        torch.onnx.export(
            AtMasks(model),
            (ids, positions),
            str(path),
            input_names=["ids", "positions"],
            dynamo=True,
            external_data=False,
        )
    if quantised:
        small = path.with_name("peer.int8.onnx")
        if not small.exists():
            graph = onnx.load(path)
            # the exporter's shapes of folded transposes are wrong, and are inferred again
            del graph.graph.value_info[:]
            quantize_dynamic(graph, small)
        path = small
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [tensor.name for tensor in session.get_inputs()]
    return lambda ids, positions: session.run(
        None, dict(zip(names, (ids.numpy(), positions.numpy())))
    )


def openvino_forward(model, precision):
    import openvino

    ids, positions = masked_copies(24, 24)
    graph = openvino.convert_model(AtMasks(model), example_input=(ids, positions))
    graph.reshape({0: list(ids.shape), 1: list(positions.shape)})
    hints = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": precision}
    request = openvino.Core().compile_model(graph, "CPU", hints).create_infer_request()
    return lambda ids, positions: request.infer([ids.numpy(), positions.numpy()])[0]


class Paper:
    """The paper's method as one would write it: a batch of masked copies, then arrays of |V|."""

    def __init__(self, model, directory, forward):
        self.forward = forward
        self.embeddings = model.get_input_embeddings().weight
        self.tokenizer = Tokenizer.from_file(str(Path(directory) / "tokenizer.json"))
        self.stopwords = set(STOPWORDS.read_text().split())

    def perturb(self, text):
        encoding = self.tokenizer.encode(text)
        ids = torch.tensor(encoding.ids)
        sensitive = [
            i
            for i, token in enumerate(encoding.tokens)
            if i not in (0, len(encoding.tokens) - 1)
            and token not in self.stopwords
            and any(c.isalnum() for c in token)
        ]
        at = torch.tensor(sensitive)
        copies = ids.repeat(len(at), 1)
        copies[torch.arange(len(at)), at] = 103
        logits = self.forward(copies, at)
        context = ((logits - LO) / (HI - LO)).clamp(0, 1) ** LAMBDA_L
        distances = torch.cdist(self.embeddings[ids[at]], self.embeddings)
        low, high = distances.amin(1, keepdim=True), distances.amax(1, keepdim=True)
        utilities = context * torch.exp(-(distances - low) / (high - low)) ** LAMBDA_D
        ids[at] = torch.stack([self.draw(row) for row in utilities])
        return self.tokenizer.decode(ids.tolist())

    @staticmethod
    def draw(utilities):
        low, high = utilities.min(), utilities.max()
        slots = ((utilities - low) / (high - low) * BUCKETS).long().clamp(max=BUCKETS - 1)
        sizes = torch.bincount(slots, minlength=BUCKETS)
        means = torch.bincount(slots, utilities, BUCKETS) / sizes
        filled = sizes > 0
        span = means[filled].max() - means[filled].min()
        scores = torch.where(filled, EPSILON * means / (2 * span), -torch.inf)
        bucket = torch.multinomial(torch.softmax(scores, 0), 1)
        members = torch.nonzero(slots == bucket).squeeze(1)
        return members[torch.randint(len(members), ())]


def main():
    kind, directory = sys.argv[1:]
    model = read_model(directory)
    forward = {
        "torch": lambda: torch_forward(model, whole=False),
        "torch-whole": lambda: torch_forward(model, whole=True),
        "onnxruntime-f32": lambda: onnx_forward(model, directory, quantised=False),
        "onnxruntime-int8": lambda: onnx_forward(model, directory, quantised=True),
        "openvino-f32": lambda: openvino_forward(model, "f32"),
        "openvino-bf16": lambda: openvino_forward(model, "bf16"),
    }[kind]()
    paper = Paper(model, directory, forward)
    print("ready", flush=True)
    for line in sys.stdin:
        what, rest = line.rstrip("\n").split(" ", 1)
        with torch.inference_mode():
            if what == "forward":
                inputs = masked_copies(*map(int, rest.split()))
                start = time.perf_counter()
                forward(*inputs)
            else:
                start = time.perf_counter()
                paper.perturb(rest)
        print(f"{(time.perf_counter() - start) * 1e3:.3f}", flush=True)


if __name__ == "__main__":
    main()
