import openai
from checks import CLAUDE, CLAUDE_KEY, CLAUDE_URL, EMPTY_KEY, FAULTY_KEY, FAULTY_URL, KEY, URL, check, finish, raised, usage
from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from pydantic import BaseModel

# `stream_usage=True`: without it, a stream at another base URL reports no usage.
model = ChatOpenAI(
    base_url=f"{URL}/v1", api_key=KEY, model="auto", stream_usage=True, include_response_headers=True
)


class City(BaseModel):
    name: str
    inhabitants: int


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    return "12 °C"


def seen(message):
    return usage(message.usage_metadata["input_tokens"], message.usage_metadata["output_tokens"])


@check("chat with headers and own fields")
def chat():
    answer = model.bind(extra_body={"budget_limit": 5}).invoke("Say hello.")
    assert "simulated" in answer.content
    headers = answer.response_metadata["headers"]
    assert float(headers["x-signalbox-credits"]) > 0 and headers["x-signalbox-model"].startswith("sim-")
    return [seen(answer)]


@check("stream with usage")
def stream():
    chunks = list(model.stream("Say hello."))
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    assert "simulated" in whole.content and len(chunks) > 5
    return [seen(whole)]


@check("structured output, three methods")
def structured():
    found = []
    for method in ("json_schema", "function_calling"):
        answer = model.with_structured_output(City, method=method, include_raw=True).invoke("A city.")
        assert isinstance(answer["parsed"], City), answer
        found.append(seen(answer["raw"]))
    answer = model.with_structured_output(None, method="json_mode", include_raw=True).invoke("A city as JSON.")
    assert isinstance(answer["parsed"], dict), answer
    return [*found, seen(answer["raw"])]


@check("agent with a tool")
def agent():
    turns = create_agent(model, tools=[weather]).invoke({"messages": [("user", "What is the weather in Bern?")]})
    answers = [turn for turn in turns["messages"] if turn.type == "ai"]
    assert len(answers) == 2 and "12 °C" in answers[-1].content
    return [seen(answer) for answer in answers]


@check("Responses")
def responses():
    answer = ChatOpenAI(base_url=f"{URL}/v1", api_key=KEY, model="auto", use_responses_api=True, store=False).invoke("Hi.")
    assert "simulated" in answer.text
    return [seen(answer)]


@check("forced tool that the model refuses")
def forced():
    for use_responses_api in (False, True):
        chat = ChatOpenAI(
            base_url=f"{CLAUDE_URL}/v1", api_key=CLAUDE_KEY, model=CLAUDE, use_responses_api=use_responses_api
        )
        answer = chat.with_structured_output(City, method="function_calling", include_raw=True).invoke("A city.")
        assert isinstance(answer["parsed"], City) and len(answer["raw"].tool_calls) == 1, answer
        parts = list(chat.with_structured_output(City, method="function_calling").stream("A city."))
        assert parts[-1] == answer["parsed"], parts


@check("embeddings")
def embeddings():
    # `check_embedding_ctx_length=False`: otherwise it downloads OpenAI's tokenizer and sends tokens.
    embed = OpenAIEmbeddings(base_url=f"{URL}/v1", api_key=KEY, model="sim-embed", check_embedding_ctx_length=False)
    assert len(embed.embed_documents(["one"])[0]) == 768
    # The client does not show the usage of embeddings: one token.
    return [usage(1, 0)]


@check("errors")
def errors():
    def failing(kind, url, **options):
        chat = ChatOpenAI(**{"base_url": f"{url}/v1", "model": "auto", "max_retries": 0, **options})
        return raised(kind, lambda: chat.invoke("Say hello."))

    failing(openai.AuthenticationError, URL, api_key="sb_live_wrong")
    assert failing(openai.APIStatusError, URL, api_key=EMPTY_KEY).status_code == 402
    failing(openai.RateLimitError, FAULTY_URL, api_key=FAULTY_KEY, model="rate-limited")
    failing(openai.BadRequestError, FAULTY_URL, api_key=FAULTY_KEY, model="too-long")


@check("cut stream")
def cut():
    chat = ChatOpenAI(base_url=f"{FAULTY_URL}/v1", api_key=FAULTY_KEY, model="cut", max_retries=0)
    raised(openai.APIError, lambda: list(chat.stream("Say hello.")))


finish()
