import { expect, test } from 'bun:test';
import OpenAI from 'openai';
import { useSignalbox } from '../../support/use.ts';

/** Completions of code in the form of an editor: Continue streams them with OpenAI's client, with stop sequences and a suffix. */
const box = useSignalbox();

test('an editor streams the code between a prompt and a suffix', async () => {
  const client = new OpenAI({ baseURL: `${box.url}/v1`, apiKey: box.key });
  const stream = await client.completions.create({
    model: 'auto-fast',
    prompt: 'def area(radius):\n    return ',
    suffix: '\n\nprint(area(2))',
    max_tokens: 256,
    temperature: 0.01,
    stop: ['\n\n', '/src/', '```'],
    stream: true,
  });
  let text = '';
  let reason: string | null = null;
  for await (const { choices } of stream) {
    text += choices[0]?.text ?? '';
    reason = choices[0]?.finish_reason ?? reason;
  }
  expect(text).not.toBeEmpty();
  expect(reason).toBe('stop');
});

test('a whole completion has its usage, and an unsupported field is refused by name', async () => {
  const client = new OpenAI({ baseURL: `${box.url}/v1`, apiKey: box.key });
  const request = { model: 'auto-fast', prompt: 'def area(radius):', max_tokens: 64 };
  const { choices, usage } = await client.completions.create(request);
  expect(choices[0]!.text).not.toBeEmpty();
  expect(usage!.total_tokens).toBe(usage!.prompt_tokens + usage!.completion_tokens);
  const refused = await client.completions.create({ ...request, echo: true }).catch((error: unknown) => error);
  expect(refused).toMatchObject({ status: 400, param: 'echo', code: 'unsupported_parameter' });
});
