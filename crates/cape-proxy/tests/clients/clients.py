"""Real clients against `cape serve` in front of an upstream that writes everything down.

    pip install -r requirements.txt
    python clients.py "$PWD/target/release/cape"
"""

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anthropic
import openai
from proxy import serve

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

# no vocabulary has it: no draw can fall on it
CANARY = "zq\U0001f0a1canary"
# on no list, either
NAMED = "Please write to Aliciana."
SEEN = []

MESSAGE = {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
           "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}


CALL = {"index": 0, "id": "call_of_upstream", "type": "function",
        "function": {"name": "weather", "arguments": '{"city": "Paris", "days": 3}'}}


def words(asked):
    """The answer in two pieces: to a letter, one about whomever it is to, by the name that was sent."""
    said = asked["messages"][-1]["content"] if "messages" in asked else asked.get("input", asked.get("prompt"))
    said = said if isinstance(said, str) else ""
    return ["Dear ", said.split()[-1]] if said.startswith("Please write to ") else ["hel", "lo"]


def chat(text, stream, call=False):
    said = {"role": "assistant", "content": None if call else text, **({"tool_calls": [CALL]} if call else {})}
    part = {"delta" if stream else "message": said}
    kind = "chat.completion.chunk" if stream else "chat.completion"
    choice = {"index": 0, "finish_reason": None if stream else "stop", **part}
    return {"id": "1", "object": kind, "created": 1, "model": "m", "choices": [choice]}


def calls(asked):
    """A tool that the request describes is called, until its result is there."""
    return "tools" in asked and all(message["role"] != "tool" for message in asked["messages"])


def events(path, asked):
    if path == "/v1/messages":
        block = {"type": "text", "text": ""}
        yield "message_start", {"type": "message_start", "message": {**MESSAGE, "content": []}}
        yield "content_block_start", {"type": "content_block_start", "index": 0, "content_block": block}
        for text in words(asked):
            delta = {"type": "text_delta", "text": text}
            yield "content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta}
        yield "content_block_stop", {"type": "content_block_stop", "index": 0}
        yield "message_stop", {"type": "message_stop"}
    elif path == "/v1/responses":
        place = {"item_id": "i", "output_index": 0, "content_index": 0}
        whole = "".join(words(asked))
        part = {"type": "output_text", "text": whole, "annotations": []}
        item = {"type": "message", "id": "i", "role": "assistant", "status": "completed", "content": [part]}
        response = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "output": [],
                    "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        empty = {"type": "output_text", "text": "", "annotations": []}
        data = [{"type": "response.created", "response": response},
                {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
                {"type": "response.content_part.added", **place, "part": empty}]
        data += [{"type": "response.output_text.delta", **place, "delta": text} for text in words(asked)]
        data += [{"type": "response.output_text.done", **place, "text": whole},
                 {"type": "response.content_part.done", **place, "part": part},
                 {"type": "response.output_item.done", "output_index": 0, "item": item},
                 {"type": "response.completed", "response": {**response, "output": [item]}}]
        for number, event in enumerate(data):
            yield event["type"], {**event, "sequence_number": number}
    else:
        for text in ["call"] if calls(asked) else words(asked):
            yield None, chat(text, True, calls(asked))
        yield None, "[DONE]"


class Upstream(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        SEEN.append(self.requestline + str(self.headers))
        model = {"id": "m", "object": "model", "type": "model", "created": 1, "owned_by": "x", "display_name": "m",
                 "created_at": "2025-01-01T00:00:00Z"}
        self.reply(model if self.path.endswith("/m") else {"object": "list", "data": [model]})

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        SEEN.append(self.requestline + str(self.headers) + body)
        asked = json.loads(body)
        if asked.get("stream"):
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            for name, data in events(self.path, asked):
                data = data if isinstance(data, str) else json.dumps(data)
                head = f"event: {name}\n" if name else ""
                self.wfile.write(f"{head}data: {data}\n\n".encode())
        elif self.path == "/v1/embeddings":
            self.reply({"object": "list", "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1},
                        "data": [{"object": "embedding", "index": 0, "embedding": [0.5, 0.25]}]})
        elif self.path == "/v1/messages/count_tokens":
            self.reply({"input_tokens": 7})
        elif self.path == "/v1/messages":
            self.reply({**MESSAGE, "content": [{"type": "text", "text": "".join(words(asked))}]})
        elif self.path == "/v1/responses":
            part = {"type": "output_text", "text": "".join(words(asked)), "annotations": []}
            item = {"type": "message", "id": "i", "role": "assistant", "status": "completed", "content": [part]}
            self.reply({"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "output": [item],
                        "parallel_tool_calls": True, "tool_choice": "auto", "tools": []})
        elif self.path == "/v1/completions":
            choice = {"index": 0, "text": "hello", "finish_reason": "stop", "logprobs": None}
            self.reply({"id": "1", "object": "text_completion", "created": 1, "model": "m", "choices": [choice]})
        else:
            self.reply(chat("".join(words(asked)), False, calls(asked)))

    def reply(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


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
