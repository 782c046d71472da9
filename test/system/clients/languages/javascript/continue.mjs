import { constructLlmApi } from '@continuedev/openai-adapters';
import { check, EMPTY_KEY, expect, FAULTY_KEY, FAULTY_URL, failureOf, KEY, UNCOUNTED_KEY, URL } from './checks.mjs';

/** The client with which Continue completes code. */
const clientOf = (url, apiKey) => constructLlmApi({ provider: 'openai', apiBase: `${url}/v1/`, apiKey });
const { signal } = new AbortController();

/** The request of Continue's autocompletion: see `core/autocomplete` in its repository. */
const CODE = {
  model: 'auto-fast',
  prompt: 'def area(radius):\n    return ',
  max_tokens: 256,
  temperature: 0.01,
  stop: ['\n\n', '\r\n\r\n', '/src/', '#- coding: utf-8', '```'],
};

const streamed = (client, more) => client.completionStream({ ...CODE, stream: true, ...more }, signal);

async function textOf(stream) {
  let text = '';
  for await (const { choices } of stream) text += choices[0]?.text ?? '';
  return text;
}

await check('completion', async () => {
  const { choices, usage } = await clientOf(URL, KEY).completionNonStream({ ...CODE, stream: false }, signal);
  expect(choices[0].text !== '' && choices[0].finish_reason !== null, choices);
  return [{ input: usage.prompt_tokens, output: usage.completion_tokens }];
});

await check('stream, also with a suffix', async () => {
  const client = clientOf(URL, UNCOUNTED_KEY);
  for (const more of [{}, { suffix: '\n\nprint(area(2))' }]) {
    const text = await textOf(streamed(client, more));
    expect(text !== '', text);
  }
});

await check('errors', async () => {
  const statusOf = async (url, key, model = CODE.model) =>
    (await failureOf(() => textOf(streamed(clientOf(url, key), { model })))).status;
  const statuses = [
    await statusOf(URL, 'sb_live_wrong'),
    await statusOf(URL, EMPTY_KEY),
    // The provider of this server does not declare `completions`.
    await statusOf(FAULTY_URL, FAULTY_KEY, 'healthy'),
  ];
  expect(statuses.join() === '401,402,422', statuses);
});
