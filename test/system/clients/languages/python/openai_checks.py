import asyncio
import json
import uuid

import openai
from checks import EMPTY_KEY, FAULTY_KEY, FAULTY_URL, HELLO, KEY, URL, WEATHER, check, finish, raised, usage
from pydantic import BaseModel

client = openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY)
faulty = openai.OpenAI(base_url=f"{FAULTY_URL}/v1", api_key=FAULTY_KEY, max_retries=0)

PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
TOOL = {"type": "function", "function": {"name": "weather", "description": "The weather of a city", "parameters": PARAMETERS}}


class City(BaseModel):
    name: str
    inhabitants: int


def seen(answer):
    return usage(answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.platform)


def seen_response(answer):
    return usage(answer.usage.input_tokens, answer.usage.output_tokens, answer.platform)


@check("chat")
def chat():
    answer = client.chat.completions.create(model="auto", messages=HELLO)
    assert "simulated" in answer.choices[0].message.content
    assert answer.platform["routed_model"] == answer.model and answer._request_id
    return [seen(answer)]


@check("async chat")
def async_chat():
    async def call():
        async with openai.AsyncOpenAI(base_url=f"{URL}/v1", api_key=KEY) as waiting:
            return await waiting.chat.completions.create(model="auto", messages=HELLO)

    return [seen(asyncio.run(call()))]


@check("stream with usage")
def stream():
    chunks = list(
        client.chat.completions.create(
            model="auto", messages=HELLO, stream=True, stream_options={"include_usage": True}
        )
    )
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert "simulated" in text and len(chunks) > 5
    # The chunk with the finish reason has `platform`, and the chunk after it has the usage.
    platform = next(chunk.platform for chunk in chunks if hasattr(chunk, "platform"))
    return [usage(chunks[-1].usage.prompt_tokens, chunks[-1].usage.completion_tokens, platform)]


@check("stream helper")
def stream_helper():
    with client.chat.completions.stream(
        model="auto", messages=HELLO, stream_options={"include_usage": True}
    ) as stream:
        events = list(stream)
        final = stream.get_final_completion()
    assert {"content.delta", "content.done"} <= {event.type for event in events}
    # The helper's final answer has no `platform`, but a chunk has it.
    chunks = [event.chunk for event in events if event.type == "chunk"]
    platform = next(chunk.platform for chunk in chunks if hasattr(chunk, "platform"))
    return [usage(final.usage.prompt_tokens, final.usage.completion_tokens, platform)]


@check("tool loop")
def tool_loop():
    first = client.chat.completions.create(model="auto", messages=WEATHER, tools=[TOOL])
    call = first.choices[0].message.tool_calls[0]
    assert first.choices[0].finish_reason == "tool_calls" and "city" in json.loads(call.function.arguments)
    messages = [*WEATHER, first.choices[0].message, {"role": "tool", "tool_call_id": call.id, "content": "12 °C"}]
    second = client.chat.completions.create(model="auto", messages=messages, tools=[TOOL])
    assert "12 °C" in second.choices[0].message.content
    return [seen(first), seen(second)]


@check("structured output")
def structured():
    answer = client.chat.completions.parse(model="auto", messages=HELLO, response_format=City)
    assert isinstance(answer.choices[0].message.parsed, City)
    plain = client.chat.completions.create(model="auto", messages=HELLO, response_format={"type": "json_object"})
    assert isinstance(json.loads(plain.choices[0].message.content), dict)
    return [seen(answer), seen(plain)]


@check("images and several choices")
def contents():
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + PNG}}
    parts = [{"type": "text", "text": "What is this?"}, picture]
    image = client.chat.completions.create(model="auto", messages=[{"role": "user", "content": parts}])
    two = client.chat.completions.create(model="auto", messages=HELLO, n=2)
    assert len(two.choices) == 2
    return [seen(image), seen(two)]


@check("own fields, platform and headers")
def own_fields():
    raw = client.chat.completions.with_raw_response.create(
        model="auto",
        messages=HELLO,
        extra_body={"route_strategy": {"cost_weight": 1}, "budget_limit": 5},
        extra_headers={"x-request-id": "python-checks"},
    )
    answer = raw.parse()
    assert float(raw.headers["x-signalbox-credits"]) == answer.platform["credits_consumed"]
    assert raw.headers["x-signalbox-model"] == answer.platform["routed_model"]
    assert raw.headers["x-signalbox-decision-id"] == answer.platform["decision_id"]
    return [seen(answer)]


