"""Real clients against `cape serve` in front of a real model (scripts/llm-server).

    pip install -r requirements.txt
    python real.py "$PWD/target/release/cape" "$URL"

The model is small and says what it likes: what is checked is that each client gets an answer of it through the
proxy, whole and streamed, and that a resent history costs nothing.
"""

import json
import os
import subprocess
import sys

import anthropic
import openai
from proxy import serve

# it would fetch a list of prices when it is loaded
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm  # noqa: E402

SAID = [{"role": "user", "content": "My neighbour Maria has had asthma since March. Tell me about asthma."}]
SHORT = {"max_tokens": 24, "temperature": 0}


def with_openai(base):
    client = openai.OpenAI(base_url=base + "/v1", api_key="k", max_retries=0)
    models = [model.id for model in client.models.list()]
    assert models, "the server names its model"
    raw = client.chat.completions.with_raw_response.create(model=models[0], messages=SAID, **SHORT)
    answer = raw.parse()
    assert answer.choices[0].message.content and answer.usage.completion_tokens > 1
    assert float(raw.headers["x-cape-epsilon"]) > 0 and int(raw.headers["x-cape-draws"]) > 3

    # the next turn resends the first: only what is new is paid for
    news = {"role": "user", "content": "Thanks."}
    turn = [*SAID, {"role": "assistant", "content": answer.choices[0].message.content}, news]
    raw = client.chat.completions.with_raw_response.create(model=models[0], messages=turn, **SHORT)
    assert raw.headers["x-cape-draws"] == "1", "the answer goes back as it came"
    raw = client.chat.completions.with_raw_response.create(model=models[0], messages=turn, **SHORT)
    assert float(raw.headers["x-cape-epsilon"]) == 0.0, "the same again"

    stream = client.chat.completions.create(
        model=models[0], messages=SAID, stream=True, stream_options={"include_usage": True}, **SHORT)
    chunks = list(stream)
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    # what is remembered is sent again, and the model decides alike
    assert text == answer.choices[0].message.content, "streamed and whole differ"
    assert chunks[-1].usage.completion_tokens > 1
    done = client.completions.create(model=models[0], prompt="Once upon a time", **SHORT)
    assert done.choices[0].text
    return models[0]


def with_anthropic(base, model):
    client = anthropic.Anthropic(base_url=base, api_key="k", max_retries=0)
    answer = client.messages.create(model=model, max_tokens=24, messages=SAID)
    assert answer.content[0].text and answer.usage.output_tokens > 1
    with client.messages.stream(model=model, max_tokens=24, messages=SAID) as stream:
        assert "".join(stream.text_stream)


def with_litellm(base, model):
    to = {"model": "openai/" + model, "api_base": base + "/v1", "api_key": "k", "messages": SAID, **SHORT}
    assert litellm.completion(**to).choices[0].message.content
    assert "".join(chunk.choices[0].delta.content or "" for chunk in litellm.completion(**to, stream=True))


def with_curl(base, model):
    def curl(route, body, *flags):
        command = ["curl", "--silent", "--show-error", "--fail", base + route, *flags]
        headers = ["--header", "content-type: application/json", "--header", "authorization: Bearer k"]
        return subprocess.run([*command, *headers, "--data", json.dumps(body)], check=True,
                              capture_output=True, text=True).stdout

    body = {"model": model, "messages": SAID, **SHORT}
    assert json.loads(curl("/v1/chat/completions", body))["choices"][0]["message"]["content"]
    streamed = curl("/v1/chat/completions", {**body, "stream": True}, "--no-buffer")
    assert streamed.rstrip().endswith("data: [DONE]")
    release = json.loads(curl("/perturb", {"text": SAID[0]["content"]}))
    assert release["text"]


def denoised(cape, upstream, model):
    """Answers rewritten by the model on this machine, which sees the true prompt."""
    with serve(cape, "--upstream", upstream, "--extractor-url", upstream, "--extractor-model", model) as (base, _):
        client = openai.OpenAI(base_url=base + "/v1", api_key="k", max_retries=0)
        answer = client.chat.completions.create(model=model, messages=SAID, **SHORT)
        assert answer.choices[0].message.content
        stream = client.chat.completions.create(model=model, messages=SAID, stream=True, **SHORT)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)


def main():
    cape, upstream = sys.argv[1:]
    with serve(cape, "--upstream", upstream) as (base, log):
        model = with_openai(base)
        print("ok with_openai")
        for check in [with_anthropic, with_litellm, with_curl]:
            check(base, model)
            print("ok", check.__name__)
    assert log and "asthma" not in "".join(log).lower()
    denoised(cape, upstream, model)
    print("ok denoised")


if __name__ == "__main__":
    main()
