from typing import Annotated

import openai
from checks import FAULTY_KEY, FAULTY_URL, KEY, UNCOUNTED_KEY, URL, check, finish, raised, usage
from haystack.components.agents import Agent
from haystack.components.embedders import OpenAITextEmbedder
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import create_tool_from_function
from haystack.utils import Secret
from pydantic import BaseModel

HELLO = [ChatMessage.from_user("Say hello.")]


class City(BaseModel):
    name: str
    inhabitants: int


def weather(city: Annotated[str, "The city"]) -> str:
    """The weather of a city."""
    return "12 °C"


def generator(key=KEY, **options):
    return OpenAIChatGenerator(api_key=Secret.from_token(key), model="auto", api_base_url=f"{URL}/v1", **options)


def seen(message):
    return usage(message.meta["usage"]["prompt_tokens"], message.meta["usage"]["completion_tokens"])


@check("chat")
def chat():
    answer = generator().run(HELLO)["replies"][0]
    assert "simulated" in answer.text
    return [seen(answer)]


@check("stream with usage")
def stream():
    pieces = []
    # Without `stream_options`, a stream reports no usage.
    options = {"stream_options": {"include_usage": True}}
    answer = generator(streaming_callback=pieces.append, generation_kwargs=options).run(HELLO)["replies"][0]
    assert "simulated" in answer.text and len(pieces) > 5
    return [seen(answer)]


@check("structured output")
def structured():
    answer = generator(generation_kwargs={"response_format": City}).run(HELLO)["replies"][0]
    assert City.model_validate_json(answer.text)
    return [seen(answer)]


@check("agent with a tool")
def agent():
    answer = Agent(chat_generator=generator(), tools=[create_tool_from_function(weather)]).run(
        messages=[ChatMessage.from_user("What is the weather in Bern?")]
    )
    replies = [message for message in answer["messages"] if message.role == "assistant"]
    assert "12 °C" in replies[-1].text
    return [seen(reply) for reply in replies]


@check("embeddings")
def embeddings():
    embedder = OpenAITextEmbedder(
        api_key=Secret.from_token(UNCOUNTED_KEY), model="sim-embed", api_base_url=f"{URL}/v1"
    )
    assert len(embedder.run("one")["embedding"]) == 768


@check("errors and a cut stream")
def errors():
    def failing(name, **options):
        return OpenAIChatGenerator(
            api_key=Secret.from_token(FAULTY_KEY), model=name, api_base_url=f"{FAULTY_URL}/v1", max_retries=0, **options
        ).run(HELLO)

    raised(openai.RateLimitError, lambda: failing("rate-limited"))
    raised(openai.APIError, lambda: failing("cut", streaming_callback=lambda chunk: None))


finish()
