import anthropic
import instructor
import openai
from checks import ADAPTED, CLAUDE, CLAUDE_KEY, CLAUDE_URL, HELLO, KEY, UNCOUNTED_KEY, URL, check, finish, usage
from pydantic import BaseModel

client = openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY)
uncounted = openai.OpenAI(base_url=f"{URL}/v1", api_key=UNCOUNTED_KEY)


class City(BaseModel):
    name: str
    inhabitants: int


def made(mode, **options):
    city, answer = instructor.from_openai(client, mode=mode).create_with_completion(
        model="auto", response_model=City, messages=HELLO, **options
    )
    assert isinstance(city, City)
    return answer


@check("tools and JSON schema")
def modes():
    answers = [made(mode) for mode in (instructor.Mode.TOOLS, instructor.Mode.JSON_SCHEMA)]
    return [usage(answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.platform) for answer in answers]


@check("Responses")
def responses():
    city = instructor.from_openai(uncounted, mode=instructor.Mode.RESPONSES_TOOLS).create(
        model="auto", response_model=City, messages=HELLO
    )
    assert isinstance(city, City)


@check("partial answers of a stream")
def partial():
    parts = list(
        instructor.from_openai(uncounted).create_partial(model="auto", response_model=City, messages=HELLO)
    )
    assert parts[-1].name is not None


@check("from_anthropic")
def messages():
    patched = instructor.from_anthropic(anthropic.Anthropic(base_url=URL, api_key=KEY))
    city, answer = patched.create_with_completion(
        model="auto", response_model=City, messages=HELLO, max_tokens=500
    )
    assert isinstance(city, City)
    return [usage(answer.usage.input_tokens, answer.usage.output_tokens, answer.platform)]


@check("forced tool that the model refuses")
def forced():
    chat = instructor.from_openai(openai.OpenAI(base_url=f"{CLAUDE_URL}/v1", api_key=CLAUDE_KEY))
    city, answer = chat.create_with_completion(model=CLAUDE, response_model=City, messages=HELLO)
    assert isinstance(city, City) and answer.platform["adapted"] == ADAPTED
    parts = list(chat.create_partial(model=CLAUDE, response_model=City, messages=HELLO))
    assert parts[-1].model_dump() == city.model_dump(), parts
    claude = instructor.from_anthropic(anthropic.Anthropic(base_url=CLAUDE_URL, api_key=CLAUDE_KEY))
    same, answer = claude.create_with_completion(
        model=CLAUDE, response_model=City, messages=HELLO, max_tokens=500
    )
    assert same.model_dump() == city.model_dump() and answer.platform["adapted"] == ADAPTED


finish()
