"""The proxy inside of this process: what drop-in clients talk to."""

from __future__ import annotations

import importlib
import json
import os
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _cape_dp
from ._cape_dp import Cape, Ledger
from ._errors import ProxyError

if TYPE_CHECKING:
    from ._cape_dp import Wanted

HOST = "http://cape.invalid"
"""A host that no network has: without the proxy's socket a request goes nowhere."""


class Proxy:
    """Perturbs requests to an LLM service on their way, and puts names back into the answers.

    It is the proxy of `cape serve` with the same policy and the same ledger, on a socket in a folder that only this
    user can open. It fails closed: what it does not know it refuses.

    upstream: the service's address, with its version: https://api.openai.com/v1.
    cape: the mechanism; the default one if None.
    ledger: what pays; the user's own if None, which `cape serve` uses, too.
    policy: changes to the policy, as [proxy.policy] of cape.toml has them: {"system": "perturb"}.
    restore: which words are put back into answers: any of persons, identifiers, other-names, values.
    notice: tell the service, in the system prompt, that some details are substitutes.
    memory: how long a word becomes the same: "account", "conversation" or "none" (one request).
    plain_http: allow plain http to an upstream on another machine.
    timeout: seconds that the service may take to begin an answer.
    max_body: the largest body of a request, in bytes.
    """

    def __init__(
        self,
        upstream: str,
        *,
        cape: Cape | None = None,
        ledger: Ledger | None = None,
        policy: Mapping[str, Any] | None = None,
        restore: Sequence[Wanted] | None = None,
        notice: bool = False,
        memory: str = "account",
        plain_http: bool = False,
        timeout: int = 120,
        max_body: int = 256 * 1024,
    ) -> None:
        if not hasattr(_cape_dp, "_Server"):
            raise ProxyError("this system has no Unix sockets: run `cape serve`, and give clients its address")
        folder = tempfile.TemporaryDirectory(prefix="cape-")
        self._socket = os.path.join(folder.name, "proxy")
        self._server = _cape_dp._Server(
            self._socket,
            upstream,
            Cape() if cape is None else cape,
            Ledger() if ledger is None else ledger,
            policy=json.dumps(dict(policy or {})),
            restore=None if restore is None else list(restore),
            notice=notice,
            memory=memory,
            plain_http=plain_http,
            timeout=timeout,
            max_body=max_body,
        )
        self._end = weakref.finalize(self, _end, self._server, folder)

    @property
    def base_url(self) -> str:
        """The base URL for clients, which the socket alone can reach."""
        return f"{HOST}/v1"

    def http_client(self, kind: Any = None, **options: Any) -> Any:
        """A client that reaches this proxy and nothing else: an `httpx.Client`, or of a class of httpx or httpx2."""
        kind = kind or _httpx("httpx").Client
        return self._client(kind, _library(kind).HTTPTransport, options)

    def async_http_client(self, kind: Any = None, **options: Any) -> Any:
        """The same for asyncio."""
        kind = kind or _httpx("httpx").AsyncClient
        return self._client(kind, _library(kind).AsyncHTTPTransport, options)

    def _client(self, kind: Any, transport: Any, options: dict[str, Any]) -> Any:
        # with HTTP_PROXY in the environment, httpx would send the true prompts there and not to the socket
        client = kind(transport=transport(uds=self._socket), trust_env=False, **options)
        # the proxy lives as long as its clients
        client.cape_proxy = self
        return client

    def close(self) -> None:
        """Ends it; requests that have begun are finished."""
        self._end()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _end(server: _cape_dp._Server, folder: tempfile.TemporaryDirectory[str]) -> None:
    server.close()
    folder.cleanup()


def _httpx(name: str) -> Any:
    return importlib.import_module(name)


def _library(kind: type) -> Any:
    """The library that a class of clients is of: some clients of services have moved from httpx to httpx2."""
    names = (base.__module__.partition(".")[0] for base in kind.__mro__)
    return _httpx(next(name for name in names if name in ("httpx", "httpx2")))


def proxy_of(client: object) -> Proxy | None:
    """The proxy that a client reaches, if it is one of ours."""
    proxy = getattr(client, "cape_proxy", None)
    return proxy if isinstance(proxy, Proxy) else None
