"""A hook for LlamaIndex: its OpenAI model behind a proxy in this process.

    from cape_dp.llama_index import openai

    llm = openai(model="gpt-4o-mini", policy={"system": "perturb"})
"""

from __future__ import annotations

from typing import Any

from llama_index.llms.openai import OpenAI

from .openai import openai_proxy

__all__ = ["openai"]


def openai(**options: Any) -> OpenAI:
    """`llama_index.llms.openai.OpenAI` behind a proxy: `api_base` is the service's address.

    Takes the settings of `cape_dp.Proxy`, too, or a `proxy` to share.
    """
    if "api_base" in options:
        options["base_url"] = options.pop("api_base")
    proxy = openai_proxy(options)
    return OpenAI(
        api_base=proxy.base_url,
        http_client=proxy.http_client(),
        async_http_client=proxy.async_http_client(),
        **options,
    )
