"""The drop-in clients against a service that writes down all that it gets: the real libraries, and no canary."""

import asyncio
import gc
import os
import stat

import anthropic
import httpx
import openai
import pytest
from upstream import CANARY, NAMED, SEEN, upstream

import cape_dp
from cape_dp import Cape, Ledger, Proxy
from cape_dp.anthropic import Anthropic, AsyncAnthropic
from cape_dp.openai import AsyncOpenAI, OpenAI

SAID = [{"role": "user", "content": CANARY}]


@pytest.fixture(scope="module")
def service():
    with upstream() as address:
        yield address
    assert SEEN and "canary" not in "".join(SEEN).lower() and "aliciana" not in "".join(SEEN).lower()


@pytest.fixture
def ledger(tmp_path):
    return Ledger(str(tmp_path / "ledger.db"), str(tmp_path / "ledger.key"))


def test_openai(service, ledger):
    client = OpenAI(base_url=f"{service}/v1", api_key="k", max_retries=0, ledger=ledger)
    answer = client.chat.completions.create(model="m", messages=SAID)
    assert answer.choices[0].message.content == "hello"
    stream = client.chat.completions.create(model="m", messages=SAID, stream=True)
    assert "".join(chunk.choices[0].delta.content for chunk in stream) == "hello"
    assert client.responses.create(model="m", input=CANARY).output_text == "hello"
    assert client.embeddings.create(model="m", input=[CANARY]).data[0].embedding == [0.5, 0.25]
    # the ledger of this process is that of the proxy
    assert ledger.spending()[0].draws == 1
    # copies are behind the same proxy
    raw = client.with_options(timeout=5).chat.completions.with_raw_response.create(model="m", messages=SAID)
    assert raw.headers["x-cape-epsilon"] == "0"
    sent = len(SEEN)
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model="m", messages=[{"role": "system", "content": CANARY}, *SAID])
    assert refused.value.code == "cape_blocked" and len(SEEN) == sent


def test_openai_awaited(service, ledger):
    async def ask():
        client = AsyncOpenAI(base_url=f"{service}/v1", api_key="k", max_retries=0, ledger=ledger)
        stream = await client.chat.completions.create(model="m", messages=SAID, stream=True)
        return "".join([chunk.choices[0].delta.content async for chunk in stream])

    assert asyncio.run(ask()) == "hello"


def test_anthropic(service, ledger):
    client = Anthropic(base_url=service, api_key="k", max_retries=0, ledger=ledger)
    assert client.messages.create(model="m", max_tokens=9, messages=SAID).content[0].text == "hello"
    with client.messages.stream(model="m", max_tokens=9, messages=SAID) as stream:
        assert "".join(stream.text_stream) == "hello"
    assert client.copy().messages.count_tokens(model="m", messages=SAID).input_tokens == 7
    with pytest.raises(anthropic.BadRequestError):
        client.messages.create(model="m", max_tokens=9, messages=SAID, system=CANARY)

    async def ask():
        client = AsyncAnthropic(base_url=service, api_key="k", max_retries=0, ledger=ledger)
        return await client.messages.create(model="m", max_tokens=9, messages=SAID)

    assert asyncio.run(ask()).content[0].text == "hello"


def test_names_come_back_whole_and_streamed(service, ledger):
    said = [{"role": "user", "content": NAMED}]
    for key in map(str, range(40)):
        client = OpenAI(base_url=f"{service}/v1", api_key=key, max_retries=0, ledger=ledger)
        raw = client.chat.completions.with_raw_response.create(model="m", messages=said)
        # some draws are no names, and stay as they are
        if raw.headers["x-cape-restored"] == "1":
            break
    assert raw.parse().choices[0].message.content == "Dear Aliciana."
    stream = client.chat.completions.create(model="m", messages=said, stream=True)
    assert "".join(chunk.choices[0].delta.content for chunk in stream) == "Dear Aliciana."
    # a notebook with the same account has the same map
    word = Cape().perturb(NAMED, account=ledger.account(key)).words[-1].released
    assert f"Please write to {word}." in SEEN[-1]


def test_nothing_passes_the_proxy_by(service, ledger, monkeypatch):
    """Neither the environment nor another client leads around the socket, which is nobody else's."""
    with upstream() as elsewhere:
        monkeypatch.setenv("HTTP_PROXY", elsewhere)
        monkeypatch.setenv("ALL_PROXY", elsewhere)
        with Proxy(f"{service}/v1", ledger=ledger) as proxy:
            client = OpenAI(proxy=proxy, api_key="k", max_retries=0)
            assert client.chat.completions.create(model="m", messages=SAID).choices
            folder = os.path.dirname(proxy._socket)
            assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
            for wrong in ({"http_client": httpx.Client()}, {"proxy": proxy, "base_url": service}):
                with pytest.raises(cape_dp.SettingError):
                    OpenAI(api_key="k", **wrong)
            with pytest.raises(cape_dp.SettingError):
                OpenAI(api_key="k", proxy=proxy, cape=Cape())
        # once it is closed there is no way at all
        with pytest.raises(openai.APIConnectionError):
            client.chat.completions.create(model="m", messages=SAID)
        assert not os.path.exists(folder)
    client = OpenAI(base_url=f"{service}/v1", api_key="k", ledger=ledger)
    folder = os.path.dirname(client._client.cape_proxy._socket)
    del client
    gc.collect()
    assert not os.path.exists(folder)


