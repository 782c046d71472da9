import { expect } from 'bun:test';
import { type Json, objectOf, objectsIn, textOf } from '../../../plugins/providers/json.ts';
import type { Platform } from '../../../src/core/decision/answer.ts';
import type { ErrorCode } from '../../../src/core/errors.ts';
import { generateContent } from '../../../src/dialects/google-gemini/surface.ts';
import type { AnswerContent, CallerSurface } from '../../fault/surfaces.ts';
import { CONTRACT } from '../../support/error-contract.ts';

/** Google's names of the errors that upstreams can cause, by Signalbox's code. */
const STATUSES: Partial<Record<ErrorCode, string>> = {
  upstream_failed: 'UNAVAILABLE',
  upstream_timeout: 'DEADLINE_EXCEEDED',
  upstream_rate_limited: 'RESOURCE_EXHAUSTED',
  upstream_out_of_credit: 'UNAVAILABLE',
  no_healthy_model: 'UNAVAILABLE',
};

const REASONS: Readonly<Record<string, 'stop'>> = { STOP: 'stop' };

function contentIn(responses: readonly Json[]): Omit<AnswerContent, 'error'> {
  const candidates = responses.flatMap((response) => objectsIn(response.candidates));
  const parts = candidates.flatMap(({ content }) => objectsIn(objectOf(content).parts));
  const calls = parts.flatMap(({ functionCall }) => (functionCall ? [objectOf(functionCall)] : []));
  const [reason, ...others] = candidates.flatMap(({ finishReason }) => textOf(finishReason) || []);
  expect(others).toEqual([]);
  return {
    text: parts.map(({ text }) => textOf(text)).join(''),
    tools: calls.map(({ id, name, args }) => ({ id: textOf(id), name: textOf(name), arguments: args })),
    finish: calls.length > 0 && reason === 'STOP' ? 'tools' : (REASONS[reason ?? ''] ?? null),
    platform: responses.at(-1)?.platform as Platform | undefined,
  };
}

/** Callers of Gemini's API, for the tests that run in each dialect. */
export const CALLER: CallerSurface = {
  name: 'gemini',
  path: '/v1beta/models/best:generateContent',
  request: (model, isStream, body) => ({
    path: `/v1beta/models/${model}:${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body,
  }),
  reads: generateContent,
  passes: null,
  field: 'contents',
  body: (cap, name, question = 'Say hello.') => ({
    contents: [{ role: 'user', parts: [{ text: question }] }],
    generationConfig: { maxOutputTokens: cap },
    ...(name !== null && { tools: [{ functionDeclarations: [{ name }] }] }),
  }),
  content: (body) => ({ ...contentIn([body]), error: undefined }),
  streamed(text) {
    const events = text
      .split('\n\n')
      .filter((event) => event !== '')
      .map((event) => objectOf(JSON.parse(event.slice('data: '.length))));
    const last = events.at(-1)!;
    if (!last.error) return { ...contentIn(events), error: undefined };
    return { ...contentIn(events.slice(0, -1)), platform: last.platform as Platform, error: CALLER.failure(last) };
  },
  failure(body) {
    const { status, details } = objectOf(body.error);
    const [info, ...more] = objectsIn(details);
    const fields = more.flatMap(({ fieldViolations }) => objectsIn(fieldViolations).map(({ field }) => field));
    return { type: textOf(status), code: textOf(info?.reason).toLowerCase(), param: fields[0] ?? null };
  },
  typeOf: (code) => STATUSES[code] ?? (CONTRACT[code][0] === 404 ? 'NOT_FOUND' : 'INVALID_ARGUMENT'),
};
