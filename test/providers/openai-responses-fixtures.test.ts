import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StreamPart } from '../../src/contract/parts.ts';
import { isPlausible } from '../../src/core/money/usage.ts';
import { details, finish, refusal, text, thought, toolCall, usedByDefault } from '../support/parts.ts';
import { joinParts } from '../support/provider-call.ts';
import { streamed } from '../support/wire-request.ts';
import { openaiOf } from './fixtures/openai-responses/adapter.ts';

const FOLDER = join(import.meta.dir, 'fixtures/openai-responses');
const adapter = openaiOf();

/** Returns the parts of a body, unstreamed or streamed. */
function partsIn(name: string, reading = adapter): StreamPart[] {
  const body = readFileSync(join(FOLDER, name), 'utf8');
  return joinParts(name.endsWith('.json') ? reading.reply(body) : streamed(reading, body));
}

const failure = (kind: 'server' | 'rate_limited', message: string): StreamPart => ({
  type: 'failure',
  failure: { kind, message: expect.stringContaining(message), status: undefined },
});
const call = (index: number, id: string, city: string) => toolCall(index, id, 'get_weather', JSON.stringify({ city }));
const state = (...all: object[]) => details(...all.map((detail) => ({ format: 'openai-responses-v1', ...detail })));
const encrypted = (index: number, id: string, data: string) => ({ type: 'reasoning.encrypted', data, index, id });
const summary = (index: number, id: string, text: string) => ({ type: 'reasoning.summary', summary: text, index, id });
const THOUGHTS = ['**Looking**\n\nWhere is it?', '**Choosing**\n\nOslo, then.'];

const TABLE: Readonly<Record<string, readonly StreamPart[]>> = {
  'success.json': [
    text('Rain, later sun.'),
    state(encrypted(0, 'rs_1', 'gAAAAABq1')),
    finish('stop', 'completed'),
    usedByDefault(2006, 1920, 64, 300, 192),
  ],
  'stream.sse': [
    text('Rain, later sun.'),
    state(encrypted(0, 'rs_1', 'gAAAAABq1')),
    finish('stop', 'completed'),
    usedByDefault(12, 0, 0, 9, 0),
  ],
  'thinking-call.json': [
    thought(THOUGHTS.join('\n\n')),
    text('I shall look.'),
    call(0, 'call_A1', 'Oslo'),
    state(...THOUGHTS.map((words) => summary(0, 'rs_1', words)), encrypted(0, 'rs_1', 'gAAAAABq1')),
    finish('tool_calls', 'completed'),
    usedByDefault(90, 0, 0, 60, 40),
  ],
  'parallel-calls.sse': [
    thought('**Two cities**\n\nOslo first.'),
    call(0, 'call_A1', 'Oslo'),
    call(1, 'call_B2', 'Rome'),
    state(
      ...['**Two cities**', 'Oslo first.'].map((words) => summary(0, 'rs_1', words)),
      encrypted(0, 'rs_1', 'gAAAAABq1'),
      encrypted(2, 'rs_2', 'gAAAAABq2'),
    ),
    finish('tool_calls', 'completed'),
    usedByDefault(80, 64, 0, 44, 20),
  ],
  'refusal.json': [refusal('I can’t help with that.'), finish('stop', 'completed'), usedByDefault(20, 0, 0, 8, 0)],
  'length.json': [
    state(encrypted(0, 'rs_1', 'gAAAAABq1')),
    finish('length', 'max_output_tokens'),
    usedByDefault(20, 0, 0, 64, 64),
  ],
  'filtered.sse': [text('As for'), finish('content_filter', 'content_filter'), usedByDefault(20, 0, 0, 2, 0)],
  'failed.json': [failure('server', 'failed to generate')],
  'failed.sse': [text('Half'), usedByDefault(20, 0, 0, 2, 0), failure('rate_limited', 'Rate limit reached')],
  'error.sse': [failure('server', 'An error occurred')],
};

describe('a body of the Responses API', () => {
  test.each(Object.keys(TABLE))('is read correctly: %s', (name) => {
    expect(partsIn(name)).toEqual([...(TABLE[name] ?? [])]);
  });

  test('is in the table above, and reports plausible usage', () => {
    const names = readdirSync(FOLDER).filter((name) => /\.(?:sse|json)$/.test(name) && name !== 'errors.json');
    expect(names.toSorted()).toEqual(Object.keys(TABLE).toSorted());
    for (const part of Object.values(TABLE).flat())
      if (part.type === 'usage' && part.usage) expect(isPlausible(part.usage)).toBe(true);
  });

  test('has Azure’s format on reasoning from Azure', () => {
    const parts = partsIn('success.json', openaiOf({ service: 'azure' }));
    const details = parts.flatMap((part) => (part.type === 'state' ? (part.details ?? []) : []));
    expect(details.map(({ format }) => format)).toEqual(['azure-openai-responses-v1']);
  });
});

interface ErrorCase {
  readonly by: string;
  readonly status: number;
  readonly kind: string;
  readonly body: unknown;
}
const ERRORS: ErrorCase[] = JSON.parse(readFileSync(join(FOLDER, 'errors.json'), 'utf8'));

describe('a refusal because of', () => {
  test.each(ERRORS.map((one) => [one.by, one] as const))('%s has the right kind and an explanation', (_, one) => {
    const failed = adapter.failure(one.status, new Headers(), JSON.stringify(one.body));
    expect<string>(failed.kind).toBe(one.kind);
    expect(failed.message).toMatch(/\w{3}/);
    expect(failed.message).not.toContain('{');
  });
});

describe('a response that failed', () => {
  test.each([
    ['server_error', 'server'],
    ['rate_limit_exceeded', 'rate_limited'],
    ['context_length_exceeded', 'context'],
    ['vector_store_timeout', 'server'],
    ['invalid_prompt', 'rejected'],
    ['bio_policy', 'rejected'],
    ['misalignment_policy_violation', 'rejected'],
    ['image_content_policy_violation', 'rejected'],
    ['failed_to_download_image', 'rejected'],
    ['invalid_base64_image', 'rejected'],
  ])('with %s is of the kind %s', (code, kind) => {
    const error = { code, message: 'It failed.' };
    const body = { object: 'response', status: 'failed', error, output: [], usage: null };
    const event = { type: 'response.failed', response: body };
    for (const parts of [
      adapter.reply(JSON.stringify(body)),
      adapter.stream().read({ event: event.type, data: JSON.stringify(event) }),
      adapter.stream().read({ event: 'error', data: JSON.stringify({ type: 'error', ...error }) }),
    ]) {
      expect(parts).toMatchObject([{ type: 'failure', failure: { kind, message: 'It failed.' } }]);
    }
  });

  test.each(['cancelled', 'in_progress', 'queued', undefined])('or stayed %s is not an answer', (status) => {
    const parts = adapter.reply(JSON.stringify({ object: 'response', status, output: [] }));
    expect(parts).toMatchObject([{ type: 'failure', failure: { kind: 'cut' } }]);
  });
});
