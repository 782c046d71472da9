import { afterEach, beforeAll, describe, expect, test } from 'bun:test';
import OpenAI from 'openai';
import { waitFor } from '../../support/answers.ts';
import { startBench, UPSTREAM_DIALECTS } from '../../support/dialect-bench.ts';
import { inTime } from '../../support/in-time.ts';
import { rejection } from './openai-rejection.ts';

describe.each(UPSTREAM_DIALECTS)('%s', (dialect) => {
  const bench = startBench(dialect);
  let client: OpenAI;

  beforeAll(() => {
    client = new OpenAI({ apiKey: bench.box.key, baseURL: bench.baseURL, maxRetries: 0 });
  });
  afterEach(() => bench.upstream.behave({}));

  const messages = [{ role: 'user' as const, content: 'Say hello.' }];

  describe('errors', () => {
    const create = (body: object, from = client) =>
      rejection(from.chat.completions.create({ model: 'auto', messages, ...body, stream: false }));

    test('a wrong key raises an AuthenticationError', async () => {
      const stranger = new OpenAI({ apiKey: 'sb_live_wrong', baseURL: bench.baseURL });
      const error = await create({}, stranger);
      expect(error).toBeInstanceOf(OpenAI.AuthenticationError);
      expect(error).toMatchObject({ status: 401, code: 'invalid_api_key', type: 'authentication_error' });
      expect(error.requestID).toStartWith('req_');
    });

    test('a key without the scope raises a PermissionDeniedError', async () => {
      const { out } = await bench.box.run('keys', 'create', '--scope', 'route');
      const key = out.split('\n')[0]!;
      const reader = new OpenAI({ apiKey: key, baseURL: bench.baseURL });
      // The server reads keys at intervals.
      await waitFor(
        async () => (await fetch(`${bench.baseURL}/models`, { headers: { authorization: `Bearer ${key}` } })).ok,
        5_000,
      );
      const error = await create({}, reader);
      expect(error).toBeInstanceOf(OpenAI.PermissionDeniedError);
      expect(error).toMatchObject({ status: 403, code: 'insufficient_permissions', type: 'permission_error' });
    });

    test('an unknown model raises a NotFoundError', async () => {
      const error = await create({ model: 'no-such-model' });
      expect(error).toBeInstanceOf(OpenAI.NotFoundError);
      expect(error).toMatchObject({ code: 'model_not_found', param: 'model' });
    });

    test('a wrong field raises a BadRequestError that names the field', async () => {
      const error = await create({ temperature: 3 });
      expect(error).toBeInstanceOf(OpenAI.BadRequestError);
      expect(error).toMatchObject({ code: 'out_of_range', param: 'temperature', type: 'invalid_request_error' });
    });

    test('a budget_limit that is too low raises an error whose details have the minimum', async () => {
      const error = await create({ budget_limit: 0.000_001 });
      expect(error).toBeInstanceOf(OpenAI.BadRequestError);
      expect(error).toMatchObject({ code: 'budget_limit_too_low', param: 'budget_limit' });
      expect(error.error).toMatchObject({ details: { least_credits: expect.any(Number) } });
    });

    test('a request that the upstream refuses raises a BadRequestError', async () => {
      bench.upstream.next({ status: 400, error: { message: 'Bad picture.', type: 'invalid_request_error' } });
      const error = await create({ model: 'best' });
      expect(error).toBeInstanceOf(OpenAI.BadRequestError);
      expect(error.code).toBe('upstream_rejected_request');
    });

    test('constraints that leave no model raise an UnprocessableEntityError', async () => {
      const error = await create({ constraints: { required_languages: ['klingon'] } });
      expect(error).toBeInstanceOf(OpenAI.UnprocessableEntityError);
      expect(error).toMatchObject({ code: 'no_eligible_model' });
    });

    test('a rate limit of the upstream raises a RateLimitError', async () => {
      bench.upstream.next({ status: 429, headers: { 'retry-after-ms': '1' } });
      const error = await create({ model: 'best' });
      expect(error).toBeInstanceOf(OpenAI.RateLimitError);
      expect(error).toMatchObject({ code: 'upstream_rate_limited', type: 'rate_limit_error' });
      // Before this time, the gateway itself answers with the rate limit.
      await Bun.sleep(10);
    });

    test('a failing upstream raises an InternalServerError, also before a stream begins', async () => {
      for (const stream of [false, true]) {
        bench.upstream.next({ status: 500 });
        const error = await rejection(client.chat.completions.create({ model: 'best', messages, stream }));
        expect(error).toBeInstanceOf(OpenAI.InternalServerError);
        expect(error).toMatchObject({ status: 502, code: 'upstream_failed', type: 'upstream_error' });
      }
    });
  });

  describe('retries', () => {
    const patient = () => new OpenAI({ apiKey: bench.box.key, baseURL: bench.baseURL, maxRetries: 2 });

    /** Runs a call and counts the upstream requests that it causes. */
    async function counted<T>(call: () => PromiseLike<T>): Promise<{ result: T; requests: number; ms: number }> {
      const before = bench.upstream.requests.length;
      const since = performance.now();
      const result = await call();
      return { result, requests: bench.upstream.requests.length - before, ms: performance.now() - since };
    }

    test('the client waits on 429 as long as the header says, and then succeeds', async () => {
      // By itself, the client waits at most half a second before its first retry.
      await inTime(1_900, async () => {
        bench.upstream.next({ status: 429, headers: { 'retry-after': '1' } }, { text: 'Now.' });
        const { result, requests, ms } = await counted(() =>
          patient().chat.completions.create({ model: 'best', messages }),
        );
        expect(result.choices[0]?.message.content).toBe('Now.');
        expect(requests).toBe(2);
        expect(ms).toBeGreaterThanOrEqual(990);
      });
    });

    test('the client retries a 5xx that cost nothing', async () => {
      bench.upstream.next({ status: 500 }, { text: 'Back again.' });
      const { result, requests } = await counted(() => patient().chat.completions.create({ model: 'best', messages }));
      expect(result.choices[0]?.message.content).toBe('Back again.');
      expect(requests).toBe(2);
    });

    test('the client does not retry a 5xx for which our header forbids it', async () => {
      // The deadline stops a working upstream, which bills its output. Clients should therefore not repeat the request blindly.
      bench.upstream.behave({ headersAfterMs: 1_000 });
      const { result: error, requests } = await counted(() =>
        rejection(patient().chat.completions.create({ model: 'hasty', messages })),
      );
      expect(error).toBeInstanceOf(OpenAI.InternalServerError);
      expect(error).toMatchObject({ status: 504, code: 'upstream_timeout' });
      expect(error.headers?.get('x-should-retry')).toBe('false');
      expect(requests).toBe(1);
    });

    test('the client never repeats an invalid request', async () => {
      const body = { model: 'auto', messages, constraints: { max_latency_ms: 1 } };
      const { result: error, requests } = await counted(() => rejection(patient().chat.completions.create(body)));
      expect(error.status).toBe(422);
      expect(requests).toBe(0);
    });
  });
});
