import { describe, expect, test } from 'bun:test';
import type Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import type { Response as OpenAiResponse, ResponseErrorEvent } from 'openai/resources/responses/responses';
import { isObject, type Json } from '../../plugins/providers/json.ts';
import { untilBreak } from '../support/answers.ts';
import { startBench } from '../support/dialect-bench.ts';
import type { Behaviour } from '../support/fake-upstream.ts';
import { demandedNulls } from '../support/open-responses/schemas.ts';

/**
 * Members without a value. The official clients' types, and the schemas of Open Responses, say which members are always present and may be
 * null: these are null, and all others are left out. A member that a client's validator rejects as null is also left out.
 *
 * `tsc` compares these tables with the types, so a member that a new version requires is missing here.
 */
type Demanded<T> = { [K in keyof T]-?: undefined extends T[K] ? never : null extends T[K] ? K : never }[keyof T];
/** `null`, or left out with the reason. */
type Form = 'null' | `left out: ${string}`;
type Table<T> = Readonly<Record<Demanded<T>, Form>>;

const MESSAGE: Table<Anthropic.Message> = {
  container: 'null',
  diagnostics: 'null',
  stop_details: 'null',
  stop_reason: 'null',
  stop_sequence: 'null',
};
const MESSAGE_USAGE: Table<Anthropic.Usage> = {
  cache_creation: 'null',
  cache_creation_input_tokens: 'null',
  cache_read_input_tokens: 'null',
  inference_geo: 'null',
  output_tokens_details: 'null',
  server_tool_use: 'null',
  service_tier: 'null',
  speed: 'null',
};
const DELTA: Table<Anthropic.RawMessageDeltaEvent.Delta> = {
  container: 'null',
  stop_details: 'null',
  stop_reason: 'null',
  stop_sequence: 'null',
};
const DELTA_USAGE: Table<Anthropic.MessageDeltaUsage> = {
  cache_creation_input_tokens: 'null',
  cache_read_input_tokens: 'null',
  input_tokens: 'null',
  output_tokens_details: 'null',
  server_tool_use: 'null',
};
const STOP_DETAILS: Table<Anthropic.RefusalStopDetails> = { category: 'null', explanation: 'null' };
const TEXT_BLOCK: Table<Anthropic.TextBlock> = {
  citations: 'left out: `@ai-sdk/anthropic` 2 and 3 refuse null, and Anthropic’s own service leaves it out',
};
const MESSAGES_ERROR: Table<Anthropic.ErrorResponse> = { request_id: 'null' };

const CHOICE: Table<OpenAI.ChatCompletion.Choice> = { logprobs: 'null' };
const CHAT_MESSAGE: Table<OpenAI.ChatCompletionMessage> = { content: 'null', refusal: 'null' };
const LOGPROBS: Table<OpenAI.ChatCompletion.Choice.Logprobs> = { content: 'null', refusal: 'null' };
const CHUNK_CHOICE: Table<OpenAI.ChatCompletionChunk.Choice> = {
  finish_reason: 'left out: every validator takes its absence, and every chunk would bear it',
};
const ERROR: Table<OpenAI.ErrorObject> = { code: 'null', param: 'null' };

const RESPONSE: Table<OpenAiResponse> = {
  access_programs: 'left out: it tells of OpenAI’s own accounts, and Open Responses does not know it',
  error: 'null',
  incomplete_details: 'null',
  instructions: 'null',
  metadata: 'null',
  temperature: 'null',
  top_p: 'null',
};
const RESPONSE_ERROR: Table<ResponseErrorEvent> = { code: 'null', param: 'null' };
const always = (...names: readonly string[]): Readonly<Record<string, Form>> =>
  Object.fromEntries(names.map((name) => [name, 'null']));

/** The table for the object at each path: the type of the whole answer, then members; elements of a list by their own type. */
const TABLES: Readonly<Record<string, Readonly<Record<string, Form>>>> = {
  message: MESSAGE,
  'message.usage': MESSAGE_USAGE,
  'message.stop_details': STOP_DETAILS,
  'message.content[text]': TEXT_BLOCK,
  'message_start.message': MESSAGE,
  'message_start.message.usage': MESSAGE_USAGE,
  'content_block_start.content_block(text)': TEXT_BLOCK,
  'message_delta.delta': DELTA,
  'message_delta.delta.stop_details': STOP_DETAILS,
  'message_delta.usage': DELTA_USAGE,
  'messages error': MESSAGES_ERROR,
  'chat.completion.choices[]': CHOICE,
  'chat.completion.choices[].message': CHAT_MESSAGE,
  'chat.completion.choices[].logprobs': LOGPROBS,
  'chat.completion.chunk.choices[]': CHUNK_CHOICE,
  'chat.completion.chunk.choices[].logprobs': LOGPROBS,
  'openai error.error': ERROR,
  response: { ...always(...demandedNulls('ResponseResource')), ...RESPONSE },
  'response.reasoning': always(...demandedNulls('Reasoning')),
  'response.tools[function]': always(...demandedNulls('FunctionTool')),
  'responses error': RESPONSE_ERROR,
  'responses error.error': always(...demandedNulls('ErrorPayload')),
};

