import anthropic
from anthropic import beta_tool
from checks import EMPTY_KEY, FAULTY_KEY, FAULTY_URL, HELLO, KEY, URL, WEATHER, check, finish, raised, usage
from pydantic import BaseModel

# The base URL has no /v1.
client = anthropic.Anthropic(base_url=URL, api_key=KEY)
faulty = anthropic.Anthropic(base_url=FAULTY_URL, api_key=FAULTY_KEY, max_retries=0)
ROOM = {"model": "auto", "max_tokens": 500}
TOOL = {
    "name": "weather",
    "description": "The weather of a city",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


class City(BaseModel):
    name: str
    inhabitants: int


def seen(answer, platform=None):
    return usage(answer.usage.input_tokens, answer.usage.output_tokens, platform or answer.platform)


@check("messages")
def messages():
    raw = client.messages.with_raw_response.create(**ROOM, messages=HELLO)
    answer = raw.parse()
    assert "simulated" in answer.content[0].text
    assert float(raw.headers["x-signalbox-credits"]) == answer.platform["credits_consumed"]
    return [seen(answer)]


@check("stream with usage")
def stream():
    with client.messages.stream(**ROOM, messages=HELLO) as helper:
        events = list(helper)
        final = helper.get_final_message()
    assert "simulated" in final.content[0].text
    # The helper's final message has no `platform`: its raw event has it.
    platform = next(event.platform for event in events if event.type == "message_delta")
    return [seen(final, platform)]


@check("tool loop")
def tools():
    first = client.messages.create(**ROOM, messages=WEATHER, tools=[TOOL])
    call = next(block for block in first.content if block.type == "tool_use")
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "12 °C"}
    turns = [*WEATHER, {"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
    second = client.messages.create(**ROOM, messages=turns, tools=[TOOL])
    assert "12 °C" in second.content[0].text
    return [seen(first), seen(second)]


@check("tool runner")
def runner():
    @beta_tool
    def weather(city: str) -> str:
        """The weather of a city."""
        return "12 °C"

    answers = list(client.beta.messages.tool_runner(**ROOM, tools=[weather], messages=WEATHER))
    assert "12 °C" in answers[-1].content[0].text
    return [seen(answer) for answer in answers]


@check("structured output")
def structured():
    answer = client.messages.parse(**ROOM, messages=HELLO, output_format=City)
    assert isinstance(answer.parsed_output, City)
    return [seen(answer)]


@check("count_tokens")
def count():
    assert client.messages.count_tokens(model="auto", messages=HELLO).input_tokens > 0


@check("model list")
def models():
    assert {"auto", "sim-large"} <= {model.id for model in client.models.list()}


@check("errors")
def errors():
    def failing(kind, api_key, **more):
        other = anthropic.Anthropic(base_url=URL, api_key=api_key, max_retries=0)
        return raised(kind, lambda: other.messages.create(**{**ROOM, "messages": HELLO, **more}))

    failing(anthropic.AuthenticationError, "sb_live_wrong")
    failing(anthropic.NotFoundError, KEY, model="no-such-model")
    failing(anthropic.BadRequestError, KEY, messages=[])
    assert failing(anthropic.APIStatusError, EMPTY_KEY).status_code == 402

    def failing_upstream(kind, model):
        return raised(kind, lambda: faulty.messages.create(model=model, max_tokens=500, messages=HELLO))

    failing_upstream(anthropic.RateLimitError, "rate-limited")
    failing_upstream(anthropic.InternalServerError, "broken")
    failing_upstream(anthropic.BadRequestError, "too-long")


@check("cut stream")
def cut():
    texts = []

    def read():
        with faulty.messages.stream(model="cut", max_tokens=500, messages=HELLO) as helper:
            texts.extend(helper.text_stream)

    raised(anthropic.APIError, read)
    assert "".join(texts).startswith("One")


finish()
