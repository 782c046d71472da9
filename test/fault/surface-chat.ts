import { expect } from 'bun:test';
import { objectOf, parseJson, textOf } from '../../plugins/providers/json.ts';
import type { Answer } from '../support/answers.ts';
import { CONTRACT } from '../support/error-contract.ts';
import type { AnswerContent, CallerSurface } from './surfaces.ts';

/** Reads completions and their chunks, and checks invariants of every chunk. */
export const chatContent: Pick<CallerSurface, 'content' | 'streamed'> = {
  content: (body) => contentOfJson(body as unknown as Answer),
  streamed: contentOfStream,
};

export const openaiFailure: CallerSurface['failure'] = (body) => {
  const { type, code, param } = objectOf(body.error);
  return { type: textOf(type), code: textOf(code), param };
};

/** The types of OpenAI's errors. */
export const openaiType: CallerSurface['typeOf'] = (code) => CONTRACT[code][1];

const finishOf = (reasons: readonly string[]): AnswerContent['finish'] => {
  expect(reasons.length).toBeLessThanOrEqual(1);
  const [reason] = reasons;
  return reason === 'stop' ? 'stop' : reason === 'tool_calls' ? 'tools' : null;
};

function contentOfStream(body: string): AnswerContent {
  const events = body.split('\n\n').filter((event) => event !== '' && !event.startsWith(':'));
  expect(events.filter((event) => !event.startsWith('data: '))).toEqual([]);
  const done = events.at(-1) === 'data: [DONE]';
  const chunks = (done ? events.slice(0, -1) : events).map((event): Answer => JSON.parse(event.slice('data: '.length)));
  const last = chunks.at(-1);
  const error = last?.error;
  // A stream that was cut must not say that it is done.
  expect(done).toBe(error === undefined);
  const good = error ? chunks.slice(0, -1) : chunks;
  expect(new Set(good.map(({ id, created, model }) => `${id} ${created} ${model}`)).size).toBe(1);
  expect(good[0]?.choices[0]?.delta.role).toBe('assistant');
  const choices = good.flatMap((chunk) => chunk.choices);
  const tools: { id: string; name: string; text: string }[] = [];
  for (const call of choices.flatMap(({ delta }) => delta.tool_calls ?? [])) {
    tools[call.index] ??= { id: call.id ?? '', name: call.function.name ?? '', text: '' };
    tools[call.index]!.text += call.function.arguments;
  }
  return {
    text: choices.map(({ delta }) => delta.content ?? '').join(''),
    tools: tools.map(({ id, name, text }) => ({ id, name, arguments: parseJson(text) })),
    finish: finishOf(choices.flatMap(({ finish_reason }) => finish_reason ?? [])),
    platform: last?.platform,
    error,
  };
}

function contentOfJson({ choices, platform }: Answer): AnswerContent {
  const messages = choices.map(({ message }) => message);
  return {
    text: messages.map(({ content }) => content ?? '').join(''),
    tools: messages.flatMap(({ tool_calls = [] }) =>
      tool_calls.map(({ id = '', function: { name = '', arguments: text } }) => ({
        id,
        name,
        arguments: parseJson(text),
      })),
    ),
    finish: finishOf(choices.flatMap(({ finish_reason }) => finish_reason ?? [])),
    platform,
    error: undefined,
  };
}
