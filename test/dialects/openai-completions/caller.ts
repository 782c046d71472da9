import { expect } from 'bun:test';
import { type Json, objectOf, objectsIn, textOf } from '../../../plugins/providers/json.ts';
import type { Platform } from '../../../src/core/decision/answer.ts';
import { createTextCompletion } from '../../../src/dialects/openai-completions/surface.ts';
import { openaiFailure, openaiType } from '../../fault/surface-chat.ts';
import type { AnswerContent, CallerSurface } from '../../fault/surfaces.ts';
import { completionsWire } from './wire.ts';

function contentIn(pieces: readonly Json[]): AnswerContent {
  expect(new Set(pieces.map(({ id, object, created, model }) => `${id} ${object} ${created} ${model}`)).size).toBe(1);
  const choices = pieces.flatMap((piece) => objectsIn(piece.choices));
  const [reason, ...others] = choices.flatMap(({ finish_reason }) => textOf(finish_reason) || []);
  expect(others).toEqual([]);
  return {
    text: choices.map(({ text }) => textOf(text)).join(''),
    tools: [],
    finish: reason === 'stop' ? 'stop' : null,
    platform: pieces.flatMap(({ platform }) => platform ?? []).at(-1) as Platform | undefined,
    error: undefined,
  };
}

/** Callers of OpenAI's older completions, for the tests that run in each dialect. */
export const CALLER: CallerSurface = {
  name: 'completions',
  path: '/v1/completions',
  reads: createTextCompletion,
  passes: null,
  servedBy: ['openai-compatible'],
  wires: [completionsWire],
  field: 'prompt',
  body: (cap, _, question = 'Say hello.') => ({ prompt: question, max_tokens: cap }),
  content: (body) => contentIn([body]),
  streamed(text) {
    const events = [...text.matchAll(/^data: (.*)\n\n/gm)].map(([, data = '']) => data);
    const isDone = events.at(-1) === '[DONE]';
    const pieces = (isDone ? events.slice(0, -1) : events).map((data) => objectOf(JSON.parse(data)));
    const last = pieces.at(-1)!;
    // A stream that was cut must not say that it is done.
    expect(isDone).toBe(last.error === undefined);
    if (isDone) return contentIn(pieces);
    return {
      ...contentIn(pieces.slice(0, -1)),
      platform: last.platform as Platform | undefined,
      error: openaiFailure(last),
    };
  },
  failure: openaiFailure,
  typeOf: openaiType,
};
