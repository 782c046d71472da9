import { heapStats } from 'bun:jsc';
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { ChatMessage, ChatTool } from '../../../src/core/api/chat-request.ts';
import type { CachedTokens } from '../../../src/core/request/facts.ts';
import type { ModelRequest } from '../../../src/core/request/model-request.ts';
import { Affinity, type PromptHistory } from '../../../src/gateway/prompt/affinity.ts';
import { tries } from '../../deep/effort.ts';
import { anyCodePoint } from '../../support/any-code-point.ts';
import { chatRequest } from '../../support/model-request.ts';
import { further, LONG, memory, modelOf, POLICY, type Prompt, said, TOKENS_MIN, TTL_MS } from './affinity-support.ts';

const { numRuns, seed } = tries('conversations are remembered by caller, fresh and within bounds', 100, 5_000);

/** A turn in a world of few callers and conversations, so that they collide. Depth: how many questions were sent. */
interface Turn {
  readonly caller: string;
  readonly thread: number;
  readonly depth: number;
  readonly by: string;
  readonly tokens: number;
  readonly pauseMs: number;
}

const turns: fc.Arbitrary<readonly Turn[]> = fc.array(
  fc.record({
    caller: fc.constantFrom('k', 'k1', '1 k'),
    thread: fc.integer({ min: 0, max: 2 }),
    depth: fc.integer({ min: 1, max: 4 }),
    by: fc.constantFrom('a', 'b', 'c'),
    tokens: fc.constantFrom(10, TOKENS_MIN, 3_000),
    pauseMs: fc.constantFrom(0, 1_000, TTL_MS - 1_000, TTL_MS),
  }),
  { minLength: 1, maxLength: 60 },
);

const promptOf = (thread: number, depth: number): Prompt => {
  let prompt: Prompt = { messages: [said('user', `Question ${thread}.`)] };
  for (let i = 1; i < depth; i++) prompt = further(prompt);
  return prompt;
};

/** A reference implementation that removes the least recently used answer first. */
function reference(most: number) {
  let kept: { readonly key: string; readonly answers: readonly (Turn & { readonly at: number })[] }[] = [];
  const keyOf = (turn: Turn, depth = turn.depth) => `${turn.caller}/${turn.thread}/${depth}`;
  const last = (key: string, answers = kept.find((one) => one.key === key)?.answers) => {
    kept = kept.filter((one) => one.key !== key);
    if (answers) kept.push({ key, answers });
  };
  return (turn: Turn, now: number): readonly CachedTokens[] => {
    const cached: CachedTokens[] = [];
    // Earlier prompts are the turn's own prompt, if it was sent before, and the prompts of the turns before it.
    const earlier = Array.from({ length: turn.depth }, (_, at) => turn.depth - at);
    for (const depth of earlier) {
      for (const { by, tokens, at } of kept.find((one) => one.key === keyOf(turn, depth))?.answers ?? []) {
        if (now - at < TTL_MS && !cached.some((one) => one.model === by)) cached.push({ model: by, tokens });
      }
    }
    for (const depth of earlier) last(keyOf(turn, depth));
    if (turn.tokens >= TOKENS_MIN) {
      const key = keyOf(turn);
      const others = kept.find((one) => one.key === key)?.answers.filter(({ by }) => by !== turn.by) ?? [];
      last(key, [...others, { ...turn, at: now }]);
      while (kept.flatMap(({ answers }) => answers).length > most) kept.shift();
    }
    return cached.sort((a, b) => (a.model < b.model ? -1 : 1));
  };
}

type Subject = Pick<Affinity, 'history' | 'size'>;

/**
 * The law: the result equals the reference's result. The memory separates callers, returns fresh results
 * of the longest turn, and keeps the conversations that were used last.
 */
const law = (subject: (clock: () => number, most: number) => Subject) =>
  fc.property(turns, fc.integer({ min: 1, max: 12 }), (played, most) => {
    let now = 0;
    const affinity = subject(() => now, most);
    const expected = reference(most);
    for (const turn of played) {
      now += turn.pauseMs;
      const conversation = affinity.history(turn.caller, chatRequest(promptOf(turn.thread, turn.depth)));
      const found = conversation.recall(LONG, POLICY).cached;
      const by = modelOf(turn.by);
      conversation.noteAnswer(
        { model: by, endpoint: by.endpoints[0] },
        { inputTokens: turn.tokens, expectedTokens: turn.tokens, at: now },
        { mark: 0 },
        POLICY,
      );
      expect(found).toEqual(expected(turn, now) as CachedTokens[]);
      expect(affinity.size).toBeLessThanOrEqual(most);
    }
  });

