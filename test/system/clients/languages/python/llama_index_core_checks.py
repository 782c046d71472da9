import asyncio

import openai
from checks import (
    ADAPTED, CLAUDE, CLAUDE_KEY, CLAUDE_URL, FAULTY_KEY, FAULTY_URL, KEY, UNCOUNTED_KEY, URL, check,
    finish, raised, usage,
)
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage
from llama_index.core.program import FunctionCallingProgram
from llama_index.core.tools import FunctionTool
from llama_index.embeddings.openai import OpenAIEmbedding
from llama_index.llms.openai_like import OpenAILike
from pydantic import BaseModel


def model(key=KEY, **options):
    # Without `is_chat_model=True`, it calls /v1/completions.
    settings = {"is_chat_model": True, "is_function_calling_model": True, "context_window": 32768}
    return OpenAILike(**{"model": "auto", "api_base": f"{URL}/v1", "api_key": key, **settings, **options})


class City(BaseModel):
    name: str
    inhabitants: int


def weather(city: str) -> str:
    """The weather of a city."""
    return "12 °C"


def seen(counted):
    return usage(counted.prompt_tokens, counted.completion_tokens)


@check("chat")
def chat():
    answer = model().chat([ChatMessage(role="user", content="Say hello.")])
    assert "simulated" in answer.message.content
    return [seen(answer.raw.usage)]


@check("complete")
def complete():
    answer = model().complete("Say hello.")
    assert "simulated" in answer.text
    return [seen(answer.raw.usage)]


def continuing(key=KEY, **options):
    """The model as LlamaIndex uses it by default: it continues a text."""
    return model(key, is_chat_model=False, is_function_calling_model=False, max_tokens=64, **options)


@check("completions")
def completions():
    answer = continuing().complete("def area(radius):")
    assert "simulated" in answer.text
    streamed = list(continuing(UNCOUNTED_KEY).stream_complete("def area(radius):"))
    assert "simulated" in streamed[-1].text
    chatted = continuing(UNCOUNTED_KEY).chat([ChatMessage(role="user", content="Say hello.")])
    assert "simulated" in chatted.message.content
    return [seen(answer.raw.usage)]


@check("stream with usage")
def stream():
    options = {"stream_options": {"include_usage": True}}
    parts = list(model(additional_kwargs=options).stream_chat([ChatMessage(role="user", content="Say hello.")]))
    assert "simulated" in parts[-1].message.content
    return [seen(parts[-1].raw.usage)]


@check("structured output")
def structured():
    answer = model(UNCOUNTED_KEY, should_use_structured_outputs=True).as_structured_llm(City).complete("A city.")
    assert isinstance(answer.raw, City)


@check("forced tool that the model refuses")
def forced():
    claude = model(CLAUDE_KEY, model=CLAUDE, api_base=f"{CLAUDE_URL}/v1")
    options = {"output_cls": City, "llm": claude, "prompt_template_str": "A city."}
    assert isinstance(FunctionCallingProgram.from_defaults(**options, tool_required=True)(), City)
    answer = claude.chat_with_tools(
        [FunctionTool.from_defaults(weather)], user_msg="What is the weather in Bern?", tool_required=True
    )
    assert [call.tool_name for call in claude.get_tool_calls_from_response(answer)] == ["weather"]
    assert answer.raw.platform["adapted"] == ADAPTED


@check("agent with a tool")
def agent():
    async def run():
        return await FunctionAgent(tools=[weather], llm=model(UNCOUNTED_KEY)).run("What is the weather in Bern?")

    assert "12 °C" in str(asyncio.run(run()))


@check("embeddings")
def embeddings():
    embed = OpenAIEmbedding(model_name="sim-embed", api_base=f"{URL}/v1", api_key=UNCOUNTED_KEY)
    assert len(embed.get_text_embedding("one")) == 768


@check("errors and a cut stream")
def errors():
    def failing(name):
        return model(FAULTY_KEY, model=name, api_base=f"{FAULTY_URL}/v1", max_retries=0)

    raised(openai.RateLimitError, lambda: failing("rate-limited").complete("Hi."))
    raised(openai.APIError, lambda: list(failing("cut").stream_complete("Hi.")))


finish()