@check("model list")
def models():
    ids = {model.id for model in client.models.list()}
    assert {"auto", "sim-large"} <= ids
    assert client.models.retrieve("sim-large").id == "sim-large"


@check("embeddings")
def embeddings():
    answer = client.embeddings.create(model="sim-embed", input=["one", "two"], dimensions=256)
    assert [len(item.embedding) for item in answer.data] == [256, 256]
    return [usage(answer.usage.prompt_tokens, 0, answer.platform)]


@check("Responses")
def responses():
    plain = client.responses.create(model="auto", input="Say hello.", store=False)
    assert "simulated" in plain.output_text
    with client.responses.stream(model="auto", input="Say hello.", store=False) as events:
        kinds = [event.type for event in events]
        streamed = events.get_final_response()
    assert kinds[0] == "response.created" and kinds[-1] == "response.completed"
    tool = {"type": "function", "name": "weather", "parameters": PARAMETERS, "strict": True}
    first = client.responses.create(model="auto", input="What is the weather?", tools=[tool], store=False)
    call = next(item for item in first.output if item.type == "function_call")
    turns = [
        {"role": "user", "content": "What is the weather?"},
        *[item.to_dict() for item in first.output],
        {"type": "function_call_output", "call_id": call.call_id, "output": "12 °C"},
    ]
    second = client.responses.create(model="auto", input=turns, tools=[tool], store=False)
    assert "12 °C" in second.output_text
    parsed = client.responses.parse(model="auto", input="A city.", text_format=City, store=False)
    assert isinstance(parsed.output_parsed, City)
    return [seen_response(each) for each in (plain, streamed, first, second, parsed)]


@check("idempotency")
def idempotency():
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    answers = [
        client.chat.completions.create(model="auto", messages=HELLO, extra_headers=headers) for _ in range(2)
    ]
    assert answers[0].platform["decision_id"] == answers[1].platform["decision_id"]
    return [seen(answers[0])]


@check("retries after a timeout are charged once with an Idempotency-Key")
def retries():
    def charged():
        return faulty.get("/usage", cast_to=dict)["total_credits"]

    before = charged()
    waiting = faulty.with_options(max_retries=5, timeout=1)
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    answer = waiting.chat.completions.create(model="slow", messages=HELLO, extra_headers=headers)
    assert round(charged() - before, 6) == answer.platform["credits_consumed"]


@check("errors")
def errors():
    def chat_with(api_key, model="auto", **options):
        return raised(
            options.pop("kind"),
            lambda: openai.OpenAI(base_url=f"{URL}/v1", api_key=api_key, max_retries=0).chat.completions.create(
                model=model, messages=HELLO, **options
            ),
        )

    assert chat_with("sb_live_wrong", kind=openai.AuthenticationError).code == "invalid_api_key"
    assert chat_with(KEY, model="no-such-model", kind=openai.NotFoundError).code == "model_not_found"
    assert chat_with(KEY, temperature=9, kind=openai.BadRequestError).param == "temperature"
    broke = chat_with(EMPTY_KEY, kind=openai.APIStatusError)
    assert (broke.status_code, broke.code) == (402, "request_exceeds_budget"), broke.code

    def failing(kind, model):
        return raised(kind, lambda: faulty.chat.completions.create(model=model, messages=HELLO))

    assert failing(openai.RateLimitError, "rate-limited").status_code == 429
    assert failing(openai.InternalServerError, "broken").status_code >= 500
    assert failing(openai.APIStatusError, "too-long").code == "context_length_exceeded"


@check("cut stream")
def cut():
    texts = []

    def read():
        for chunk in faulty.chat.completions.create(model="cut", messages=HELLO, stream=True):
            texts.append(chunk.choices[0].delta.content or "" if chunk.choices else "")

    error = raised(openai.APIError, read)
    assert "".join(texts).startswith("One") and str(error)


finish()
