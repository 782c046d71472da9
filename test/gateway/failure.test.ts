import { describe, expect, test } from 'bun:test';
import type { ProviderFailure } from '../../src/contract/parts.ts';
import { type FailedAttempt, failedError, failureText } from '../../src/gateway/failure.ts';
import { chatRequest } from '../support/model-request.ts';

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

describe('an attempt that was never sent does not hide the failure of another', () => {
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

  test('and is reported where no attempt was sent', () => {
    const { code, info } = failedError([unsayable, unsayable], false, chatRequest());
    expect([code, info.param]).toEqual(['upstream_rejected_request', 'messages[0].content[0]']);
  });
});

test.each([
  ['messages[0].content[1].file is no PDF', 'messages[0].content[1].file'],
  ['stream cannot be had of this model', 'stream'],
  ['too long for us', undefined],
  ['`stream` is none', undefined],
])('what was never sent is told with its field, where it names one: %s', (message, param) => {
  const error = failedError([attempt('m', { kind: 'rejected', message }, false)], false, chatRequest({ stream: true }));
  expect(error.info.param).toBe(param!);
});

test('every failed attempt is given in words, and the upstream’s name of a model to operators alone', () => {
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
  expect(failureText(unsayable)).toBe('it cannot take this request, and nothing was sent');
});
