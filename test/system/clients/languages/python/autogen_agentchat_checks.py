import asyncio

import openai
from autogen_agentchat.agents import AssistantAgent
from autogen_core.models import ModelInfo, UserMessage
from autogen_ext.models.openai import OpenAIChatCompletionClient
from checks import FAULTY_KEY, FAULTY_URL, KEY, URL, check, finish, raised, usage
from pydantic import BaseModel

# AutoGen needs to know what a model can do if it does not know the name.
INFO = ModelInfo(vision=True, function_calling=True, json_output=True, family="unknown", structured_output=True)
HELLO = [UserMessage(content="Say hello.", source="user")]


def client(**options):
    return OpenAIChatCompletionClient(
        **{"model": "auto", "base_url": f"{URL}/v1", "api_key": KEY, "model_info": INFO, **options}
    )


class City(BaseModel):
    name: str
    inhabitants: int


def weather(city: str) -> str:
    """The weather of a city."""
    return "12 °C"


def seen(answer):
    return usage(answer.usage.prompt_tokens, answer.usage.completion_tokens)


@check("chat and structured output")
def chat():
    answer = asyncio.run(client().create(HELLO))
    assert "simulated" in answer.content
    structured = asyncio.run(client().create(HELLO, json_output=City))
    assert City.model_validate_json(structured.content)
    return [seen(answer), seen(structured)]


@check("stream with usage")
def stream():
    async def read():
        return [part async for part in client().create_stream(HELLO, include_usage=True)]

    parts = asyncio.run(read())
    assert len(parts) > 5
    return [seen(parts[-1])]


@check("agent with a tool")
def agent():
    async def run():
        helper = AssistantAgent("helper", client(), tools=[weather], reflect_on_tool_use=True)
        return await helper.run(task="What is the weather in Bern?")

    messages = asyncio.run(run()).messages
    assert "12 °C" in messages[-1].content
    counted = [message.models_usage for message in messages if message.models_usage]
    return [usage(each.prompt_tokens, each.completion_tokens) for each in counted]


@check("errors")
def errors():
    faulty = client(model="too-long", base_url=f"{FAULTY_URL}/v1", api_key=FAULTY_KEY, max_retries=0)
    raised(openai.APIError, lambda: asyncio.run(faulty.create(HELLO)))


finish()
