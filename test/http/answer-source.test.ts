import { describe, expect, test } from 'bun:test';
import type { HTTPHeaders } from 'elysia';
import type { StreamPart } from '../../src/contract/parts.ts';
import { SignalboxError } from '../../src/core/errors.ts';
import { CHUNKS } from '../../src/dialects/openai-chat/chunks.ts';
import { createCompletion } from '../../src/dialects/openai-chat/surface.ts';
import type { AnswerRoute, EventForm } from '../../src/dialects/surface.ts';
import { jsonBody } from '../../src/http/kit/answer.ts';
import { type StreamPolicy, sendTexts, streamResponse } from '../../src/http/kit/stream.ts';
import { LINES } from '../dialects/ollama/answer.ts';
import { createChat } from '../dialects/ollama/surface.ts';
import { ScriptedAnswer } from '../support/scripted-answer.ts';

/** Tests JSON answers and streams from scripted parts in every dialect, without an exchange. */
const BATCHES: readonly (readonly StreamPart[])[] = [
  [{ type: 'text', choice: 0, text: 'Hel' }],
  [
    { type: 'text', choice: 0, text: 'lo' },
    { type: 'finish', choice: 0, reason: 'stop', raw: 'stop' },
  ],
];
const broken = () => new SignalboxError('upstream_failed', 'It broke off.');
const ENDS: StreamPolicy = { commitAfterMs: 1_000, failedStreams: 'end' };
/** A text in the form of a provider's key. */
const SECRET = `sk-proj-${'a1B2c3D4'.repeat(6)}`;

const FORMS: readonly (readonly [string, AnswerRoute, EventForm])[] = [
  ['openai-chat', createCompletion, CHUNKS],
  ['ollama-chat', createChat, LINES],
];

describe.each(FORMS)('%s', (_, surface, form) => {
  test('a complete answer is one JSON body, with its model and price in the headers', async () => {
    const headers: HTTPHeaders = {};
    const body = await jsonBody(new ScriptedAnswer({ batches: BATCHES }), surface.json, headers);
    expect(body).toContain('Hello');
    expect(headers).toMatchObject({ 'content-type': 'application/json', 'x-signalbox-model': 'm' });
  });

  test.each([0, 1])('an answer that fails after %d batches is an error, and no part of it is shown', async (count) => {
    const source = new ScriptedAnswer({ batches: BATCHES.slice(0, count), error: broken() });
    expect(await jsonBody(source, surface.json, {}).catch((error: unknown) => error)).toEqual(broken());
  });

  test('an answer is not left unread if its writer fails', async () => {
    const source = new ScriptedAnswer({ batches: BATCHES });
    const failing = () => {
      throw new Error('a defect');
    };
    expect(jsonBody(source, failing, {})).rejects.toThrow('a defect');
    await Bun.sleep(0);
    expect(source.abandoned).toBe('caller-gone');
  });

  test('a stream has the content type of its form, and ends as its dialect requires', async () => {
    const source = new ScriptedAnswer({ batches: BATCHES });
    const response = await streamResponse(source, form, ENDS);
    expect(response.headers.get('content-type')).toBe(form.contentType);
    const text = await response.text();
    const writer = form.writer(source);
    expect(text).toBe(BATCHES.map((batch) => writer.write(batch)).join('') + writer.end(source.receipt!));
  });

  test('a failure before the first content and before the commit is an ordinary error response', async () => {
    const response = streamResponse(new ScriptedAnswer({ error: broken() }), form, ENDS);
    expect(await response.catch((error: unknown) => error)).toEqual(broken());
  });

  test('after the commit time a heartbeat sends the headers, and a failure is the last event', async () => {
    const opened = Promise.withResolvers<void>();
    const source = new ScriptedAnswer({ opened: opened.promise, error: broken() });
    const { body } = await streamResponse(source, form, { ...ENDS, commitAfterMs: 1 });
    const reader = body!.getReader();
    const decoded = async () => new TextDecoder().decode((await reader.read()).value);
    expect(await decoded()).toBe(form.heartbeat);
    opened.resolve();
    expect(await decoded()).toBe(form.writer(source).error(broken(), source.receipt!.platform));
    expect((await reader.read()).done).toBe(true);
  });

  test('a failure after the first part is the last event, with its secrets removed', async () => {
    const error = new SignalboxError('upstream_failed', `It said ${SECRET}.`);
    const source = new ScriptedAnswer({ batches: BATCHES.slice(0, 1), error });
    const text = await (await streamResponse(source, form, ENDS)).text();
    expect(text).toContain('It said [secret].');
    expect(text).not.toContain(SECRET);
  });

  test('an answer is abandoned when its reader disconnects', async () => {
    const source = new ScriptedAnswer({ batches: BATCHES, isQuiet: true });
    const { body } = await streamResponse(source, form, ENDS);
    const reader = body!.getReader();
    await reader.read();
    await reader.cancel();
    expect(source.abandoned).toBe('caller-gone');
  });
});

test('the wait before a connection breaks ends at once when the reader disconnects', async () => {
  const gone = new AbortController();
  const sink = { write: () => 0, flush: () => 0, close: () => {}, end: () => 0, start: () => {} };
  const isBroken = sendTexts({ next: () => null, isOver: true, isBroken: true }, sink, gone.signal).then(
    () => false,
    () => true,
  );
  gone.abort();
  expect(await Promise.race([isBroken, Bun.sleep(200)])).toBe(true);
});