describe('the memory of answered prompts', () => {
  test('the memory of prompts is bounded, keeps what was used last, and never confuses callers or times', () => {
    fc.assert(
      law((clock, most) => new Affinity(clock, most)),
      { numRuns, seed },
    );
  });

  test('the memory of prompts does not grow while the same prompts are answered again and again', () => {
    const { answer } = memory(1_000);
    const round = (from: number) => {
      for (let i = 0; i < 1_000; i++) answer({ messages: [said('user', `${from + i}`)] }, 'a');
    };
    const bytes = () => {
      Bun.gc(true);
      return heapStats().heapSize;
    };
    // First the memory is filled, so that some answers have been removed.
    for (const from of [0, 1_000, 1_000]) round(from);
    const before = bytes();
    for (let i = 0; i < 100; i++) round(1_000);
    // If data of each of 100,000 answers stayed in memory, it would be at least 10 MB. Other tests change the heap by one or two MB.
    expect(bytes() - before).toBeLessThan(5_000_000);
  });

  const MUTANTS: Readonly<Record<string, (clock: () => number, most: number) => Subject>> = {
    'callers met': (clock, most) => {
      const inner = new Affinity(clock, most);
      return { size: 0, history: (_, request) => inner.history('all', request) };
    },
    'repeats were not recognized': (clock, most) => {
      const inner = new Affinity(clock, most);
      const withoutRepeats = (key: string, request: ModelRequest): PromptHistory => {
        const history = inner.history(key, request);
        const recall = history.recall.bind(history);
        const { turns } = request.conversation;
        history.recall = (given, policy) => (turns.length === 1 ? given : recall(given, policy));
        return history;
      };
      return { size: 0, history: withoutRepeats };
    },
    'nothing grew old': (_, most) => new Affinity(() => 0, most),
    'nothing was forgotten': (clock) => new Affinity(clock),
    'one answer fewer was kept': (clock, most) => new Affinity(clock, most - 1),
  };
  test.each(Object.entries(MUTANTS))('the law about the memory of prompts fails if %s', (_, mutant) => {
    expect(fc.check(law(mutant), { numRuns: 1_000, seed, endOnFailure: true }).failed).toBe(true);
  });

  /** Texts that look alike, and texts that a weak hash might confuse. */
  const text = fc.oneof(
    fc.constantFrom(
      '',
      'a',
      'aa',
      'user',
      '0',
      '{"role":"user","content":0}',
      '"\ud800"',
      '\ud800',
      '\ud801',
      '\ufffd',
    ),
    fc.string({ unit: anyCodePoint, maxLength: 5 }),
  );
  const message: fc.Arbitrary<ChatMessage> = fc.oneof(
    fc.record({ role: fc.constantFrom('user', 'assistant', 'system'), content: text }),
    fc.record({
      role: fc.constantFrom('user'),
      content: fc.array(fc.record({ type: fc.constant('text'), text }), { minLength: 1, maxLength: 2 }),
    }),
    fc.record({
      role: fc.constantFrom('assistant'),
      content: fc.constantFrom(null, 'a'),
      tool_calls: fc.array(
        fc.record({ id: text, type: fc.constant('function'), function: fc.record({ name: text, arguments: text }) }),
        { maxLength: 2 },
      ),
    }),
    fc.record({ role: fc.constantFrom('tool'), content: text, tool_call_id: text }),
    fc.record({ role: fc.constantFrom('assistant'), content: text, reasoning_content: text }),
  ) as fc.Arbitrary<ChatMessage>;
  const prompts: fc.Arbitrary<Prompt> = fc.record({
    messages: fc.array(message, { minLength: 1, maxLength: 4 }),
    tools: fc.constantFrom(undefined, undefined, [{ type: 'function', function: { name: 'f' } }] as ChatTool[]),
  });

  /** An empty list of calls means the same as no list, and a list with one text means the same as the text. */
  const textOf = (body: object): string =>
    JSON.stringify(body, (name, value: unknown) => {
      if (!Array.isArray(value)) return value;
      if (name === 'tool_calls' && value.length === 0) return undefined;
      return name === 'content' && value.length === 1 ? value[0].text : value;
    });

  test('a conversation is found only by the same text, never by a different one', () => {
    fc.assert(
      fc.property(prompts, prompts, (one, other) => {
        const { cached, answer } = memory();
        answer(one, 'a');
        expect(cached(further(structuredClone(one)))).toHaveLength(1);
        const isSame = textOf(one) === textOf(other);
        // A conversation that begins like another is the same conversation.
        const begun = other.messages.slice(0, one.messages.length);
        const goesOn = textOf({ messages: begun }) === textOf({ messages: one.messages });
        if (!isSame && !goesOn) expect(cached(further(other))).toEqual([]);
      }),
      { numRuns: 5 * numRuns, seed },
    );
  });
});
