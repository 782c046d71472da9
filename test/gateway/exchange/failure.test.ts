import { describe, expect, test } from 'bun:test';
import type { ProviderFailure } from '../../../src/contract/parts.ts';
import {
  type FailedAttempt,
  failedError,
  failureText,
  unansweredError,
} from '../../../src/gateway/exchange/failure.ts';
import { sanitizeFailure } from '../../../src/providers/failures.ts';
import type { UnavailableEndpoint } from '../../../src/routing/unavailable.ts';
import { chatRequest } from '../../support/model-request.ts';

const attempt = (model: string, failure: ProviderFailure, sent = true): FailedAttempt => ({
  model,
  provider: model,
  upstream: `${model}-upstream`,
  failure,
  requestId: null,
  sent,
});
const unsayable = attempt('b', { kind: 'rejected', message: 'messages[0].content[0] is no text' }, false);
const codeOf = (attempts: readonly FailedAttempt[]) => failedError(attempts, false, chatRequest()).code;

describe('an attempt that was never sent does not hide the failure of another attempt', () => {
  test.each([
    ['rate_limited', 'upstream_rate_limited'],
    ['context', 'context_length_exceeded'],
    ['timeout', 'upstream_timeout'],
    ['server', 'upstream_failed'],
    ['auth', 'upstream_failed'],
  ] as const)('%s', (kind, code) => {
    const said = attempt('a', { kind, message: 'no', retryAfterMs: 7_000 });
    expect([codeOf([said, unsayable]), codeOf([unsayable, said])]).toEqual([code, code]);
  });

  test('the error says that the request cannot be expressed if no attempt was sent', () => {
    const { code, info } = failedError([unsayable, unsayable], false, chatRequest());
    expect([code, info.param]).toEqual(['upstream_rejected_request', 'messages[0].content[0]']);
  });
});

test.each([
  ['messages[0].content[1].file is no PDF', 'messages[0].content[1].file'],
  ['stream cannot be had of this model', 'stream'],
  ['too long for us', undefined],
  ['`stream` is none', undefined],
])(
  'the error of a request that was never sent names the faulty field if the adapter names it: %s',
  (message, param) => {
    const error = failedError(
      [attempt('m', { kind: 'rejected', message }, false)],
      false,
      chatRequest({ stream: true }),
    );
    expect(error.info.param).toBe(param!);
  },
);

test('the error describes every failed attempt in words, and shows the upstream’s name of a model only to operators', () => {
  const attempts = [
    attempt('a', { kind: 'not_found', message: 'no' }),
    attempt('b', { kind: 'connect', message: 'no' }),
    attempt('b', { kind: 'connect', message: 'no' }),
    unsayable,
  ];
  expect(failedError(attempts.slice(0, 3), false, chatRequest()).message).toBe(
    'Every attempt at a provider failed. `a`: its provider does not know the model; `b`: could not connect to its provider.',
  );
  expect(failureText(attempts[0]!, 'a-upstream')).toBe('its provider does not know the model `a-upstream`');
  expect(failureText(unsayable)).toBe('it cannot accept this request, and nothing was sent');
});

describe('the provider’s own error for a request that was passed through unchanged', () => {
  const original = { type: 'error', error: { type: 'invalid_request_error', message: 'thinking: signature' } };
  const refused = (status: number, words: ProviderFailure['original'] = original) =>
    failedError([attempt('a', { kind: 'rejected', message: 'no', status, original: words })], false, chatRequest());

  test.each([400, 413, 422])(
    'a client gets the provider’s own error body and status if the request is at fault: %d',
    (status) => {
      const error = refused(status);
      expect(error.info.original).toEqual({ dialect: 'openai-chat', status, body: original });
      expect(error.status).toBe(status);
    },
  );

  test('a client does not get the provider’s own error if the endpoint is at fault', () => {
    expect(refused(403).info.original).toBeUndefined();
  });

  test('the provider’s own error reaches the client without the endpoint’s key and other secrets', () => {
    const body = { error: { message: 'the key my-own-key is bad', list: ['sk-ant-api03-aaaaaaaaaaaaaaaaaaaaaaaa'] } };
    const { original: clean } = sanitizeFailure({ kind: 'rejected', message: '', original: body }, 'my-own-key');
    expect(JSON.stringify(clean)).not.toMatch(/my-own-key|sk-ant/);
    expect(clean).toMatchObject({ error: { message: expect.stringContaining('the key ') } });
  });
});

