"""Hooks for LangChain: OpenAI's chat models behind a proxy in this process, and a middleware for agents on any model.

    from cape_dp.langchain import CapeMiddleware, chat_openai

    model = chat_openai(model="gpt-4o-mini", policy={"system": "perturb"})
    agent = create_agent("anthropic:claude-sonnet-4-5", tools, middleware=[CapeMiddleware(tools="pass")])
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from ._cape_dp import Account, Cape, Release, Secret
from ._errors import TextError
from .openai import openai_proxy

if TYPE_CHECKING:
    from langchain_openai import ChatOpenAI

    from ._cape_dp import Wanted

__all__ = ["CapeMiddleware", "chat_openai"]


def chat_openai(**options: Any) -> ChatOpenAI:
    """`langchain_openai.ChatOpenAI` behind a proxy: `base_url` is the service's address.

    Takes the settings of `cape_dp.Proxy`, too, or a `proxy` to share.
    """
    from langchain_openai import ChatOpenAI

    proxy = openai_proxy(options)
    return ChatOpenAI(
        base_url=proxy.base_url,
        http_client=proxy.http_client(),
        http_async_client=proxy.async_http_client(),
        **options,
    )


MARK = "cape"
"""Where an answer keeps the words in which the service gave it: these go back to it."""


class CapeMiddleware(AgentMiddleware):
    """Perturbs what an agent sends to its model, whichever that is, and puts names back into the answers.

    Messages of users and results of tools are perturbed; the model's own answers and calls go back to it as it gave
    them. What is no text is refused. Arguments of tool calls stay as the model wrote them.

    system: what becomes of the system prompt; tools: whether descriptions of tools are sent.
    secret, account: where words are drawn from: a map that lasts as long as this object without them.
    """

    def __init__(
        self,
        cape: Cape | None = None,
        *,
        secret: Secret | None = None,
        account: Account | None = None,
        system: Literal["perturb", "pass", "block"] = "block",
        tools: Literal["pass", "block"] = "block",
        restore: Sequence[Wanted] | None = None,
    ) -> None:
        super().__init__()
        self._cape = Cape() if cape is None else cape
        # what tools and models said may be known to the service, which could read the user's map off it
        self._drawn_from: dict[str, Any] = {"secret": secret or Secret()}
        self._known_from: dict[str, Any] = {"secret": Secret()}
        if account is not None:
            self._drawn_from, self._known_from = {"account": account}, {"account": account.known()}
        self._system, self._passes_tools, self._restore = system, tools == "pass", restore

    def wrap_model_call(self, request: Any, handler: Callable[[Any], ModelResponse]) -> ModelResponse:
        """Sends the perturbed messages, and restores the answer."""
        sent, said = self._perturbed(request)
        return self._restored(handler(sent), said)

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[ModelResponse]]) -> ModelResponse:
        """The same, awaited."""
        sent, said = self._perturbed(request)
        return self._restored(await handler(sent), said)

    def _perturbed(self, request: ModelRequest) -> tuple[ModelRequest, list[Release | str]]:
        """The request as it is sent, and what was said in it, for the way back."""
        if (request.tools or request.response_format) and not self._passes_tools:
            raise TextError('descriptions of tools and answers are refused: CapeMiddleware(tools="pass") sends them')
        system = request.system_message
        if system is not None and self._system == "block":
            raise TextError('system prompts are refused: CapeMiddleware(system="perturb"), or "pass"')
        messages = list(request.messages)
        if system is not None and self._system == "perturb":
            messages.insert(0, system)
        drawn: list[tuple[bool, str]] = []
        for message in messages:
            if _own_words(message) is None:
                drawn.append((isinstance(message, (HumanMessage, SystemMessage)), _text(message)))
        of_users = iter(self._cape.perturb([text for is_users, text in drawn if is_users], **self._drawn_from))
        of_others = iter(self._cape.perturb([text for is_users, text in drawn if not is_users], **self._known_from))
        releases = iter([next(of_users if is_users else of_others) for is_users, _ in drawn])
        said: list[Release | str] = []
        sent: list[Any] = []
        for message in messages:
            own = _own_words(message)
            if own is None:
                release = next(releases)
                said.append(release)
                sent.append(_with_text(message, release.text))
            else:
                said.append(own)
                sent.append(AIMessage(own, tool_calls=getattr(message, "tool_calls", [])))
        if system is not None and self._system == "perturb":
            return request.override(system_message=sent[0], messages=sent[1:]), said
        return request.override(messages=sent), said

    def _restored(self, response: ModelResponse, said: list[Release | str]) -> ModelResponse:
        for message in response.result:
            if isinstance(message, AIMessage) and isinstance(message.content, str):
                own = message.content
                message.content = self._cape.restore(own, said, wanted=self._restore)
                calls = list(message.tool_calls)
                message.response_metadata[MARK] = {"own": own, "restored": message.content, "calls": calls}
        return response


def _own_words(message: BaseMessage) -> str | None:
    """The words in which the service gave an answer, if it did, and nobody changed it since."""
    if not isinstance(message, AIMessage) or MARK not in message.response_metadata:
        return None
    mark = message.response_metadata[MARK]
    unchanged = (mark["restored"], mark["calls"]) == (message.content, message.tool_calls)
    return str(mark["own"]) if unchanged else None


def _text(message: BaseMessage) -> str:
    """The text of a message that must be perturbed."""
    if isinstance(message, AIMessage) and message.tool_calls:
        raise TextError("a call of a tool did not come through this middleware: it may hold private words")
    content = message.content
    if isinstance(content, str):
        return content
    parts = [part if isinstance(part, str) else part.get("text") for part in content]
    if len(parts) != 1 or parts[0] is None:
        raise TextError("only text can be perturbed: a message has other content")
    return str(parts[0])


def _with_text(message: BaseMessage, text: str) -> BaseMessage:
    """A new message with this text, and nothing else of the old one."""
    if isinstance(message, ToolMessage):
        return ToolMessage(text, tool_call_id=message.tool_call_id)
    for kind in (HumanMessage, SystemMessage, AIMessage):
        if isinstance(message, kind):
            return kind(text)
    raise TextError("a message is of a kind that is not known")
