import { describe, expect, test } from 'bun:test';
import type { ChatRequest } from '../../src/api/chat-request.ts';
import type { ModelRequest } from '../../src/core/model-request.ts';
import type { Example } from '../../src/learning/answer.ts';
import { Affinity } from '../../src/prompt/affinity.ts';
import { Retries, retryName } from '../../src/request/signals/retry.ts';
import { chatRequest } from '../support/model-request.ts';

let now = 1_000_000;
const affinity = new Affinity(() => now);
const nameOf = (key: string, request: ModelRequest) => retryName(request, affinity.history(key, request));

function make(most?: number) {
  const retries = new Retries(() => now, most);
  return {
    begun: (key: string, request: ModelRequest) => retries.begun(nameOf(key, request)),
    ended: (key: string, request: ModelRequest, of: Example) => retries.ended(nameOf(key, request), of),
  };
}
/** Nothing looks into an example. */
const example = (decision: number): Example => ({
  decision,
  keyId: 'k',
  model: 'm',
  facts: {} as Example['facts'],
  features: null,
  draw: null,
});
/** As it comes: a new object each time. */
const HELLO: ChatRequest['messages'] = [{ role: 'user', content: 'Say hello.' }];
const ask = (more: Partial<ChatRequest> = {}): ModelRequest => chatRequest({ messages: HELLO, ...more });
const parts: ChatRequest['messages'] = [{ role: 'user', content: [{ type: 'text', text: 'Say hello.' }] }];

describe('the same request at once after its answer', () => {
  test('speaks against the answer, streamed or not, within half a minute', () => {
    const retries = make();
    expect(retries.begun('k', ask())).toBeNull();
    retries.ended('k', ask(), example(1));
    now += 30_000;
    const streamed = ask({ stream: true, stream_options: { include_usage: true } });
    expect(retries.begun('k', streamed)?.decision).toBe(1);
    retries.ended('k', ask({ messages: parts }), example(2));
    now += 30_001;
    expect(retries.begun('k', ask({ messages: parts }))).toBeNull();
  });

  test('counts once in an hour', () => {
    const retries = make();
    const again = (decision: number) => {
      const blamed = retries.begun('k', ask());
      retries.ended('k', ask(), example(decision));
      return blamed?.decision ?? null;
    };
    expect([again(1), again(2), again(3)]).toEqual([null, 1, null]);
    now += 1_800_000;
    expect([again(4), again(5)]).toEqual([null, null]);
    now += 1_800_001;
    expect([again(6), again(7)]).toEqual([null, 6]);
  });

  test('is another one by any word, figure, order, tool or key', () => {
    const retries = make();
    retries.ended('k', ask(), example(1));
    const others: readonly ModelRequest[] = [
      ask({ messages: [{ role: 'user', content: 'Say hello!' }] }),
      ask({ messages: [{ role: 'system', content: 'Say hello.' }] }),
      ask({ messages: [...HELLO, ...HELLO] }),
      ask({ messages: [{ role: 'user', content: 'Say hello.', name: 'x' }] }),
      ask({ temperature: 1 }),
      ask({ model: 'auto-fast' }),
      ask({ tools: [{ type: 'function', function: { name: 'a' } }] }),
      ask({ metadata: { try: '2' } }),
    ];
    for (const other of others) expect(retries.begun('k', other)).toBeNull();
    expect(retries.begun('other', ask())).toBeNull();
    expect(retries.begun('k', ask())?.decision).toBe(1);
  });

  test('that began before the answer was whole speaks against nothing', () => {
    const retries = make();
    expect([retries.begun('k', ask()), retries.begun('k', ask())]).toEqual([null, null]);
    retries.ended('k', ask(), example(1));
    retries.ended('k', ask(), example(2));
  });

  test('tells halves of characters apart', () => {
    const retries = make();
    retries.ended('k', ask({ messages: [{ role: 'user', content: '\ud800' }] }), example(1));
    expect(retries.begun('k', ask({ messages: [{ role: 'user', content: '\ud801' }] }))).toBeNull();
    const resultOf = (id: string) => ask({ messages: [{ role: 'tool', tool_call_id: id, content: 'Found.' }] });
    retries.ended('k', resultOf('\ud800'), example(2));
    expect(retries.begun('k', resultOf('\ud801'))).toBeNull();
    expect(retries.begun('k', resultOf('\ud800'))?.decision).toBe(2);
  });
});

test('so many answers are remembered at most, the newest', () => {
  const retries = make(8);
  const nth = (n: number) => ask({ user: String(n) });
  for (let n = 0; n < 1_000; n++) {
    retries.ended('k', nth(n), example(n));
    now += 1;
  }
  const remembered = Array.from({ length: 1_000 }, (_, n) => n).filter((n) => retries.begun('k', nth(n)));
  expect(remembered.length).toBeGreaterThanOrEqual(6);
  expect(remembered.length).toBeLessThanOrEqual(8);
  expect(remembered.at(-1)).toBe(999);
});
