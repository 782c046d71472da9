from checks import EMPTY_KEY, FAULTY_KEY, FAULTY_URL, KEY, UNCOUNTED_KEY, URL, check, finish, raised, usage
from google import genai
from google.genai import errors, types
from pydantic import BaseModel


def client_of(url, key):
    return genai.Client(api_key=key, http_options={"base_url": url})


# The base URL has no version.
client = client_of(URL, KEY)
faulty = client_of(FAULTY_URL, FAULTY_KEY)
uncounted = client_of(URL, UNCOUNTED_KEY)


class City(BaseModel):
    name: str
    inhabitants: int


def weather(city: str) -> str:
    """The weather of a city."""
    return "12 °C"


def seen(answer):
    counted = answer.usage_metadata
    return usage(counted.prompt_token_count, counted.total_token_count - counted.prompt_token_count)


@check("generate")
def generate():
    answer = client.models.generate_content(model="auto", contents="Say hello.")
    assert "simulated" in answer.text
    assert answer.candidates[0].finish_reason == types.FinishReason.STOP
    return [seen(answer)]


@check("stream with usage")
def stream():
    chunks = list(client.models.generate_content_stream(model="auto", contents="Say hello."))
    assert "simulated" in "".join(chunk.text or "" for chunk in chunks)
    return [seen(chunks[-1])]


@check("chat with a stream and history")
def chat():
    talk = client.chats.create(model="auto")
    first = list(talk.send_message_stream("Say hello."))[-1]
    second = talk.send_message("Say it again.")
    assert len(talk.get_history(curated=True)) > 3
    return [seen(first), seen(second)]


@check("automatic function calls")
def functions():
    # The answer shows only the usage of the last call.
    config = types.GenerateContentConfig(tools=[weather])
    answer = uncounted.models.generate_content(model="auto", contents="What is the weather in Bern?", config=config)
    assert "12 °C" in answer.text
    called = answer.automatic_function_calling_history
    assert called[-1].parts[0].function_response.name == "weather"


@check("function calls by hand")
def by_hand():
    declaration = types.FunctionDeclaration(
        name="weather",
        description="The weather of a city",
        parameters=types.Schema(type="OBJECT", properties={"city": types.Schema(type="STRING")}, required=["city"]),
    )
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=[declaration])],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    question = types.UserContent("What is the weather in Bern?")
    first = client.models.generate_content(model="auto", contents=[question], config=config)
    (call,) = first.function_calls
    result = types.Part.from_function_response(name=call.name, response={"output": "12 °C"})
    # The documentation of the library gives responses the role `tool`.
    contents = [question, first.candidates[0].content, types.Content(role="tool", parts=[result])]
    second = client.models.generate_content(model="auto", contents=contents, config=config)
    assert "12 °C" in second.text
    return [seen(first), seen(second)]


@check("structured output")
def structured():
    config = types.GenerateContentConfig(response_mime_type="application/json", response_schema=City)
    answer = client.models.generate_content(model="auto", contents="Describe Bern.", config=config)
    assert isinstance(answer.parsed, City)
    return [seen(answer)]


@check("image")
def image():
    part = types.Part.from_bytes(data=b"\x89PNG\xff\xfe\xfb", mime_type="image/png")
    answer = client.models.generate_content(model="auto", contents=["What is it?", part])
    return [seen(answer)]


@check("count_tokens")
def count():
    assert client.models.count_tokens(model="auto", contents="Say hello.").total_tokens > 0


@check("embeddings")
def embeddings():
    config = types.EmbedContentConfig(output_dimensionality=256)
    answer = uncounted.models.embed_content(model="sim-embed", contents=["one", "two"], config=config)
    assert [len(one.values) for one in answer.embeddings] == [256, 256]


@check("model list")
def models():
    names = {model.name for model in client.models.list(config={"page_size": 3})}
    assert {"models/auto", "models/sim-large"} <= names
    assert client.models.get(model="auto").name == "models/auto"


@check("errors")
def refusals():
    def failing(key, model="auto", url=URL):
        other = client_of(url, key)
        return raised(errors.APIError, lambda: other.models.generate_content(model=model, contents="Say hello."))

    assert failing("sb_live_wrong").code == 401
    assert failing(KEY, model="no-such-model").status == "NOT_FOUND"
    assert failing(EMPTY_KEY).code == 402
    assert failing(FAULTY_KEY, "rate-limited", FAULTY_URL).code == 429
    assert failing(FAULTY_KEY, "broken", FAULTY_URL).code == 502
    assert failing(FAULTY_KEY, "too-long", FAULTY_URL).code == 400


@check("cut stream")
def cut():
    texts = []

    def read():
        for chunk in faulty.models.generate_content_stream(model="cut", contents="Say hello."):
            texts.append(chunk.text or "")

    raised(Exception, read)
    assert "".join(texts).startswith("One")


finish()
