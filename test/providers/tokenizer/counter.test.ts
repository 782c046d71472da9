import { afterAll, describe, expect, test } from 'bun:test';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import type { ChatMessage } from '../../../src/core/api/chat-request.ts';
import { countInput } from '../../../src/gateway/request/exact-count.ts';
import { createTokenCounter } from '../../../src/providers/tokenizer/counter.ts';
import { tries } from '../../deep/effort.ts';
import { facts } from '../../routing/build.ts';
import { waitFor } from '../../support/answers.ts';
import { profile, textsOf } from '../../support/chat-body.ts';
import { inTime, leastOf } from '../../support/in-time.ts';
import { runToEnd } from '../../support/signalbox.ts';

const { numRuns, seed } = tries('a counted bound is never below the tokens of the whole conversation', 20, 20_000);
const errors: string[] = [];
const counter = createTokenCounter((message) => errors.push(message));
afterAll(() => expect(errors).toEqual([]));

const truth = (text: string) => countTokens(text, { disallowedSpecial: new Set() });

describe('a count', () => {
  test('of up to a million characters arrives within a second or not at all, and never blocks the event loop', async () => {
    const hostile = Array.from({ length: 20 }, (_, at) => String.fromCharCode(97 + at).repeat(100_000));
    // A count promises an answer within a second, but machines are sometimes busy. Counting in this thread would block the loop for
    // seconds.
    const held = await leastOf(1_000, async () => {
      let held = 0;
      let last = performance.now();
      const looking = setInterval(() => {
        held = Math.max(held, performance.now() - last);
        last = performance.now();
      }, 1);
      const counts = await inTime(4_000, () =>
        Promise.all(hostile.map((text) => counter.count('cl100k_base', [text]))),
      );
      clearInterval(looking);
      const without = counts.filter((count) => count === null).length;
      console.log(`event loop held for ${held.toFixed(0)} ms; ${without} not counted`);
      return held;
    });
    expect(held).toBeLessThan(1_000);
    expect(await counter.count('o200k_base', ['x'.repeat(600_000), 'x'.repeat(400_001)])).toBeNull();
    // The next count is served once a busy machine has loaded the vocabulary.
    const next = await waitFor(() => counter.count('o200k_base', ['Still here']));
    expect(next).toBeGreaterThanOrEqual(truth('Still here'));
  });

  test('of a short prompt does not wait for the long prompts before it', async () => {
    await waitFor(() => counter.count('o200k_base', ['Loaded']));
    const long = Array.from({ length: 4 }, () => counter.count('o200k_base', ['a'.repeat(1_000_000)]));
    expect(await counter.count('o200k_base', ['Short.'])).toBeGreaterThanOrEqual(truth('Short.'));
    await Promise.all(long);
  });

  test('is made by another worker if one has ended, and not at all if none can start', async () => {
    const Real = globalThis.Worker;
    const begun: Worker[] = [];
    const errors: string[] = [];
    const own = createTokenCounter((message) => errors.push(message));
    try {
      globalThis.Worker = class extends Real {
        constructor(...given: ConstructorParameters<typeof Real>) {
          super(...given);
          begun.push(this);
        }
      };
      expect(await waitFor(() => own.count('o200k_base', ['x']))).toBeGreaterThan(0);
      begun[0]!.terminate();
      await waitFor(async () => errors.length > 0);
      expect(await waitFor(() => own.count('o200k_base', ['x']))).toBeGreaterThan(0);
      expect(begun).toHaveLength(2);
      globalThis.Worker = new Proxy(Real, {
        construct() {
          throw new Error('no more threads');
        },
      });
      const other = createTokenCounter((message) => errors.push(message));
      expect(await other.count('o200k_base', ['x'])).toBeNull();
      expect(errors.at(-1)).toContain('no more threads');
    } finally {
      globalThis.Worker = Real;
      begun[1]?.terminate();
    }
  });

  test('needs no working directory, and keeps no process alive', async () => {
    const source = join(import.meta.dir, '../../../src/providers/tokenizer/counter.ts');
    const script = `const { createTokenCounter } = await import(${JSON.stringify(source)});
      console.log(await createTokenCounter(console.error).count('cl100k_base', ['Hello']));`;
    const start = performance.now();
    const { code, out, err } = await runToEnd([process.execPath, '-e', script], {}, tmpdir());
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(Number(out)).toBeGreaterThan(0);
    expect(performance.now() - start).toBeLessThan(20_000);
  });
});

const text = fc.oneof(
  fc.string({ maxLength: 300 }),
  fc.string({ unit: 'grapheme', maxLength: 100 }),
  fc.constantFrom('word '.repeat(200), '你好'.repeat(40), '{"a":[1,2]}'.repeat(20), '\n\n\t', ''),
);
const content = fc.oneof(
  text,
  fc
    .array(text, { minLength: 1, maxLength: 5 })
    .map((parts) => parts.map((one) => ({ type: 'text' as const, text: one }))),
);
const message: fc.Arbitrary<ChatMessage> = fc.record({
  role: fc.constantFrom('system', 'user', 'assistant', 'tool', 'developer'),
  content,
});

/** Returns a conversation as chat templates write it: each message in a frame, with its parts joined in some way. */
function rendered(messages: readonly ChatMessage[], between: string, escapesTools: boolean): string {
  const body = ({ role, content: one }: ChatMessage) => {
    const whole = typeof one === 'string' ? one : one!.map((part) => ('text' in part ? part.text : '')).join(between);
    return role === 'tool' && escapesTools ? JSON.stringify(whole) : whole;
  };
  const preamble = 'You are a helpful model, trained on much text.\nKnowledge cutoff: 2024-06\nReasoning: medium\n\n';
  return `${preamble}${messages.map((one) => `### ${one.role}\n${body(one)}\n\n`).join('')}### assistant\n`;
}

test('a counted bound is never below the tokens of the whole conversation, in any form', async () => {
  let tighter = 0;
  await fc.assert(
    fc.asyncProperty(
      fc
        .tuple(text, fc.array(message, { maxLength: 4 }))
        .map(([first, rest]): ChatMessage[] => [{ role: 'user', content: first }, ...rest]),
      fc.constantFrom('', '\n'),
      fc.boolean(),
      async (messages, between, escapesTools) => {
        const { inputTokensMax } = profile({ messages });
        const known = facts({ inputTokensMax });
        const bound = (await countInput(counter, ['o200k_base'], known, textsOf(messages)))!.o200k_base!;
        if (bound < inputTokensMax) tighter++;
        expect(truth(rendered(messages, between, escapesTools))).toBeLessThanOrEqual(bound);
      },
    ),
    { numRuns, seed },
  );
  expect(tighter).toBeGreaterThan(numRuns / 10);
});
