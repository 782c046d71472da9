import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # no download

import dspy  # noqa: E402
from checks import FAULTY_KEY, FAULTY_URL, KEY, UNCOUNTED_KEY, URL, check, finish, raised, usage  # noqa: E402
from dspy.utils.exceptions import LMError  # noqa: E402

OPTIONS = {"api_base": f"{URL}/v1", "cache": False}


class SchemaLM(dspy.LM):
    """DSPy sends a schema only to models whose names it knows."""

    supported_params = {"response_format"}
    supports_response_schema = True


lm = SchemaLM("openai/auto", api_key=KEY, **OPTIONS)


def seen():
    found = [usage(each["usage"]["prompt_tokens"], each["usage"]["completion_tokens"]) for each in lm.history]
    lm.history.clear()
    return found


@check("LM")
def plain():
    assert "simulated" in str(lm("Say hello.")[0])
    return seen()


@check("Predict with JSONAdapter")
def predict():
    # Simulated models do not follow the text format of ChatAdapter.
    with dspy.context(lm=lm, adapter=dspy.JSONAdapter()):
        answer = dspy.Predict("question -> answer: str")(question="What is the weather?")
    assert isinstance(answer.answer, str)
    return seen()


@check("Responses")
def responses():
    model = dspy.LM("openai/auto", api_key=UNCOUNTED_KEY, model_type="responses", **OPTIONS)
    assert "simulated" in str(model("Say hello.")[0])


@check("embeddings")
def embeddings():
    embed = dspy.Embedder(
        "openai/sim-embed", api_base=f"{URL}/v1", api_key=UNCOUNTED_KEY, encoding_format="float", caching=False
    )
    assert embed(["one", "two"]).shape == (2, 768)


@check("errors")
def errors():
    broken = dspy.LM("openai/too-long", api_base=f"{FAULTY_URL}/v1", api_key=FAULTY_KEY, cache=False, num_retries=0)
    raised(LMError, lambda: broken("Say hello."))


finish()
