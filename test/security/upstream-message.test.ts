import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { ProviderFailure } from '../../src/contract/parts.ts';
import type { ChatRequest } from '../../src/core/api/chat-request.ts';
import type { ModelRequest } from '../../src/core/request/model-request.ts';
import { loggableMessage } from '../../src/gateway/exchange/upstream-message.ts';
import { chatRequest } from '../support/model-request.ts';

/** Tests that an upstream's message about a failure is logged, but nothing that it repeats from the request. */
const failed = (message: string, over: Partial<ProviderFailure> = {}, hasBegun = false) => ({
  model: 'best',
  provider: 'fake',
  upstream: 'fake-model',
  failure: { kind: 'server' as const, message, status: 500, ...over },
  requestId: null,
  hasBegun,
});
const asking = (content: string, more: Partial<ChatRequest> & Record<string, unknown> = {}): ModelRequest =>
  chatRequest({ model: 'best', messages: [{ role: 'user', content }], ...more });
const random = fc.string({
  unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'),
  minLength: 24,
  maxLength: 80,
});

describe('the logged message of an upstream', () => {
  test('shares no run of twelve characters with the request, wherever the request has its text', () => {
    const places: readonly ((text: string) => ModelRequest)[] = [
      (text) => asking(text),
      (text) => asking('x', { messages: [{ role: 'user', content: [{ type: 'text', text }] }] }),
      (text) => asking('x', { user: text }),
      (text) => asking('x', { metadata: { note: text } }),
      (text) => asking('x', { tools: [{ type: 'function', function: { name: 'a', description: text } }] }),
      (text) => asking('x', { stop: [text] }),
      (text) => asking('x', { unknown: { deep: [text] } }),
    ];
    fc.assert(
      fc.property(random, fc.nat(40), fc.nat(40), fc.constantFrom(...places), (prompt, from, length, place) => {
        const piece = prompt.slice(from % (prompt.length - 12)).slice(0, 12 + length);
        const said = loggableMessage(failed(`cannot read ${piece} at line 3`), place(prompt));
        for (let at = 0; at + 12 <= prompt.length; at++) expect(said).not.toContain(prompt.slice(at, at + 12));
        expect(said).toStartWith('cannot read ');
        expect(said).toEndWith(' at line 3');
      }),
      { numRuns: 300 },
    );
  });

  test('has no part of a key that it repeats in lower case', () => {
    const key = 'sb_live_k7mw2pq9x4ta_Qz5g9jxs4s_fuihw_caw3lihuttfzdyqyv-gie-qwie';
    const said = loggableMessage(failed(`\`${key.toLowerCase()}\` is no language`), asking('x', { user: key }));
    expect(said).toBe('`[secret]` is no language');
  });

  test('is complete if it shares nothing with the request, or only common words', () => {
    const said = 'The model is being loaded; content of messages[0] is fine. Try model best again.';
    expect(loggableMessage(failed(said), asking('Write a poem about a suitcase and its content.'))).toBe(said);
  });

  test('is left out in the middle of an answer, which it may repeat, except for Signalbox’s own words', () => {
    expect(loggableMessage(failed('after "Dear Ada, …"', {}, true), asking('x'))).toStartWith('[omitted');
    const own = { kind: 'cut', status: undefined } as const;
    expect(loggableMessage(failed('the answer broke off (ECONNRESET)', own, true), asking('x'))).toContain(
      'ECONNRESET',
    );
  });

  test('is left out if the request is too large to be searched, whatever media it has', () => {
    const large = asking('word '.repeat(40_000));
    expect(loggableMessage(failed('no room for word word word word'), large)).toStartWith('[omitted');
    const url = `data:image/png;base64,${'A'.repeat(500_000)}`;
    const image = asking('x', { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] });
    expect(loggableMessage(failed('this image is broken'), image)).toBe('this image is broken');
  });
});
