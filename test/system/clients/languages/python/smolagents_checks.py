from checks import (
    ADAPTED, CLAUDE, CLAUDE_KEY, CLAUDE_URL, FAULTY_KEY, FAULTY_URL, HELLO, KEY, UNCOUNTED_KEY, URL,
    check, finish, raised, usage,
)
from openai import APIError
from smolagents import FinalAnswerTool, OpenAIModel, ToolCallingAgent, tool


def model(key=KEY):
    return OpenAIModel(model_id="auto", api_base=f"{URL}/v1", api_key=key)


@tool
def weather(city: str) -> str:
    """The weather of a city.

    Args:
        city: The city.
    """
    return "12 °C"


def seen(each):
    return usage(each.token_usage.input_tokens, each.token_usage.output_tokens)


@check("chat")
def chat():
    answer = model().generate(HELLO)
    assert "simulated" in answer.content
    return [seen(answer)]


@check("stream with usage")
def stream():
    parts = list(model().generate_stream(HELLO))
    assert len(parts) > 5
    return [seen(parts[-1])]


@check("agent with tools")
def agent():
    result = ToolCallingAgent(tools=[weather], model=model(), max_steps=2, verbosity_level=0).run(
        "Use the tool final_answer.", return_full_result=True
    )
    assert result.output is not None
    return [usage(result.token_usage.input_tokens, result.token_usage.output_tokens)]


@check("forced tool that the model refuses")
def forced():
    claude = OpenAIModel(model_id=CLAUDE, api_base=f"{CLAUDE_URL}/v1", api_key=CLAUDE_KEY)
    answer = claude.generate(HELLO, tools_to_call_from=[FinalAnswerTool()])
    assert [call.function.name for call in answer.tool_calls] == ["final_answer"]
    assert answer.raw.platform["adapted"] == ADAPTED
    for stream_outputs in (False, True):
        agent = ToolCallingAgent(
            tools=[], model=claude, stream_outputs=stream_outputs, max_steps=1, verbosity_level=0
        )
        result = agent.run("Say hello.", return_full_result=True)
        assert result.state == "success" and result.output is not None, result


@check("errors")
def errors():
    faulty = OpenAIModel(
        model_id="too-long", api_base=f"{FAULTY_URL}/v1", api_key=FAULTY_KEY, client_kwargs={"max_retries": 0}
    )
    raised(APIError, lambda: faulty.generate(HELLO))


finish()
