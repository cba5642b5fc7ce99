"""Real clients against `cape serve` in front of an upstream that writes everything down.

    pip install -r requirements.txt
    python clients.py "$PWD/target/release/cape"
"""

import json
import os
import sys
import threading
from http.server import ThreadingHTTPServer

import anthropic
import openai
from proxy import serve
from scripted import CANARY, NAMED, SEEN, Upstream

# it would fetch a list of prices when it is loaded
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
# it would report what it does
os.environ["LANGSMITH_TRACING"] = "false"
import litellm  # noqa: E402
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage  # noqa: E402
from langchain_openai import ChatOpenAI  # noqa: E402
from llama_index.core.llms import ChatMessage, MessageRole  # noqa: E402
from llama_index.core.tools import FunctionTool  # noqa: E402
from llama_index.llms.openai import OpenAI as LlamaIndexOpenAI  # noqa: E402


def with_openai(base):
    client = openai.OpenAI(base_url=base + "/v1", api_key="k", max_retries=0)
    said = [{"role": "user", "content": CANARY}]
    answer = client.chat.completions.create(model="m", messages=said, temperature=0.5, user=CANARY)
    assert answer.choices[0].message.content == "hello"
    # the answer goes back as the library has it
    again = said + [answer.choices[0].message, {"role": "user", "content": [{"type": "text", "text": CANARY}]}]
    assert client.chat.completions.create(model="m", messages=again).choices
    stream = client.chat.completions.create(model="m", messages=said, stream=True)
    assert "".join(chunk.choices[0].delta.content for chunk in stream) == "hello"
    raw = client.chat.completions.with_raw_response.create(model="m", messages=said)
    # it was sent before, and costs nothing
    assert raw.headers["x-cape-epsilon"] == "0", raw.headers
    assert client.completions.create(model="m", prompt=CANARY).choices[0].text == "hello"
    assert client.embeddings.create(model="m", input=[CANARY]).data[0].embedding == [0.5, 0.25]
    assert client.responses.create(model="m", input=CANARY).output_text == "hello"
    assert client.models.list().data[0].id == "m" and client.models.retrieve("m").id == "m"
    # a base URL without its version, and with two
    for path in ["", "/v1/v1"]:
        other = openai.OpenAI(base_url=base + path, api_key="k", max_retries=0)
        assert other.chat.completions.create(model="m", messages=said).choices
    try:
        openai.OpenAI(base_url=base + "/api", api_key="k").chat.completions.create(model="m", messages=said)
    except openai.NotFoundError as error:
        assert "base URL" in error.message, error.message
    else:
        raise AssertionError("a wrong path was served")
    sent = len(SEEN)
    try:
        client.chat.completions.create(model="m", messages=[{"role": "system", "content": CANARY}] + said)
    except openai.BadRequestError as error:
        assert error.code == "cape_blocked", error.code
    else:
        raise AssertionError("a system prompt was sent")
    assert len(SEEN) == sent


def with_anthropic(base):
    client = anthropic.Anthropic(base_url=base, api_key="k", max_retries=0)
    said = [{"role": "user", "content": CANARY}]
    answer = client.messages.create(model="m", max_tokens=9, messages=said, metadata={"user_id": CANARY})
    assert answer.content[0].text == "hello"
    again = said + [{"role": "assistant", "content": answer.content}, *said]
    assert client.messages.create(model="m", max_tokens=9, messages=again).content
    assert client.messages.count_tokens(model="m", messages=said).input_tokens == 7
    assert client.models.retrieve("m").id == "m"
    other = anthropic.Anthropic(base_url=base + "/v1", api_key="k", max_retries=0)
    assert other.messages.create(model="m", max_tokens=9, messages=said).content
    try:
        anthropic.Anthropic(base_url=base + "/api", api_key="k").messages.create(model="m", max_tokens=9, messages=said)
    except anthropic.NotFoundError as error:
        assert "base URL" in error.message, error.message
    else:
        raise AssertionError("a wrong path was served")
    with client.messages.stream(model="m", max_tokens=9, messages=said) as stream:
        assert "".join(stream.text_stream) == "hello"
    sent = len(SEEN)
    try:
        client.messages.create(model="m", max_tokens=9, messages=said, system=CANARY)
    except anthropic.BadRequestError as error:
        assert "[proxy.policy]" in error.message
    else:
        raise AssertionError("a system prompt was sent")
    assert len(SEEN) == sent


def with_litellm(base):
    said = [{"role": "user", "content": CANARY}]
    to = {"model": "openai/m", "api_base": base + "/v1", "api_key": "k", "messages": said}
    assert litellm.completion(**to).choices[0].message.content == "hello"
    pieces = [chunk.choices[0].delta.content or "" for chunk in litellm.completion(**to, stream=True)]
    assert "".join(pieces) == "hello"


