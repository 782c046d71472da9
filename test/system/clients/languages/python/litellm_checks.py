import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # no download

import litellm  # noqa: E402
from checks import EMPTY_KEY, FAULTY_KEY, FAULTY_URL, HELLO, KEY, URL, WEATHER, check, finish, raised, usage  # noqa: E402
from pydantic import BaseModel  # noqa: E402

OPENAI = {"model": "openai/auto", "api_base": f"{URL}/v1", "api_key": KEY}
PROXY = {"model": "litellm_proxy/auto", "api_base": f"{URL}/v1", "api_key": KEY}
ANTHROPIC = {"model": "anthropic/auto", "api_base": URL, "api_key": KEY}
TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


litellm.suppress_debug_info = True


class City(BaseModel):
    name: str
    inhabitants: int


def seen(answer):
    return usage(answer.usage.prompt_tokens, answer.usage.completion_tokens)


for name, options in (("openai/", OPENAI), ("litellm_proxy/", PROXY), ("anthropic/", {**ANTHROPIC, "max_tokens": 500})):

    @check(f"{name}: chat, stream with usage, tool loop")
    def chat():
        plain = litellm.completion(**options, messages=HELLO)
        assert "simulated" in plain.choices[0].message.content
        chunks = list(
            litellm.completion(**options, messages=HELLO, stream=True, stream_options={"include_usage": True})
        )
        whole = litellm.stream_chunk_builder(chunks)
        assert "simulated" in whole.choices[0].message.content
        first = litellm.completion(**options, messages=WEATHER, tools=[TOOL])
        call = first.choices[0].message.tool_calls[0]
        result = {"role": "tool", "tool_call_id": call.id, "content": "12 °C"}
        turns = [*WEATHER, first.choices[0].message.model_dump(exclude_none=True), result]
        second = litellm.completion(**options, messages=turns, tools=[TOOL])
        assert "12 °C" in second.choices[0].message.content
        return [seen(each) for each in (plain, whole, first, second)]


@check("structured output and own fields")
def structured():
    answer = litellm.completion(
        **OPENAI, messages=HELLO, response_format=City, extra_body={"budget_limit": 5}
    )
    assert City.model_validate_json(answer.choices[0].message.content)
    return [seen(answer)]


@check("Responses")
def responses():
    answer = litellm.responses(**OPENAI, input="Say hello.", store=False)
    return [usage(answer.usage.input_tokens, answer.usage.output_tokens)]


@check("embeddings")
def embeddings():
    answer = litellm.embedding(**{**OPENAI, "model": "openai/sim-embed"}, input=["one"], encoding_format="float")
    assert len(answer.data[0]["embedding"]) == 768
    return [usage(answer.usage.prompt_tokens, 0)]


@check("anthropic/ without max_tokens")
def no_max_tokens():
    return [seen(litellm.completion(**ANTHROPIC, messages=HELLO))]


@check("errors")
def errors():
    def failing(kind, **options):
        return raised(kind, lambda: litellm.completion(**{**OPENAI, "max_retries": 0, **options}, messages=HELLO))

    failing(litellm.AuthenticationError, api_key="sb_live_wrong")
    failing(litellm.NotFoundError, model="openai/no-such-model")
    assert failing(litellm.APIError, api_key=EMPTY_KEY).status_code == 402
    faulty = {"api_base": f"{FAULTY_URL}/v1", "api_key": FAULTY_KEY}
    failing(litellm.RateLimitError, **faulty, model="openai/rate-limited")
    failing(litellm.BadRequestError, **faulty, model="openai/too-long")
    raised(
        litellm.exceptions.MidStreamFallbackError,
        lambda: list(litellm.completion(**{**faulty, "model": "openai/cut"}, messages=HELLO, stream=True)),
    )


finish()
