"""What the drop-in clients share."""

from __future__ import annotations

from typing import Any

from ._errors import SettingError
from ._proxy import HOST, Proxy, proxy_of

SETTINGS = ("cape", "ledger", "policy", "restore", "notice", "memory", "plain_http")


def proxy_for(options: dict[str, Any], upstream: str) -> Proxy:
    """The proxy that a client was given, or a new one: takes its settings out of the client's options.

    The service's address is the client's `base_url`, or else `upstream`.
    """
    settings = {name: options.pop(name) for name in SETTINGS if name in options}
    proxy, client, base_url = (options.pop(name, None) for name in ("proxy", "http_client", "base_url"))
    if client is not None:
        # clients copy themselves with their own http_client
        proxy = proxy_of(client)
        if proxy is None:
            raise SettingError("http_client would pass the proxy by: give `proxy` in its place")
    if proxy is None:
        return Proxy(str(base_url or upstream), **settings)
    if base_url is not None and not str(base_url).startswith(HOST):
        raise SettingError("base_url is the upstream of the proxy: give it to Proxy(…)")
    if settings:
        raise SettingError(f"{next(iter(settings))} is a setting of the proxy: give it to Proxy(…)")
    assert isinstance(proxy, Proxy)
    return proxy

