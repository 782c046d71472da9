from checks import CLAUDE, CLAUDE_KEY, CLAUDE_URL, FAULTY_KEY, FAULTY_URL, KEY, URL, check, finish, raised, usage
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput, ToolOutput
from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

provider = OpenAIProvider(base_url=f"{URL}/v1", api_key=KEY)
chat_model = OpenAIChatModel("auto", provider=provider)
responses_model = OpenAIResponsesModel("auto", provider=provider)


class City(BaseModel):
    name: str
    inhabitants: int


def weather(city: str) -> str:
    """The weather of a city."""
    return "12 °C"


def seen(messages):
    answers = [message for message in messages if message.kind == "response"]
    return [usage(answer.usage.input_tokens, answer.usage.output_tokens) for answer in answers]


for name, model in (("chat", chat_model), ("Responses", responses_model)):

    @check(f"{name}: answer, tool loop, structured output")
    def runs():
        plain = Agent(model).run_sync("Say hello.")
        assert "simulated" in plain.output
        tools = Agent(model, tools=[weather]).run_sync("What is the weather in Bern?")
        assert "12 °C" in tools.output
        native = Agent(model, output_type=NativeOutput(City)).run_sync("A city.")
        assert isinstance(native.output, City)
        forced = Agent(model, output_type=City).run_sync("A city.")
        assert isinstance(forced.output, City)
        results = (plain, tools, native, forced)
        return [each for result in results for each in seen(result.all_messages())]

    @check(f"{name}: stream with usage")
    def stream():
        with Agent(model).run_stream_sync("Say hello.") as result:
            assert len(list(result.stream_text(delta=True, debounce_by=None))) > 5
        return seen(result.all_messages())


@check("forced tool that the model refuses")
def forced():
    claude = OpenAIProvider(base_url=f"{CLAUDE_URL}/v1", api_key=CLAUDE_KEY)
    # If the name is that of a Claude that refuses a forced tool, the client for Messages does not force it.
    messages = AnthropicModel("auto", provider=AnthropicProvider(base_url=CLAUDE_URL, api_key=CLAUDE_KEY))
    for model in (OpenAIChatModel(CLAUDE, provider=claude), OpenAIResponsesModel(CLAUDE, provider=claude), messages):
        agent = Agent(model, output_type=ToolOutput(City))
        assert isinstance(agent.run_sync("A city.").output, City)
        with agent.run_stream_sync("A city.") as result:
            assert isinstance(result.get_output(), City)


@check("errors and a cut stream")
def errors():
    def agent(name):
        faulty = OpenAIProvider(base_url=f"{FAULTY_URL}/v1", api_key=FAULTY_KEY)
        return Agent(OpenAIChatModel(name, provider=faulty), model_settings={"timeout": 20})

    assert raised(ModelHTTPError, lambda: agent("too-long").run_sync("Hi.")).status_code == 400

    def read():
        with agent("cut").run_stream_sync("Hi.") as result:
            list(result.stream_text(delta=True, debounce_by=None))

    raised(ModelAPIError, read)


finish()
