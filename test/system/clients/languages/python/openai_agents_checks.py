import asyncio

from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    SQLiteSession,
    function_tool,
    set_tracing_disabled,
)
from checks import FAULTY_KEY, FAULTY_URL, KEY, URL, check, finish, raised, usage
from openai import APIError, AsyncOpenAI
from pydantic import BaseModel

# Traces would go to OpenAI.
set_tracing_disabled(True)
# `include_usage=True`: without it, a stream of chat reports no usage.
SETTINGS = ModelSettings(include_usage=True, store=False)


class City(BaseModel):
    name: str
    inhabitants: int


@function_tool
def weather(city: str) -> str:
    """The weather of a city."""
    return "12 °C"


def seen(result):
    return [usage(each.usage.input_tokens, each.usage.output_tokens) for each in result.raw_responses]


async def streamed(agent, question):
    result = Runner.run_streamed(agent, question)
    kinds = [event.type async for event in result.stream_events()]
    assert len(kinds) > 5
    return result


async def runs(kind):
    # A client serves one event loop.
    client = AsyncOpenAI(base_url=f"{URL}/v1", api_key=KEY)
    model = kind("auto", client)

    def agent(**options):
        return Agent(name="helper", model=model, model_settings=SETTINGS, **options)

    plain = await Runner.run(agent(), "Say hello.")
    assert "simulated" in plain.final_output
    tools = await Runner.run(agent(tools=[weather]), "What is the weather in Bern?")
    assert "12 °C" in tools.final_output
    stream = await streamed(agent(tools=[weather]), "What is the weather in Bern?")
    assert "12 °C" in stream.final_output
    structured = await Runner.run(agent(output_type=City), "A city.")
    assert isinstance(structured.final_output, City)
    handoff = await Runner.run(agent(handoffs=[Agent(name="other", model=model, model_settings=SETTINGS)]), "Transfer me.")
    assert handoff.last_agent.name == "other"
    session = SQLiteSession("one")
    turns = [await Runner.run(agent(), text, session=session) for text in ("Say hello.", "Again.")]
    await client.close()
    return [each for result in (plain, tools, stream, structured, handoff, *turns) for each in seen(result)]


@check("chat: answer, tools, stream, structured output, handoff, session")
def chat():
    return asyncio.run(runs(OpenAIChatCompletionsModel))


@check("Responses: answer, tools, stream, structured output, handoff, session")
def responses():
    return asyncio.run(runs(OpenAIResponsesModel))


@check("errors and a cut stream")
def errors():
    def agent(name):
        faulty = AsyncOpenAI(base_url=f"{FAULTY_URL}/v1", api_key=FAULTY_KEY, max_retries=0)
        return Agent(name="helper", model=OpenAIChatCompletionsModel(name, faulty))

    raised(APIError, lambda: asyncio.run(Runner.run(agent("too-long"), "Hi.")))
    raised(APIError, lambda: asyncio.run(streamed(agent("cut"), "Hi.")))


finish()
