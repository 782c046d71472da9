import { afterAll, beforeAll, expect, test } from 'bun:test';
import { isObject, type Json, listOf } from '../../../plugins/providers/json.ts';
import { checkResponse, checkStream } from '../../support/open-responses/schemas.ts';
import { testPolicy, UPSTREAM_ENV } from '../../support/policies.ts';
import { type Signalbox, startSignalbox } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';

/** The six kinds of acceptance tests that Open Responses publishes, each checked against its schemas, in JSON and as a stream. */
const upstream = useUpstream();
let box: Signalbox;
beforeAll(async () => {
  const policy = testPolicy({ fake: upstream.url }, { best: { endpoints: ['fake'] } });
  const seeing = policy.replace('[tools, json_schema]', '[tools, json_schema, vision]');
  box = await startSignalbox({ policy: seeing, env: UPSTREAM_ENV });
});
afterAll(() => box.stop());

/** Requests the answer in JSON and as a stream. The JSON answer and the streamed answer must be equal except for IDs, times and costs. */
async function answers(body: object): Promise<readonly Json[]> {
  const json = await box.post('/v1/responses', { model: 'best', ...body });
  const whole = (await json.json()) as Json;
  expect(json.status).toBe(200);
  checkResponse(whole);
  const streamed = await box.post('/v1/responses', { model: 'best', stream: true, ...body });
  const last = checkStream(await streamed.text()).at(-1)!.response;
  if (!isObject(last)) throw new Error('the stream has no response');
  return [whole, last];
}

const message = (role: string, content: unknown) => ({ type: 'message', role, content });
const textIn = ({ output }: Json) => Object(listOf(Object(listOf(output)[0]).content)[0]).text;

test('a basic answer', async () => {
  upstream.behave({ text: 'Hello, you there.' });
  for (const answer of await answers({ input: [message('user', 'Say hello in exactly 3 words.')] })) {
    expect([answer.status, textIn(answer)]).toEqual(['completed', 'Hello, you there.']);
  }
});

test('a stream', async () => {
  upstream.behave({ text: ['1, ', '2, ', '3'] });
  const response = await box.post('/v1/responses', {
    model: 'best',
    stream: true,
    input: [message('user', 'Count to 3.')],
  });
  expect(response.headers.get('content-type')).toStartWith('text/event-stream');
  const events = checkStream(await response.text());
  expect(events.filter(({ type }) => type === 'response.output_text.delta').map(({ delta }) => delta)).toEqual([
    '1, ',
    '2, ',
    '3',
  ]);
  expect(events.at(-1)!.type).toBe('response.completed');
});

test('a system prompt', async () => {
  upstream.behave({ text: 'Arr!' });
  const input = [message('system', 'You are a pirate.'), message('user', 'Say hello.')];
  for (const answer of await answers({ input })) expect(textIn(answer)).toBe('Arr!');
  expect(upstream.requests.at(-1)!.asked.system).toBe('You are a pirate.');
});

test('a tool call', async () => {
  upstream.behave({ toolCalls: [{ name: 'get_weather', arguments: '{"location":"Bern"}' }] });
  const parameters = { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] };
  const tools = [{ type: 'function', name: 'get_weather', description: 'The weather.', parameters }];
  for (const { output } of await answers({ input: [message('user', 'The weather in Bern?')], tools })) {
    expect(output as object).toMatchObject([
      { type: 'function_call', name: 'get_weather', arguments: '{"location":"Bern"}' },
    ]);
  }
});

test('an image', async () => {
  upstream.behave({ text: 'A heart.' });
  const image_url =
    'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  const content = [
    { type: 'input_text', text: 'What is it?' },
    { type: 'input_image', image_url },
  ];
  for (const answer of await answers({ input: [message('user', content)] })) expect(textIn(answer)).toBe('A heart.');
  expect(upstream.requests.at(-1)!.asked.turns.at(-1)).toMatchObject({ text: 'What is it?', media: [image_url] });
});

test('several turns', async () => {
  upstream.behave({ text: 'You are Alice.' });
  const said = message('assistant', [{ type: 'output_text', text: 'Hello Alice!' }]);
  const input = [message('user', 'I am Alice.'), said, message('user', 'Who am I?')];
  for (const answer of await answers({ input })) expect(textIn(answer)).toBe('You are Alice.');
  expect(upstream.requests.at(-1)!.asked.turns.map(({ role, text }) => [role, text])).toEqual([
    ['user', 'I am Alice.'],
    ['assistant', 'Hello Alice!'],
    ['user', 'Who am I?'],
  ]);
});
