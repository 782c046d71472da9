import tempfile

from checks import KEY, URL, check, finish, usage
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import tool


@tool
def weather():
    async def execute(city: str) -> str:
        """The weather of a city.

        Args:
            city: The city.
        """
        return "12 °C"

    return execute


@check("an eval with a tool")
def evaluated():
    task = Task(
        dataset=[Sample(input="What is the weather in Bern?", target="12 °C")],
        solver=[use_tools(weather()), generate()],
        scorer=includes(),
    )
    model = get_model("openai-api/signalbox/auto", base_url=f"{URL}/v1", api_key=KEY)
    with tempfile.TemporaryDirectory() as logs:
        [log] = eval(task, model=model, display="none", log_dir=logs)
        assert log.status == "success", log.error
        assert log.results.scores[0].metrics["accuracy"].value == 1
        events = [event for event in log.samples[0].events if event.event == "model"]
        return [usage(event.output.usage.input_tokens, event.output.usage.output_tokens) for event in events]


finish()
