"""A chat service that thinks for a while, and says in its answer for how long it did.

    python upstream.py PORT SECONDS

It thinks between half and one and a half times as long, so that its clients do not come all at once.
"""

import asyncio
import json
import random
import sys
import time

ANSWER = {"object": "chat.completion", "created": 1, "model": "m",
          "choices": [{"index": 0, "message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}]}


async def serve(reader, writer, seconds):
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            begun = time.perf_counter()
            lines = head.decode("latin-1").lower().split("\r\n")
            length = next(line for line in lines if line.startswith("content-length:"))
            await reader.readexactly(int(length.split(":")[1]))
            await asyncio.sleep(seconds * random.uniform(0.5, 1.5))
            body = json.dumps({"id": f"thought {time.perf_counter() - begun:.6f}", **ANSWER})
            head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
            writer.write((head + body).encode())
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main():
    port, seconds = int(sys.argv[1]), float(sys.argv[2])
    server = await asyncio.start_server(lambda r, w: serve(r, w, seconds), "127.0.0.1", port)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
