import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { nineLetters } from '../../plugins/providers/call-ids.ts';
import { presets } from '../../plugins/providers/openai-compatible/presets.ts';
import type { ChatMessage } from '../../src/core/api/chat-request.ts';
import { callerMessage } from '../support/caller-message.ts';
import { openaiAdapter, providerCall } from '../support/provider-call.ts';
import { wireRequest } from '../support/wire-request.ts';

/** Returns the message that the caller receives for an answer. */
function messageOf(body: string): ChatMessage {
  return callerMessage(openaiAdapter().reply(body));
}

/** Returns the same message in the next request. */
function sentBack(message: ChatMessage, preset = 'openrouter'): Record<string, unknown> {
  const call = providerCall({ messages: [message] }, { model: { capabilities: ['reasoning'] } });
  const { body } = wireRequest(openaiAdapter(presets[preset]?.settings), call);
  return (body.messages as Record<string, unknown>[])[0] ?? {};
}

const reply = (message: object) =>
  JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }], usage: null });

describe('opaque state of the model', () => {
  test('is sent back unchanged: encrypted reasoning of OpenRouter', () => {
    const path = join(import.meta.dir, 'fixtures/openai-compatible/openrouter-encrypted.json');
    const body = readFileSync(path, 'utf8');
    const { reasoning_details: details } = JSON.parse(body).choices[0].message;
    expect(sentBack(messageOf(body)).reasoning_details).toEqual(details);
  });

  test('is sent back unchanged: signatures of messages and calls', () => {
    const path = join(import.meta.dir, 'fixtures/openai-compatible/google-compatible-call.json');
    const body = readFileSync(path, 'utf8');
    const { extra_content, tool_calls } = JSON.parse(body).choices[0].message;
    expect(sentBack(messageOf(body), 'vllm')).toMatchObject({ extra_content, tool_calls });
  });

  test('is sent back unchanged, for arbitrary values', () => {
    const entry = fc.dictionary(fc.string(), fc.jsonValue());
    fc.assert(
      fc.property(fc.array(entry, { minLength: 1, maxLength: 4 }), (details) => {
        const plain: unknown = JSON.parse(JSON.stringify(details));
        const back = sentBack(messageOf(reply({ content: 'Hi', reasoning_details: plain })));
        expect(back.reasoning_details).toEqual(plain);
      }),
      { numRuns: 100 },
    );
  });

  test('that arrives with later pieces of a call, or before its name, belongs to the call', () => {
    const extra_content = { google: { thought_signature: 's' } };
    const one = (call: object) => ({
      event: '',
      data: JSON.stringify({ choices: [{ delta: { tool_calls: [call] } }] }),
    });
    const late = openaiAdapter().stream();
    expect(late.read(one({ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }))).toHaveLength(1);
    expect(late.read(one({ index: 0, extra_content }))).toMatchObject([
      { index: 0, arguments: '', extra: extra_content },
    ]);
    const early = openaiAdapter().stream();
    expect(early.read(one({ index: 0, id: 'a', extra_content }))).toEqual([]);
    expect(early.read(one({ index: 0, function: { name: 'f', arguments: '{}' } }))).toMatchObject([
      { id: 'a', name: 'f', arguments: '{}', extra: extra_content },
    ]);
  });
});

test('distinct call IDs map to distinct IDs of nine letters', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string({ minLength: 1, maxLength: 40 }), { maxLength: 50 }), (ids) => {
      const short = ids.map(nineLetters);
      for (const id of short) expect(id).toMatch(/^[a-zA-Z0-9]{9}$/);
      expect(new Set(short).size).toBe(ids.length);
      expect(short.map(nineLetters)).toEqual(short);
    }),
    { numRuns: 200 },
  );
  const row = Array.from({ length: 20_000 }, (_, at) => nineLetters(`call_${at}`));
  expect(new Set(row).size).toBe(row.length);
});
