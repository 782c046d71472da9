import json
import os
import tempfile
from pathlib import Path

from checks import KEY, URL, check, finish, usage

home = tempfile.TemporaryDirectory()
os.environ["LLM_USER_PATH"] = home.name
Path(home.name, "extra-openai-models.yaml").write_text(
    f"""
- model_id: signalbox
  model_name: auto
  api_base: {URL}/v1
  api_key_name: signalbox
  supports_schema: true
  supports_tools: true
"""
)
Path(home.name, "keys.json").write_text(json.dumps({"signalbox": KEY}))

import llm  # noqa: E402 (it reads the folder)

model = llm.get_model("signalbox")
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}}


def seen(answer):
    counted = answer.usage()
    return usage(counted.input, counted.output)


@check("prompt, stream and schema")
def prompts():
    plain = model.prompt("Say hello.", stream=False)
    assert "simulated" in plain.text()
    stream = model.prompt("Say hello.")
    assert len(list(stream)) > 5
    schema = model.prompt("A city.", schema=SCHEMA, stream=False)
    assert schema.text().startswith("{")
    return [seen(plain), seen(stream), seen(schema)]


@check("tools")
def tools():
    def weather(city: str) -> str:
        """The weather of a city."""
        return "12 °C"

    chain = model.chain("What is the weather in Bern?", tools=[weather], stream=False)
    answers = list(chain.responses())
    assert "12 °C" in answers[-1].text()
    return [seen(answer) for answer in answers]


home.cleanup()
finish()
