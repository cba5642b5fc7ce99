"""Drop-ins for Anthropic's clients: prompts are perturbed before they are sent, and names put back in answers.

    from cape_dp.anthropic import Anthropic

    client = Anthropic()

They take what the originals take but for `http_client`, and the settings of `cape_dp.Proxy`: `cape`, `ledger`,
`policy`, `restore`, `notice`, `memory`, `plain_http`; or a `proxy` to share.
"""

from __future__ import annotations

import os
from typing import Any

import anthropic

from ._clients import proxy_for
from ._proxy import HOST, Proxy

__all__ = ["Anthropic", "AsyncAnthropic"]


def anthropic_proxy(options: dict[str, Any]) -> Proxy:
    """The proxy of a client of Anthropic with these options: its addresses are without a version."""
    if base_url := options.get("base_url"):
        options["base_url"] = versioned(str(base_url))
    upstream = versioned(os.environ.get("ANTHROPIC_BASE_URL") or "https://api.anthropic.com")
    return proxy_for(options, upstream)


def versioned(address: str) -> str:
    address = address.rstrip("/")
    return address if address.endswith("/v1") else f"{address}/v1"


class Anthropic(anthropic.Anthropic):
    """`anthropic.Anthropic` behind a proxy in this process."""

    def __init__(self, **options: Any) -> None:
        proxy = anthropic_proxy(options)
        client = proxy.http_client(anthropic.DefaultHttpxClient)
        super().__init__(base_url=HOST, http_client=client, **options)


class AsyncAnthropic(anthropic.AsyncAnthropic):
    """`anthropic.AsyncAnthropic` behind a proxy in this process."""

    def __init__(self, **options: Any) -> None:
        proxy = anthropic_proxy(options)
        client = proxy.async_http_client(anthropic.DefaultAsyncHttpxClient)
        super().__init__(base_url=HOST, http_client=client, **options)