def test_settings_are_checked_at_the_start(ledger):
    for settings, error in [
        ({"upstream": "http://example.com/v1"}, cape_dp.ProxyError),
        ({"upstream": "ftp://example.com"}, cape_dp.ProxyError),
        ({"policy": {"sytem": "pass"}}, cape_dp.SettingError),
        ({"memory": "long"}, cape_dp.SettingError),
        ({"restore": ["people"]}, cape_dp.SettingError),
    ]:
        with pytest.raises(error):
            Proxy(**{"upstream": "https://example.com/v1", "ledger": ledger, **settings})


def test_a_limit_of_the_ledger_is_the_proxys(service, tmp_path):
    ledger = Ledger(str(tmp_path / "l.db"), str(tmp_path / "l.key"), limit_total=30.0)
    client = OpenAI(base_url=f"{service}/v1", api_key="k", max_retries=0, ledger=ledger)
    with pytest.raises(openai.RateLimitError):
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Zoltan met Krzysztof"}])


FRAMEWORKS = {"system": "perturb", "tools": "pass"}


def test_langchain(service, ledger):
    from langchain_core.messages import HumanMessage, SystemMessage

    from cape_dp.langchain import chat_openai

    model = chat_openai(
        model="m", base_url=f"{service}/v1", api_key="k", max_retries=0, ledger=ledger, policy=FRAMEWORKS
    )
    said = [SystemMessage(CANARY), HumanMessage(CANARY)]
    assert model.invoke(said).content == "hello"
    assert "".join(chunk.content for chunk in model.stream(said)) == "hello"
    assert asyncio.run(model.ainvoke(said)).content == "hello"

    def weather(city: str, days: int) -> str:
        """The weather of a city."""

    assert model.bind_tools([weather]).invoke(said).tool_calls[0]["args"] == {"city": "Paris", "days": 3}


def test_llama_index(service, ledger):
    from llama_index.core.llms import ChatMessage, MessageRole

    from cape_dp.llama_index import openai as llama_openai

    # it knows the sizes of known models alone
    model = llama_openai(
        model="gpt-4o-mini", api_base=f"{service}/v1", api_key="k", max_retries=0, ledger=ledger, policy=FRAMEWORKS
    )
    said = [ChatMessage(role=role, content=CANARY) for role in (MessageRole.SYSTEM, MessageRole.USER)]
    assert model.chat(said).message.content == "hello"
    assert "".join(chunk.delta or "" for chunk in model.stream_chat(said)) == "hello"
    assert asyncio.run(model.achat(said)).message.content == "hello"




def test_langchain_middleware():
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, HumanMessage

    from cape_dp import Secret
    from cape_dp.langchain import CapeMiddleware

    seen = []

    class Model(GenericFakeChatModel):
        def bind_tools(self, tools, **_):
            return self

        def _generate(self, messages, *args, **kwargs):
            seen.append(messages)
            return super()._generate(messages, *args, **kwargs)

    secret = Secret.seeded(1)
    sent = Cape().perturb("Please write to Alice.", secret=secret).words[3].released
    assert sent != "Alice"
    found = []

    def address(name: str) -> str:
        """The address of a person."""
        found.append(name)
        return f"{CANARY} lives in Ghent"

    call = {"name": "address", "args": {"name": sent}, "id": "call_1", "type": "tool_call"}
    script = [AIMessage("", tool_calls=[call]), AIMessage(f"Dear {sent}, hello."), AIMessage(f"Bye, {sent}.")]
    middleware = CapeMiddleware(secret=secret, tools="pass", system="perturb")
    agent = create_agent(Model(messages=iter(script)), [address], system_prompt=CANARY, middleware=[middleware])
    state = agent.invoke({"messages": [HumanMessage("Please write to Alice.", name="Alice")]})
    assert state["messages"][-1].content == "Dear Alice, hello." and found == [sent]
    state = agent.invoke({"messages": [*state["messages"], HumanMessage("And say bye to Alice.")]})
    assert state["messages"][-1].content == "Bye, Alice."
    # the model got its own words back, and no others of the user's
    assert [message.content for message in seen[-1]][-2] == f"Dear {sent}, hello."
    said = repr(seen).lower()
    assert "alice" not in said and "canary" not in said
    strict = create_agent(Model(messages=iter(script)), [address], middleware=[CapeMiddleware()])
    with pytest.raises(cape_dp.TextError):
        strict.invoke({"messages": [HumanMessage("Hello")]})
