import { describe, expect, test } from 'bun:test';
import type { ProviderFailure } from '../../src/contract/parts.ts';
import { streamed } from '../support/wire-request.ts';
import { fixture, geminiAdapter } from './fixtures/gemini/adapter.ts';

const adapter = geminiAdapter();
const read = (status: number, body: string) => adapter.failure(status, new Headers(), body);

describe('an error', () => {
  test.each<[string, number, ProviderFailure['kind'], number | undefined]>([
    ['api-key-invalid', 400, 'auth', undefined],
    ['unauthenticated', 401, 'auth', undefined],
    ['permission-denied', 403, 'auth', undefined],
    ['location', 400, 'auth', undefined],
    ['not-found', 404, 'not_found', undefined],
    ['invalid-argument', 400, 'rejected', undefined],
    ['unsigned-call', 400, 'rejected', undefined],
    ['context', 400, 'context', undefined],
    ['quota-minute', 429, 'rate_limited', 38_864],
    ['quota-day', 429, 'rate_limited', 3_600_000],
    ['exhausted', 429, 'rate_limited', undefined],
    ['internal', 500, 'server', undefined],
    ['overloaded', 503, 'overloaded', undefined],
    ['deadline', 504, 'timeout', undefined],
    ['cancelled', 499, 'server', undefined],
  ])('is classified by its meaning: %s', (name, status, kind, retryAfterMs) => {
    const body = fixture(`errors/${name}.json`);
    const failure = read(status, body);
    expect(failure).toMatchObject({ kind, status });
    expect(failure.retryAfterMs).toBe(retryAfterMs as number);
    expect(failure.message).not.toContain('\n');
    expect(body).toContain(failure.message.slice(0, 30));
    // An error that replaces an answer has the same meaning.
    const parsed = JSON.parse(body);
    const [answer] = Array.isArray(parsed) ? parsed : [parsed];
    expect(adapter.reply(JSON.stringify(answer))).toEqual([{ type: 'failure', failure }]);
  });

  test('with the status 404 says whether it concerns the model', () => {
    expect(read(404, fixture('errors/not-found.json')).unknownModel).toBe(true);
    const file = { error: { code: 404, message: 'File files/a1 is not found.', status: 'NOT_FOUND' } };
    expect(read(404, JSON.stringify(file))).toEqual({ kind: 'not_found', status: 404, message: file.error.message });
  });

  test.each<[number, string, ProviderFailure]>([
    [400, '', { kind: 'rejected', status: 400, message: 'status 400' }],
    [401, 'Go away', { kind: 'auth', status: 401, message: 'Go away' }],
    [403, '<html>no</html>', { kind: 'auth', status: 403, message: 'status 403' }],
    [413, '[]', { kind: 'context', status: 413, message: 'status 413' }],
    [418, 'null', { kind: 'rejected', status: 418, message: 'null' }],
    [429, '{"error":[]}', { kind: 'rate_limited', status: 429, message: 'status 429' }],
    [
      502,
      '{"error":{"message":7,"details":[1,{"retryDelay":5}]}}',
      { kind: 'server', status: 502, message: 'status 502' },
    ],
    [503, '{', { kind: 'overloaded', status: 503, message: 'status 503' }],
  ])('in another form is classified by its status: %i %s', (status, body, failure) => {
    expect(read(status, body)).toEqual(failure);
  });

  test.each([
    ['API key expired. Please renew the API key.', 'auth'],
    ['Cannot say how an API key not valid looks', 'rejected'],
    ['Request payload size exceeds the limit: 20971520 bytes.', 'context'],
  ])('with an invalid argument is classified by its message: %s', (message, kind) => {
    expect(read(400, JSON.stringify({ error: { message, status: 'INVALID_ARGUMENT' } })).kind).toBe(kind as 'auth');
  });

  test('within a stream ends it', () => {
    expect(streamed(adapter, fixture('errors/amid-stream.sse')).at(-1)).toEqual({
      type: 'failure',
      failure: { kind: 'overloaded', status: 503, message: 'The model is overloaded. Please try again later.' },
    });
    const odd = (data: string) => adapter.stream().read({ event: '', data });
    expect(odd('{"error":"boom"}')).toEqual([{ type: 'failure', failure: { kind: 'server', message: 'boom' } }]);
    expect(odd('{"error":{"status":"RESOURCE_EXHAUSTED"}}')).toEqual([
      { type: 'failure', failure: { kind: 'rate_limited', message: 'the upstream reported an error' } },
    ]);
  });
});
