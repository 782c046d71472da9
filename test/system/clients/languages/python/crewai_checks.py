import os
import tempfile

# It writes its memory below the home, and would send telemetry.
home = tempfile.TemporaryDirectory()
os.environ.update(HOME=home.name, CREWAI_DISABLE_TELEMETRY="true", OTEL_SDK_DISABLED="true", CREWAI_TRACING_ENABLED="false")

from checks import FAULTY_KEY, FAULTY_URL, KEY, URL, check, finish, raised, usage  # noqa: E402
from crewai import LLM, Agent, Crew, Task  # noqa: E402
from crewai.tools import tool  # noqa: E402

MODEL = {"model": "openai/auto", "base_url": f"{URL}/v1", "api_key": KEY}


@tool("weather")
def weather(city: str) -> str:
    """The weather of a city."""
    return "12 °C"


@check("crew with an agent and a tool")
def crew():
    helper = Agent(role="Helper", goal="Answer", backstory="You help.", llm=LLM(**MODEL), tools=[weather], verbose=False)
    task = Task(description="What is the weather in Bern?", expected_output="The weather", agent=helper)
    running = Crew(agents=[helper], tasks=[task], verbose=False)
    assert "simulated" in str(running.kickoff())
    counted = running.usage_metrics
    # The client shows the sum of its calls.
    first = usage(counted.prompt_tokens, counted.completion_tokens)
    return [first, *[usage(0, 0)] * (counted.successful_requests - 1)]


@check("errors")
def errors():
    broken = LLM(model="openai/too-long", base_url=f"{FAULTY_URL}/v1", api_key=FAULTY_KEY)
    raised(Exception, lambda: broken.call("Say hello."))


finish()