def with_names(base):
    """Each library reads an answer with the user's own name in it, whole and streamed."""
    said = [{"role": "user", "content": NAMED}]
    for key in map(str, range(40)):
        client = openai.OpenAI(base_url=base + "/v1", api_key=key, max_retries=0)
        raw = client.chat.completions.with_raw_response.create(model="m", messages=said)
        # some draws are no names, and stay as they are
        if raw.headers["x-cape-restored"] == "1":
            break
    dear = "Dear Aliciana."
    assert raw.parse().choices[0].message.content == dear
    stream = client.chat.completions.create(model="m", messages=said, stream=True)
    assert "".join(chunk.choices[0].delta.content for chunk in stream) == dear
    assert client.responses.create(model="m", input=NAMED).output_text == dear
    with client.responses.stream(model="m", input=NAMED) as stream:
        deltas = [event.delta for event in stream if event.type == "response.output_text.delta"]
        assert "".join(deltas) == dear and stream.get_final_response().output_text == dear
    claude = anthropic.Anthropic(base_url=base, api_key=key, max_retries=0)
    assert claude.messages.create(model="m", max_tokens=9, messages=said).content[0].text == dear
    with claude.messages.stream(model="m", max_tokens=9, messages=said) as stream:
        assert "".join(stream.text_stream) == dear
    to = {"model": "openai/m", "api_base": base + "/v1", "api_key": key, "messages": said}
    assert litellm.completion(**to).choices[0].message.content == dear
    pieces = [chunk.choices[0].delta.content or "" for chunk in litellm.completion(**to, stream=True)]
    assert "".join(pieces) == dear
    # the answer goes back in the words that it was given in
    again = [*said, {"role": "assistant", "content": dear}, *said]
    raw = client.chat.completions.with_raw_response.create(model="m", messages=again)
    assert raw.headers["x-cape-draws"] == "0", raw.headers
    sent = json.loads(SEEN[-1][SEEN[-1].index('{"'):])["messages"]
    assert sent[1]["content"] == "Dear " + sent[0]["content"].split()[-1]


def with_langchain(base):
    model = ChatOpenAI(model="m", base_url=base + "/v1", api_key="k", max_retries=0)
    said = [SystemMessage(CANARY), HumanMessage(CANARY)]
    assert model.invoke(said).content == "hello"
    assert "".join(chunk.content for chunk in model.stream(said)) == "hello"

    def weather(city: str, days: int) -> str:
        """The weather of a city."""

    tools = model.bind_tools([weather])
    call = tools.invoke(said)
    assert call.tool_calls[0]["args"] == {"city": "Paris", "days": 3}, call.tool_calls
    streamed = None
    for chunk in tools.stream(said):
        streamed = chunk if streamed is None else streamed + chunk
    assert streamed.tool_calls[0]["name"] == "weather", streamed
    result = ToolMessage(CANARY, tool_call_id=call.tool_calls[0]["id"])
    assert tools.invoke([*said, call, result]).content == "hello"


def with_llama_index(base):
    # it knows the sizes of known models alone
    model = LlamaIndexOpenAI(model="gpt-4o-mini", api_base=base + "/v1", api_key="k", max_retries=0)
    said = [ChatMessage(role=MessageRole.SYSTEM, content=CANARY), ChatMessage(role=MessageRole.USER, content=CANARY)]
    assert model.chat(said).message.content == "hello"
    assert "".join(chunk.delta or "" for chunk in model.stream_chat(said)) == "hello"

    def weather(city: str, days: int) -> str:
        """The weather of a city."""

    tools = [FunctionTool.from_defaults(weather)]
    answer = model.chat_with_tools(tools, chat_history=said)
    calls = model.get_tool_calls_from_response(answer)
    assert calls[0].tool_kwargs == {"city": "Paris", "days": 3}, calls
    streamed = list(model.stream_chat_with_tools(tools, chat_history=said))[-1]
    assert model.get_tool_calls_from_response(streamed)[0].tool_name == "weather"
    result = ChatMessage(role=MessageRole.TOOL, content=CANARY, additional_kwargs={"tool_call_id": calls[0].tool_id})
    assert model.chat_with_tools(tools, chat_history=[*said, answer.message, result]).message.content == "hello"


def check_calls():
    """Upstream's own calls went back to it as they were, and came from nowhere else."""
    bodies = [json.loads(seen[seen.index("\n\n") + 2:]) for seen in SEEN if "tool_call_id" in seen]
    for body in bodies:
        arguments = [call["function"]["arguments"] for said in body["messages"] for call in said.get("tool_calls", [])]
        assert [json.loads(text) for text in arguments] == [{"city": "Paris", "days": 3}], arguments
    assert len(bodies) == 2, len(bodies)


def main():
    upstream = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    threading.Thread(target=upstream.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{upstream.server_port}/v1"
    with serve(sys.argv[1], "--upstream", address) as (base, log):
        for check in [with_openai, with_anthropic, with_litellm, with_names]:
            check(base)
            print("ok", check.__name__)
    # frameworks send system prompts and tools
    with serve(sys.argv[1], "--preset", "openwebui", "--upstream", address) as (base, more):
        for check in [with_langchain, with_llama_index]:
            check(base)
            print("ok", check.__name__)
    check_calls()
    log += more
    assert SEEN and "canary" not in "".join(SEEN).lower() and "canary" not in "".join(log).lower()
    assert "aliciana" not in "".join(SEEN).lower() and "aliciana" not in "".join(log).lower()
    assert "stainless" not in "".join(SEEN).lower()
    print(f"ok {len(SEEN)} requests at upstream, {len(log)} lines of log, no canary")


if __name__ == "__main__":
    main()
