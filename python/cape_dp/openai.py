"""Drop-ins for OpenAI's clients: prompts are perturbed before they are sent, and names put back in answers.

    from cape_dp.openai import OpenAI

    client = OpenAI()

They take what the originals take but for `http_client`, and the settings of `cape_dp.Proxy`: `cape`, `ledger`,
`policy`, `restore`, `notice`, `memory`, `plain_http`; or a `proxy` to share.
"""

from __future__ import annotations

import os
from typing import Any

import openai

from ._clients import proxy_for
from ._proxy import Proxy

__all__ = ["AsyncOpenAI", "OpenAI"]


def openai_proxy(options: dict[str, Any]) -> Proxy:
    """The proxy of a client of OpenAI with these options."""
    return proxy_for(options, os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1")


class OpenAI(openai.OpenAI):
    """`openai.OpenAI` behind a proxy in this process."""

    def __init__(self, **options: Any) -> None:
        proxy = openai_proxy(options)
        client = proxy.http_client(openai.DefaultHttpxClient)
        super().__init__(base_url=proxy.base_url, http_client=client, **options)


class AsyncOpenAI(openai.AsyncOpenAI):
    """`openai.AsyncOpenAI` behind a proxy in this process."""

    def __init__(self, **options: Any) -> None:
        proxy = openai_proxy(options)
        client = proxy.async_http_client(openai.DefaultAsyncHttpxClient)
        super().__init__(base_url=proxy.base_url, http_client=client, **options)
