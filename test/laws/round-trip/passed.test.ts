import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { anthropic } from '../../../plugins/providers/anthropic.ts';
import { isObject, type Json } from '../../../plugins/providers/json.ts';
import { openai } from '../../../plugins/providers/openai.ts';
import type { WireAdapter } from '../../../src/contract/provider.ts';
import { tries } from '../../deep/effort.ts';
import { openaiAdapter } from '../../support/provider-call.ts';
import { readOn } from '../../support/read-request.ts';
import { wireAdapter } from '../../support/wire-request.ts';
import { CHAT } from './chat.ts';
import { MESSAGES } from './messages.ts';
import { RESPONSES } from './responses.ts';
import { callFor, jsonObject, type RoundTrip, withEach, words } from './round-trip.ts';

/**
 * The law: a request in its endpoint's own dialect is passed through unchanged, with everything that its schema names and with unknown
 * members.
 */
interface PassedDialect {
  readonly dialect: RoundTrip;
  readonly adapter: WireAdapter;
  /** A model that accepts everything in its dialect, such as system messages within a conversation. */
  readonly upstream: string;
  /** The fields that the gateway changes for routing and money, and because it stores no history. */
  readonly changed: readonly string[];
}

const PASSED: readonly PassedDialect[] = [
  {
    dialect: CHAT,
    adapter: openaiAdapter({
      ...{ cache_hints: 'sent', reasoning_history: 'reasoning_details' },
      ...{ developer_role: 'developer', empty_content: 'null' },
    }),
    upstream: 'gpt-6-terra',
    // Settings that equal their defaults are left out. The law of round trips covers them.
    changed: [
      ...['model', 'max_tokens', 'max_completion_tokens', 'stream', 'stream_options', 'stop', 'n', 'response_format'],
      ...['frequency_penalty', 'presence_penalty', 'logit_bias', 'messages[]'],
    ],
  },
  {
    dialect: MESSAGES,
    adapter: wireAdapter(anthropic.prepare({ service: 'anthropic', prompt_cache: 'auto', threads: false })),
    upstream: 'claude-opus-5-5',
    changed: ['model', 'max_tokens', 'stream'],
  },
  {
    dialect: RESPONSES,
    adapter: wireAdapter(openai.prepare({ service: 'openai', reasoning_summaries: 'auto' })),
    upstream: 'gpt-6-terra',
    changed: ['model', 'max_output_tokens', 'store', 'include', 'stream'],
  },
];

/** Adds an unknown member to every n-th object. In the metadata, Anthropic accepts only one member. */
function withUnknown(body: Json, every: number, value: unknown): Json {
  let objects = 0;
  return withEach(body, (one) => (++objects % every === 0 && !('user_id' in one) ? { ...one, x_future: value } : one));
}

const textOf = ({ changed }: PassedDialect, body: Json): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(body)
      .filter(([name]) => !changed.includes(name))
      // The members of a chat's messages may change their order.
      .map(([name, value]) => [name, changed.includes(`${name}[]`) ? value : JSON.stringify(value)]),
  );

function sentOf({ dialect, adapter, upstream }: PassedDialect, body: Json): Json {
  const { request } = readOn(dialect.route, structuredClone(body));
  const model = { ...callFor(request, {}).model, capabilities: ['reasoning'] as const };
  const made = adapter.request(callFor(request, { model, upstream }));
  if (!('body' in made)) throw new Error(made.message);
  const sent: unknown = JSON.parse(made.body);
  if (!isObject(sent)) throw new Error('the body is not an object');
  return sent;
}

const goesOut = (one: PassedDialect, spoil: (sent: Json) => Json = (sent) => sent) =>
  fc.property(
    one.dialect.bodies,
    fc.integer({ min: 2, max: 9 }),
    fc.oneof(words, jsonObject),
    (given, every, value) => {
      const body = withUnknown(given, every, value);
      expect(textOf(one, spoil(sentOf(one, body)))).toEqual(textOf(one, body));
    },
  );

describe.each(PASSED.map((one) => [one.dialect.route.path, one] as const))('a request of %s', (name, one) => {
  test('a request in its endpoint’s dialect is passed through unchanged: cache marks, signatures, unknown members, unusual characters and the order of members', () => {
    fc.assert(goesOut(one), tries(`requests of ${name} are passed through unchanged`, 30, 5_000));
  });

  test.each<[string, (sent: Json) => Json]>([
    ['an unknown member is lost', (sent) => withEach(sent, ({ x_future: _, ...rest }) => rest)],
    ['a surrogate is replaced', (sent) => JSON.parse(JSON.stringify(sent).replaceAll(/\\ud[89a-f]../g, '\\ufffd'))],
    ['letters are normalized', (sent) => JSON.parse(JSON.stringify(sent).normalize('NFC'))],
  ])('the law detects that %s', (_, spoil) => {
    expect(fc.check(goesOut(one, spoil), { numRuns: 2_000, endOnFailure: true }).failed).toBe(true);
  });
});
