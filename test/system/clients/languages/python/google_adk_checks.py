import asyncio
import logging
import os

from checks import EMPTY_KEY, FAULTY_KEY, FAULTY_URL, KEY, UNCOUNTED_KEY, URL, check, finish, raised, usage
from google.adk.agents import LlmAgent, RunConfig
from google.adk.agents.run_config import StreamingMode
from google.adk.models import Gemini
from google.adk.runners import InMemoryRunner
from google.genai import Client, errors, types
from pydantic import BaseModel

# ADK logs each request that a server refuses, with its stack.
logging.disable(logging.ERROR)


def client_of(key, url):
    return Client(api_key=key, http_options={"base_url": url})


def agent_of(key=KEY, model="auto", url=URL, **options):
    return LlmAgent(name="helper", model=Gemini(model=model, client=client_of(key, url)), **options)


class City(BaseModel):
    name: str
    inhabitants: int


def weather(city: str) -> str:
    """The weather of a city."""
    return "12 °C"


def events_of(agent, *questions, streaming=StreamingMode.NONE):
    """The events of a session in which the agent gets these questions."""

    async def run():
        async with InMemoryRunner(agent=agent, app_name="checks") as runner:
            session = await runner.session_service.create_session(app_name="checks", user_id="me")
            events = []
            for question in questions:
                async for event in runner.run_async(
                    user_id="me",
                    session_id=session.id,
                    new_message=types.UserContent(question),
                    run_config=RunConfig(streaming_mode=streaming),
                ):
                    events.append(event)
            return events

    return asyncio.run(run())


def text_of(event):
    return "".join(part.text or "" for part in event.content.parts)


def seen(event):
    counted = event.usage_metadata
    return usage(counted.prompt_token_count, counted.total_token_count - counted.prompt_token_count)


@check("agent")
def agent():
    events = events_of(agent_of(instruction="Be brief."), "Say hello.", "Say it again.")
    assert all("simulated" in text_of(event) for event in events)
    return [seen(event) for event in events]


@check("stream")
def stream():
    events = events_of(agent_of(UNCOUNTED_KEY), "Say hello.", streaming=StreamingMode.SSE)
    assert len(events) > 2 and "simulated" in text_of(events[-1])
    assert "".join(text_of(event) for event in events if event.partial) == text_of(events[-1])


@check("agent with a tool")
def tool():
    events = events_of(agent_of(tools=[weather]), "What is the weather in Bern?")
    assert "12 °C" in text_of(events[-1])
    return [seen(event) for event in events if event.usage_metadata]


@check("structured output")
def structured():
    (event,) = events_of(agent_of(output_schema=City), "Describe Bern.")
    City.model_validate_json(text_of(event))
    return [seen(event)]


@check("address in the model")
def address():
    os.environ["GOOGLE_API_KEY"] = UNCOUNTED_KEY
    (event,) = events_of(LlmAgent(name="helper", model=Gemini(model="auto", base_url=URL)), "Say hello.")
    assert "simulated" in text_of(event)


@check("errors")
def refusals():
    def failing(key, model, url):
        return raised(errors.APIError, lambda: events_of(agent_of(key, model, url), "Say hello.")).code

    assert failing("sb_live_wrong", "auto", URL) == 401
    assert failing(EMPTY_KEY, "auto", URL) == 402
    assert failing(FAULTY_KEY, "broken", FAULTY_URL) == 502
    assert failing(FAULTY_KEY, "rate-limited", FAULTY_URL) == 429


finish()
