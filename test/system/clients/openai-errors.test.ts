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

    test('a wrong key is an AuthenticationError', async () => {
      const stranger = new OpenAI({ apiKey: 'sb_live_wrong', baseURL: bench.baseURL });
      const error = await create({}, stranger);
      expect(error).toBeInstanceOf(OpenAI.AuthenticationError);
      expect(error).toMatchObject({ status: 401, code: 'invalid_api_key', type: 'authentication_error' });
      expect(error.requestID).toStartWith('req_');
    });

    test('a key without the scope is a PermissionDeniedError', async () => {
      const { out } = await bench.box.run('keys', 'create', '--scope', 'route');
      const key = out.split('\n')[0]!;
      const reader = new OpenAI({ apiKey: key, baseURL: bench.baseURL });
      // The server reads keys anew every so often.
      await waitFor(
        async () => (await fetch(`${bench.baseURL}/models`, { headers: { authorization: `Bearer ${key}` } })).ok,
        5_000,
      );
      const error = await create({}, reader);
      expect(error).toBeInstanceOf(OpenAI.PermissionDeniedError);
      expect(error).toMatchObject({ status: 403, code: 'insufficient_permissions', type: 'permission_error' });
    });

    test('an unknown model is a NotFoundError', async () => {
      const error = await create({ model: 'no-such-model' });
      expect(error).toBeInstanceOf(OpenAI.NotFoundError);
      expect(error).toMatchObject({ code: 'model_not_found', param: 'model' });
    });

    test('a wrong field is a BadRequestError that names it', async () => {
      const error = await create({ temperature: 3 });
      expect(error).toBeInstanceOf(OpenAI.BadRequestError);
      expect(error).toMatchObject({ code: 'out_of_range', param: 'temperature', type: 'invalid_request_error' });
    });

    test('a budget_limit that is too low tells the least in its details', async () => {
      const error = await create({ budget_limit: 0.000_001 });
      expect(error).toBeInstanceOf(OpenAI.BadRequestError);
      expect(error).toMatchObject({ code: 'budget_limit_too_low', param: 'budget_limit' });
      expect(error.error).toMatchObject({ details: { least_credits: expect.any(Number) } });
    });

    test('what the upstream refuses is a BadRequestError', async () => {
      bench.upstream.next({ status: 400, error: { message: 'Bad picture.', type: 'invalid_request_error' } });
      const error = await create({ model: 'best' });
      expect(error).toBeInstanceOf(OpenAI.BadRequestError);
      expect(error.code).toBe('upstream_rejected_request');
    });

    test('constraints that leave no model are an UnprocessableEntityError', async () => {
      const error = await create({ constraints: { required_languages: ['klingon'] } });
      expect(error).toBeInstanceOf(OpenAI.UnprocessableEntityError);
      expect(error).toMatchObject({ code: 'no_eligible_model' });
    });

    test('an upstream that asks to slow down is a RateLimitError', async () => {
      bench.upstream.next({ status: 429, headers: { 'retry-after-ms': '1' } });
      const error = await create({ model: 'best' });
      expect(error).toBeInstanceOf(OpenAI.RateLimitError);
      expect(error).toMatchObject({ code: 'upstream_rate_limited', type: 'rate_limit_error' });
      // Until then the gateway answers for it.
      await Bun.sleep(10);
    });

    test('an upstream that fails is an InternalServerError, before a stream begins too', async () => {
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

    /** Runs a call and counts what it made of requests upstream. */
    async function counted<T>(call: () => PromiseLike<T>): Promise<{ result: T; requests: number; ms: number }> {
      const before = bench.upstream.requests.length;
      const since = performance.now();
      const result = await call();
      return { result, requests: bench.upstream.requests.length - before, ms: performance.now() - since };
    }

    test('wait on 429 as long as we say, and then succeed', async () => {
      // Left alone, the client waits half a second at most before its first retry.
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

    test('go on after a 5xx that cost nothing', async () => {
      bench.upstream.next({ status: 500 }, { text: 'Back again.' });
      const { result, requests } = await counted(() => patient().chat.completions.create({ model: 'best', messages }));
      expect(result.choices[0]?.message.content).toBe('Back again.');
      expect(requests).toBe(2);
    });

    test('stop at once where we forbid them, although the status is 5xx', async () => {
      // The deadline cuts the upstream off at work: what it made is billed, so nobody should repeat it blindly.
      bench.upstream.behave({ headersAfterMs: 1_000 });
      const { result: error, requests } = await counted(() =>
        rejection(patient().chat.completions.create({ model: 'hasty', messages })),
      );
      expect(error).toBeInstanceOf(OpenAI.InternalServerError);
      expect(error).toMatchObject({ status: 504, code: 'upstream_timeout' });
      expect(error.headers?.get('x-should-retry')).toBe('false');
      expect(requests).toBe(1);
    });

    test('never repeat a request that is wrong', async () => {
      const body = { model: 'auto', messages, constraints: { max_latency_ms: 1 } };
      const { result: error, requests } = await counted(() => rejection(patient().chat.completions.create(body)));
      expect(error.status).toBe(422);
      expect(requests).toBe(0);
    });
  });
});