/** Yields every object in an answer with its path. The object `platform` and its contents are Signalbox's own. */
function* placesIn(value: unknown, place: string): Generator<readonly [string, Json]> {
  if (Array.isArray(value)) {
    for (const one of value) yield* placesIn(one, `${place}[${isObject(one) ? String(one.type ?? '') : ''}]`);
  } else if (isObject(value)) {
    yield [place, value];
    for (const [name, member] of Object.entries(value)) {
      if (name === 'platform') continue;
      const block = name === 'content_block' && isObject(member) ? `(${String(member.type)})` : '';
      yield* placesIn(member, name === 'response' ? 'response' : `${place}.${name}${block}`);
    }
  }
}

/** Returns the objects in the data of a stream. */
const eventsIn = (text: string): Json[] =>
  [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data = '']) => JSON.parse(data) as Json);

const ask = 'Say hello.';
const SURFACES = {
  chat: {
    path: '/v1/chat/completions',
    body: { messages: [{ role: 'user', content: ask }] },
    tool: { type: 'function', function: { name: 'weather', parameters: { type: 'object' } } },
  },
  messages: {
    path: '/v1/messages',
    body: { max_tokens: 1_000, messages: [{ role: 'user', content: ask }] },
    tool: { name: 'weather', input_schema: { type: 'object' } },
  },
  responses: {
    path: '/v1/responses',
    body: { input: ask },
    tool: { type: 'function', name: 'weather', parameters: { type: 'object' } },
  },
} as const;

const toolCalls = [{ name: 'weather', arguments: '{"city":"Bern"}', id: 'call_1' }];
const logprobs = { content: [{ token: 'Hi', logprob: -0.1, bytes: null, top_logprobs: [] }], refusal: null };
const SAID: Readonly<Record<string, Behaviour>> = {
  text: { text: ['Hel', 'lo'] },
  'text whose tokens the provider did not count': { text: 'Hello', usage: 'missing' },
  reasoning: { reasoning: 'Hm.', text: 'Yes.' },
  refusal: { text: [], refusal: 'I may not.' },
  'a call': { toolCalls },
  'a cut': { text: 'Hel', finish: 'length' },
};
const SCORED: Behaviour = {
  form: 'sse',
  raw: [
    { delta: { content: 'Hi' }, logprobs },
    { delta: {}, finish_reason: 'stop' },
  ].map((choice) => `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`),
};

describe.each(['chat', 'messages', 'responses'] as const)('translated answers of %s', (surface) => {
  const bench = startBench('openai');
  const { path, body, tool } = SURFACES[surface];
  const seen = new Set<string>();

  /** Compares every object of an answer with the table for its path. */
  function compare(answer: Json): void {
    const root = !isObject(answer.error)
      ? String(answer.object ?? answer.type ?? '')
      : `${answer.type === 'error' ? surface : 'openai'} error`;
    for (const [place, value] of placesIn(answer, root)) {
      const forms = TABLES[place] ?? {};
      if (place in TABLES) seen.add(place);
      for (const [name, member] of Object.entries(value)) {
        // The contents of token probabilities come from the upstream.
        if (member === null && !place.includes('logprobs.')) {
          expect(`${place}.${name}: ${forms[name] ?? 'left out'}`).toBe(`${place}.${name}: null`);
        }
      }
      for (const [name, form] of Object.entries(forms)) {
        expect(`${place}.${name} is ${name in value}`).toBe(
          `${place}.${name} is ${form === 'null' || value[name] != null}`,
        );
      }
    }
  }

  async function answersTo(behaviour: Behaviour, stream: boolean, more: object = {}): Promise<void> {
    bench.upstream.next(behaviour);
    const answer = await bench.box.post(path, { model: 'best', ...body, tools: [tool], stream, ...more });
    const text = await untilBreak(answer);
    if (!answer.headers.get('content-type')?.startsWith('text/event-stream')) compare(JSON.parse(text) as Json);
    else for (const event of eventsIn(text)) compare(event);
  }

  test.each(Object.keys(SAID))('%s: a member is null only if it must be present', async (name) => {
    for (const stream of [false, true]) await answersTo(SAID[name]!, stream);
  });

  test('members of probabilities, of errors and of a broken stream are null only if they must be present', async () => {
    if (surface === 'chat') await answersTo(SCORED, true, { logprobs: true });
    if (surface === 'chat') await answersTo(SCORED, false, { logprobs: true });
    await answersTo({ status: 500 }, false);
    await answersTo({ text: ['one ', 'two ', 'three'], cutAfter: bench.eventsWith(2) }, true);
  });

  test('the tests used every member in the tables', () => {
    const own = { chat: /^chat|^openai/, messages: /^message|^content_block/, responses: /^response/ }[surface];
    expect(Object.keys(TABLES).filter((place) => own.test(place) && !seen.has(place))).toEqual([]);
  });
});
