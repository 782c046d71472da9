from checks import EMPTY_KEY, FAULTY_KEY, FAULTY_URL, KEY, UNCOUNTED_KEY, URL, check, finish, raised, usage
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_google_genai import ChatGoogleGenerativeAI, GoogleGenerativeAIEmbeddings
from pydantic import BaseModel


def model(key=KEY, **options):
    settings = {"model": "auto", "base_url": URL, "max_retries": 0, **options}
    return ChatGoogleGenerativeAI(google_api_key=key, **settings)


class City(BaseModel):
    name: str
    inhabitants: int


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    return "12 °C"


def seen(message):
    return usage(message.usage_metadata["input_tokens"], message.usage_metadata["output_tokens"])


@check("invoke")
def invoke():
    message = model().invoke("Say hello.")
    assert "simulated" in message.text
    assert message.response_metadata["finish_reason"] == "STOP"
    return [seen(message)]


@check("stream with usage")
def stream():
    whole = None
    for piece in model().stream("Say hello."):
        whole = piece if whole is None else whole + piece
    assert "simulated" in whole.text
    return [seen(whole)]


@check("tool loop, with a forced call")
def tools():
    question = HumanMessage("What is the weather in Bern?")
    first = model().bind_tools([weather], tool_choice="weather").invoke([question])
    (call,) = first.tool_calls
    assert call["name"] == "weather"
    second = model().bind_tools([weather]).invoke([question, first, weather.invoke(call)])
    assert "12 °C" in second.text
    return [seen(first), seen(second)]


@check("tool loop as a stream")
def streamed_tools():
    question = HumanMessage("What is the weather in Bern?")
    bound = model(UNCOUNTED_KEY).bind_tools([weather])
    whole = None
    for piece in bound.stream([question]):
        whole = piece if whole is None else whole + piece
    (call,) = whole.tool_calls
    assert "12 °C" in bound.invoke([question, whole, weather.invoke(call)]).text


@check("structured output")
def structured():
    for method in ("json_schema", "function_calling"):
        answer = model(UNCOUNTED_KEY).with_structured_output(City, method=method).invoke("Describe Bern.")
        assert isinstance(answer, City), method


@check("count and embeddings")
def embeddings():
    embed = GoogleGenerativeAIEmbeddings(model="sim-embed", base_url=URL, google_api_key=UNCOUNTED_KEY)
    assert len(embed.embed_query("one")) == 768
    assert [len(vector) for vector in embed.embed_documents(["one", "two"])] == [768, 768]
    assert model(UNCOUNTED_KEY).get_num_tokens("Say hello.") > 0


@check("errors")
def refusals():
    def failing(key, name, url):
        return str(raised(Exception, lambda: model(key, model=name, base_url=url).invoke("Say hello.")))

    assert "401" in failing("sb_live_wrong", "auto", URL)
    assert "402" in failing(EMPTY_KEY, "auto", URL)
    assert "429" in failing(FAULTY_KEY, "rate-limited", FAULTY_URL)
    assert "502" in failing(FAULTY_KEY, "broken", FAULTY_URL)


@check("cut stream")
def cut():
    texts = []

    def read():
        for piece in model(FAULTY_KEY, model="cut", base_url=FAULTY_URL).stream("Say hello."):
            texts.append(piece.text)

    raised(Exception, read)
    assert "".join(texts).startswith("One")


finish()
