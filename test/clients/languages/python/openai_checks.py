from checks import HELLO, KEY, URL, check, finish, usage
from openai import OpenAI

client = OpenAI(base_url=f"{URL}/v1", api_key=KEY)


@check("chat")
def chat():
    answer = client.chat.completions.create(model="auto", messages=HELLO)
    assert "simulated" in answer.choices[0].message.content
    return [usage(answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.platform)]


finish()
