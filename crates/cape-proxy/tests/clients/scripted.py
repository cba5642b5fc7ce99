"""An LLM service that follows a script, and writes down every byte that reaches it."""

import json
from http.server import BaseHTTPRequestHandler

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
