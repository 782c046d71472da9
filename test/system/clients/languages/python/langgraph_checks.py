from checks import KEY, URL, check, finish, usage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

model = ChatOpenAI(base_url=f"{URL}/v1", api_key=KEY, model="auto", stream_usage=True)
ASKED = {"messages": [("user", "What is the weather in Bern?")]}


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    return "12 °C"


def seen(messages):
    answers = [message for message in messages if message.type == "ai"]
    assert len(answers) == 2 and "12 °C" in answers[-1].content
    return [usage(each.usage_metadata["input_tokens"], each.usage_metadata["output_tokens"]) for each in answers]


def graph():
    builder = StateGraph(MessagesState)
    builder.add_node("model", lambda state: {"messages": [model.bind_tools([weather]).invoke(state["messages"])]})
    builder.add_node("tools", ToolNode([weather]))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools_condition)
    builder.add_edge("tools", "model")
    return builder.compile()


@check("graph with a tool")
def invoked():
    return seen(graph().invoke(ASKED)["messages"])


@check("stream of a graph")
def streamed():
    pieces, messages = [], []
    for mode, part in graph().stream(ASKED, stream_mode=["messages", "values"]):
        if mode == "messages":
            pieces.append(part[0])
        else:
            messages = part["messages"]
    assert len(pieces) > 5
    return seen(messages)


finish()
