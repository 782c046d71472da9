import anthropic
from checks import ADAPTED, CLAUDE_KEY, CLAUDE_URL, FAULTY_KEY, FAULTY_URL, KEY, URL, check, finish, raised, usage
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.tools import tool
from pydantic import BaseModel

# The base URL has no /v1.
model = ChatAnthropic(base_url=URL, api_key=KEY, model="auto", max_tokens=500)


class City(BaseModel):
    name: str
    inhabitants: int


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    return "12 °C"


def seen(message):
    return usage(message.usage_metadata["input_tokens"], message.usage_metadata["output_tokens"])


@check("chat")
def chat():
    answer = model.invoke("Say hello.")
    assert "simulated" in answer.text
    return [seen(answer)]


@check("stream with usage")
def stream():
    chunks = list(model.stream("Say hello."))
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    assert "simulated" in whole.text
    return [seen(whole)]


@check("structured output")
def structured():
    answer = model.with_structured_output(City, method="json_schema", include_raw=True).invoke("A city.")
    assert isinstance(answer["parsed"], City), answer
    return [seen(answer["raw"])]


@check("forced tool that the model refuses")
def forced():
    # If the name is that of a Claude that refuses a forced tool, this client does not force it.
    claude = ChatAnthropic(base_url=CLAUDE_URL, api_key=CLAUDE_KEY, model="auto", max_tokens=500)
    answer = claude.with_structured_output(City, method="function_calling", include_raw=True).invoke("A city.")
    assert isinstance(answer["parsed"], City) and len(answer["raw"].tool_calls) == 1, answer
    assert answer["raw"].response_metadata["platform"]["adapted"] == ADAPTED, answer
    parts = list(claude.with_structured_output(City, method="function_calling").stream("A city."))
    assert parts[-1] == answer["parsed"], parts


@check("agent with a tool")
def agent():
    turns = create_agent(model, tools=[weather]).invoke({"messages": [("user", "What is the weather in Bern?")]})
    answers = [turn for turn in turns["messages"] if turn.type == "ai"]
    assert len(answers) == 2 and "12 °C" in answers[-1].text
    return [seen(answer) for answer in answers]


@check("errors and a cut stream")
def errors():
    def failing(name):
        return ChatAnthropic(base_url=FAULTY_URL, api_key=FAULTY_KEY, model=name, max_tokens=500, max_retries=0)

    raised(anthropic.RateLimitError, lambda: failing("rate-limited").invoke("Say hello."))
    raised(anthropic.APIError, lambda: list(failing("cut").stream("Say hello.")))


finish()