test('a provider’s error that is nested too deeply is cut off', () => {
  const deep = JSON.parse(`${'{"a":['.repeat(10_000)}1${']}'.repeat(10_000)}`);
  const original = { error: { message: 'No, sk-upstream-key.' }, deep };
  const failure = sanitizeFailure({ kind: 'rejected', message: 'No.', original }, 'sk-upstream-key');
  const text = JSON.stringify(failure.original);
  expect(text.length).toBeLessThan(300);
  expect(text).not.toContain('sk-upstream-key');
});

describe('a request that no attempt answered, some of whose endpoints were unavailable', () => {
  const unpaid = attempt('a', { kind: 'credit', message: 'no balance', status: 429, ofAccount: true });
  const cooling = { model: 'b', state: 'cooling', at: 91_000 } as const;
  const refused = { model: 'c', state: 'misconfigured', at: 31_000 } as const;
  const empty = { model: 'd', state: 'out_of_credit', at: 2_000 } as const;
  const errorOf = (failed: readonly FailedAttempt[], shut: readonly UnavailableEndpoint[]) =>
    unansweredError({ failed, shut, model: null, billed: false, request: chatRequest(), now: 1_000 });

  test('the error says to retry when the first unavailable endpoint returns', () => {
    const { code, info } = errorOf([], [cooling, { ...cooling, model: 'e', at: 99_000 }, empty]);
    expect([code, info.retryAfterMs]).toEqual(['upstream_rate_limited', 90_000]);
    expect(info.details?.unavailable).toEqual([
      { model: 'b', state: 'cooling' },
      { model: 'e', state: 'cooling' },
      { model: 'd', state: 'out_of_credit' },
    ]);
  });

  test('a refused key is reported only if no other endpoint returns', () => {
    expect(errorOf([], [cooling, refused]).code).toBe('upstream_rate_limited');
    expect(errorOf([], [refused, empty])).toMatchObject({ code: 'upstream_failed', info: { retry: false } });
    expect(errorOf([], [empty]).code).toBe('upstream_out_of_credit');
  });

  test('the error is the same for the attempt that finds a refused key and for the requests after it', () => {
    const denied = attempt('c', { kind: 'auth', message: 'no', status: 401 });
    for (const others of [[], [cooling], [refused]]) {
      const [first, later] = [errorOf([denied], others), errorOf([], [refused, ...others])];
      expect([first.code, first.info.retry, first.info.retryAfterMs]).toEqual([
        later.code,
        later.info.retry,
        later.info.retryAfterMs,
      ]);
    }
  });

  test('the error says to wait for the other endpoints although one attempt found no credit', () => {
    expect(errorOf([unpaid], [cooling]).code).toBe('upstream_rate_limited');
    expect(errorOf([unpaid], [empty]).code).toBe('upstream_out_of_credit');
    expect(errorOf([unpaid, attempt('f', { kind: 'server', message: 'no' })], [cooling]).code).toBe('upstream_failed');
  });
});

describe('a provider account without credit', () => {
  const unpaid = attempt('a', { kind: 'credit', message: 'no balance', status: 402 });

  test('the error says that the account has no credit if every attempt found no credit', () => {
    const { code, info, message } = failedError([unpaid, unsayable], false, chatRequest());
    expect([code, info.retryAfterMs]).toEqual(['upstream_out_of_credit', undefined]);
    expect(message).toContain('the provider of a has no credit left');
  });

  test('an account without credit does not hide the failures of other providers', () => {
    const limited = attempt('b', { kind: 'rate_limited', message: 'no', retryAfterMs: 7_000 });
    expect([codeOf([unpaid, limited]), codeOf([limited, unpaid])]).toEqual([
      'upstream_rate_limited',
      'upstream_rate_limited',
    ]);
    expect(codeOf([attempt('b', { kind: 'timeout', message: 'no' }), unpaid])).toBe('upstream_timeout');
  });
});
