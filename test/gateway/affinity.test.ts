import { heapStats } from 'bun:jsc';
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { CAPABILITIES } from '../../src/core/capability.ts';
import type { CachedTokens } from '../../src/core/facts.ts';
import type { ModelRequest } from '../../src/core/model-request.ts';
import type { Model, PolicySnapshot, Provider } from '../../src/core/snapshot.ts';
import { Affinity, type PromptHistory } from '../../src/gateway/affinity.ts';
import { markOfTurn } from '../../src/gateway/answer-mark.ts';
import type { ChatMessage, ChatRequest, ChatTool } from '../../src/surface/openai-chat/request.ts';
import { tries } from '../deep/effort.ts';
import { facts, model, providerNamed, snapshot } from '../routing/build.ts';
import { anyCodePoint } from '../support/any-code-point.ts';
import { chatRequest } from '../support/model-request.ts';

const { numRuns, seed } = tries('conversations are remembered by caller, fresh and within bounds', 100, 5_000);

const TTL_MS = 300_000;
const TOKENS_MIN = 1_024;
const TURNS_MAX = 32;

const provider = (name: string, cache = { ttlMs: TTL_MS, tokensMin: TOKENS_MIN }) => providerNamed(name, { cache });

const served = (models: readonly Model[], providers = [provider('p')]): PolicySnapshot =>
  snapshot(models, { providers: new Map(providers.map((one) => [one.name, one])) });

const POLICY = served(['a', 'b', 'c'].map((id) => model(id, { family: id === 'c' ? 'a' : id })));
const modelOf = (id: string, policy = POLICY): Model => policy.models[policy.modelIndex.get(id)!]!;

type Prompt = Pick<ChatRequest, 'tools' | 'response_format' | 'messages'>;
const LONG = facts({ inputTokens: 5_000 });
const said = (role: ChatMessage['role'], content: string): ChatMessage => ({ role, content });
/** The same conversation, one turn on. */
const further = ({ messages, ...rest }: Prompt): Prompt => ({
  ...rest,
  messages: [...messages, ANSWER, said('user', 'And then?')],
});
const ANSWER = said('assistant', 'An answer.');
const markOf = (answer: ChatMessage) => markOfTurn(chatRequest({ messages: [answer] }).conversation.turns[0]!);
const MARK = markOf(ANSWER);
/** Of its own kind: the type of a literal would be checked for members that only providers know. */
const signed = { role: 'assistant', content: 'Yes.', thought_signature: 'c2lnbmVk' } as const;
const QUESTION: Prompt = { messages: [said('system', 'Be brief.'), said('user', 'What is a gateway?')] };

function memory(most?: number) {
  const time = { now: 1_000 };
  const affinity = new Affinity(() => time.now, most);
  const cached = (prompt: Prompt, key = 'key', policy = POLICY): readonly CachedTokens[] =>
    affinity.history(key, chatRequest(prompt)).recall(LONG, policy).cached;
  const answer = (prompt: Prompt, by: string, tokens = 2_000, key = 'key', policy = POLICY, mark = MARK): void => {
    const one = modelOf(by, policy);
    const conversation = affinity.history(key, chatRequest(prompt));
    conversation.recall(LONG, policy);
    conversation.noteAnswer(
      one,
      one.endpoints[0],
      { inputTokens: tokens, expectedTokens: tokens, at: time.now, mark },
      policy,
    );
  };
  return { affinity, time, cached, answer };
}

describe('the next turn of a conversation', () => {
  test('finds the tokens of the turn before, by the model that answered it', () => {
    const { cached, answer } = memory();
    answer(QUESTION, 'b', 1_500);
    expect(cached(further(QUESTION))).toEqual([{ model: 'b', tokens: 1_500 }]);
    expect(cached(further(further(QUESTION)))).toEqual([{ model: 'b', tokens: 1_500 }]);
  });

  test('finds the longest turn of each model, in the order of their IDs', () => {
    const { cached, answer } = memory();
    const second = further(QUESTION);
    answer(QUESTION, 'b', 1_500);
    answer(QUESTION, 'a', 1_600);
    answer(second, 'b', 3_000);
    expect(cached(further(second))).toEqual([
      { model: 'a', tokens: 1_600 },
      { model: 'b', tokens: 3_000 },
    ]);
  });

  test('finds nothing when anything before it differs: its words, their speaker, the tools, the format', () => {
    const { cached, answer } = memory();
    answer(QUESTION, 'a');
    const tool: ChatTool = { type: 'function', function: { name: 'f' } };
    const others: Prompt[] = [
      { messages: [said('system', 'Be brief!'), said('user', 'What is a gateway?')] },
      { messages: [said('developer', 'Be brief.'), said('user', 'What is a gateway?')] },
      { messages: [said('user', 'Be brief.What is a gateway?')] },
      { messages: [said('system', 'Be brief.'), { ...said('user', 'What is a gateway?'), name: 'ann' }] },
      { ...QUESTION, tools: [tool] },
      { ...QUESTION, response_format: { type: 'json_object' } },
    ];
    for (const other of others) expect(cached(further(other))).toEqual([]);
    for (const format of [undefined, { type: 'text' }] as const) {
      expect(cached(further({ ...QUESTION, tools: [], response_format: format }))).toHaveLength(1);
    }
  });

  test('finds nothing once the provider has let go of it, or where it caches nothing so short', () => {
    const { cached, answer, time } = memory();
    answer(QUESTION, 'a', TOKENS_MIN);
    answer(QUESTION, 'b', TOKENS_MIN - 1);
    time.now += TTL_MS - 1;
    expect(cached(further(QUESTION))).toEqual([{ model: 'a', tokens: TOKENS_MIN }]);
    time.now++;
    expect(cached(further(QUESTION))).toEqual([]);
  });

  test('goes by the present policy: where the model is served first, and how long is cached there', () => {
    const { cached, answer } = memory();
    answer(QUESTION, 'a');
    const [endpoint] = modelOf('a').endpoints;
    const policy = (provided: string, upstream = 'a', cache?: Provider['cache']) =>
      served(
        [model('a', { endpoints: [{ ...endpoint, provider: provided, upstream }, endpoint] })],
        [provider('p', cache), provider('q')],
      );
    const asked = further(QUESTION);
    expect(cached(asked, 'key', policy('p'))).toHaveLength(1);
    expect(cached(asked, 'key', policy('q'))).toEqual([]);
    expect(cached(asked, 'key', policy('p', 'another'))).toEqual([]);
    expect(cached(asked, 'key', policy('p', 'a', { ttlMs: 0, tokensMin: 1 }))).toEqual([]);
    expect(cached(asked, 'key', policy('p', 'a', { ttlMs: TTL_MS, tokensMin: 2_001 }))).toEqual([]);
    expect(cached(asked, 'key', served([model('z')]))).toEqual([]);
  });

  test('is not looked for where no provider would cache so little, unless media make up for it', () => {
    const { affinity, answer } = memory();
    answer(QUESTION, 'a');
    const of = (inputTokens: number, images = 0) =>
      affinity.history('key', chatRequest(further(QUESTION))).recall(facts({ inputTokens, images }), POLICY).cached
        .length;
    expect([of(TOKENS_MIN), of(TOKENS_MIN - 1), of(10, 1)]).toEqual([1, 0, 1]);
  });

  test('leaves the facts as they are where nothing is found', () => {
    const { affinity, answer } = memory();
    answer(QUESTION, 'a');
    expect(affinity.history('other', chatRequest(further(QUESTION))).recall(LONG, POLICY)).toBe(LONG);
    const another = { messages: [...QUESTION.messages, said('user', 'Hm?')] };
    expect(affinity.history('key', chatRequest(another)).recall(LONG, POLICY)).toBe(LONG);
  });

  test('looks 32 turns back', () => {
    const { cached, answer } = memory();
    answer(QUESTION, 'a');
    let prompt = QUESTION;
    for (let i = 0; i < TURNS_MAX; i++) prompt = further(prompt);
    expect(cached(prompt)).toHaveLength(1);
    expect(cached(further(prompt))).toEqual([]);
  });
});

describe('a repeated prompt', () => {
  test('finds its own tokens, and those of its beginnings by other models', () => {
    const { cached, answer } = memory();
    answer(QUESTION, 'b', 1_500);
    expect(cached(QUESTION)).toEqual([{ model: 'b', tokens: 1_500 }]);
    answer(further(QUESTION), 'a', 1_900);
    expect(cached(further(QUESTION))).toEqual([
      { model: 'a', tokens: 1_900 },
      { model: 'b', tokens: 1_500 },
    ]);
    expect(cached(QUESTION)).toEqual([{ model: 'b', tokens: 1_500 }]);
  });

  test('of another key, or once the provider has let go of it, finds nothing', () => {
    const { cached, answer, time } = memory();
    answer(QUESTION, 'a');
    expect(cached(QUESTION, 'other')).toEqual([]);
    time.now += TTL_MS;
    expect(cached(QUESTION)).toEqual([]);
  });
});

describe('who wrote a message', () => {
  const writer = (affinity: Affinity, prompt: Prompt) => affinity.history('key', chatRequest(prompt)).writerOf(2);

  test('is the family that answered what stands before it, however long ago', () => {
    const { affinity, answer, time } = memory();
    answer(QUESTION, 'b');
    time.now += 100 * TTL_MS;
    expect(writer(affinity, further(QUESTION))).toBe('b');
    expect(affinity.history('other', chatRequest(further(QUESTION))).writerOf(2)).toBeNull();
  });

  test('is unknown where two families have answered it; models of one family are one', () => {
    const { affinity, answer } = memory();
    answer(QUESTION, 'a');
    answer(QUESTION, 'c');
    expect(writer(affinity, further(QUESTION))).toBe('a');
    answer(QUESTION, 'b');
    expect(writer(affinity, further(QUESTION))).toBeNull();
  });

  test('is unknown where the message differs from the answer: another model may have written it elsewhere', () => {
    const { affinity, answer } = memory();
    answer(QUESTION, 'b', 2_000, 'key', POLICY, markOf(said('assistant', 'Another answer.')));
    expect(writer(affinity, further(QUESTION))).toBeNull();
  });

  test('is kept of short prompts where reasoning may come back, and of others not', () => {
    const { affinity, answer } = memory();
    answer(QUESTION, 'a', 10);
    expect(affinity.size).toBe(0);
    const reasoning = served([model('r', { capabilities: CAPABILITIES.reasoning.bit })]);
    answer(QUESTION, 'r', 10, 'key', reasoning);
    expect(writer(affinity, further(QUESTION))).toBe('r');
    const asked: Prompt = {
      messages: [said('user', 'Hm?'), signed, said('user', 'So?')],
    };
    answer(asked, 'a', 10);
    expect(affinity.history('key', chatRequest(further(asked))).writerOf(3)).toBe('a');
  });
});

test('a route query that asks for a conversation does not keep it from being forgotten; a chat does', () => {
  for (const chats of [false, true]) {
    const { affinity, cached, answer } = memory(2);
    const other: Prompt = { messages: [said('user', 'Something else.')] };
    const third: Prompt = { messages: [said('user', 'A third thing.')] };
    answer(QUESTION, 'a');
    answer(other, 'a');
    cached(further(QUESTION));
    // Too short to be remembered itself.
    if (chats) answer(further(QUESTION), 'a', 1);
    answer(third, 'a');
    expect(affinity.size).toBe(2);
    expect(cached(further(QUESTION))).toHaveLength(chats ? 1 : 0);
    expect(cached(further(other))).toHaveLength(chats ? 0 : 1);
  }
});

/** A world of few callers and conversations, so that they meet. Depth: how many questions were asked. */
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

/** Least recently used first, as the books would have it. */
function reference(most: number) {
  let kept: { readonly key: string; readonly answers: readonly (Turn & { readonly at: number })[] }[] = [];
  const keyOf = (turn: Turn, depth = turn.depth) => `${turn.caller}/${turn.thread}/${depth}`;
  const last = (key: string, answers = kept.find((one) => one.key === key)?.answers) => {
    kept = kept.filter((one) => one.key !== key);
    if (answers) kept.push({ key, answers });
  };
  return (turn: Turn, now: number): readonly CachedTokens[] => {
    const cached: CachedTokens[] = [];
    // Its own prompt, when that was asked before, and the turns before it.
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

/** What is found is what the reference finds: by caller, fresh, of the longest turn, and what was used last is kept. */
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
        by,
        by.endpoints[0],
        { inputTokens: turn.tokens, expectedTokens: turn.tokens, at: now, mark: 0 },
        POLICY,
      );
      expect(found).toEqual(expected(turn, now) as CachedTokens[]);
      expect(affinity.size).toBeLessThanOrEqual(most);
    }
  });

describe('the memory', () => {
  test('is bounded, keeps what was used last, and mixes up neither callers nor times', () => {
    fc.assert(
      law((clock, most) => new Affinity(clock, most)),
      { numRuns, seed },
    );
  });

  test('does not grow while the same prompts are answered again and again', () => {
    const { answer } = memory(1_000);
    const round = (from: number) => {
      for (let i = 0; i < 1_000; i++) answer({ messages: [said('user', `${from + i}`)] }, 'a');
    };
    const bytes = () => {
      Bun.gc(true);
      return heapStats().heapSize;
    };
    // Once full, so that some have been forgotten.
    for (const from of [0, 1_000, 1_000]) round(from);
    const before = bytes();
    for (let i = 0; i < 100; i++) round(1_000);
    // What was kept for each of 100,000 answers would be 10 MB and more; other tests leave the heap up to one or two apart.
    expect(bytes() - before).toBeLessThan(5_000_000);
  });

  const MUTANTS: Readonly<Record<string, (clock: () => number, most: number) => Subject>> = {
    'callers met': (clock, most) => {
      const inner = new Affinity(clock, most);
      return { size: 0, history: (_, request) => inner.history('all', request) };
    },
    'repeats were not known': (clock, most) => {
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
    'one answer less was kept': (clock, most) => new Affinity(clock, most - 1),
  };
  test.each(Object.entries(MUTANTS))('would be caught if %s', (_, mutant) => {
    expect(fc.check(law(mutant), { numRuns: 1_000, seed, endOnFailure: true }).failed).toBe(true);
  });

  /** Texts that look alike, and such as a hash might take for each other. */
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

  /** An empty list of calls says what no list says, and a list of one text what the text says. */
  const textOf = (body: object): string =>
    JSON.stringify(body, (name, value: unknown) => {
      if (!Array.isArray(value)) return value;
      if (name === 'tool_calls' && value.length === 0) return undefined;
      return name === 'content' && value.length === 1 ? value[0].text : value;
    });

  test('never takes a conversation for another: one and the same text finds it, whatever differs does not', () => {
    fc.assert(
      fc.property(prompts, prompts, (one, other) => {
        const { cached, answer } = memory();
        answer(one, 'a');
        expect(cached(further(structuredClone(one)))).toHaveLength(1);
        const isSame = textOf(one) === textOf(other);
        // Where the one goes on as the other begins, it is the same conversation.
        const begun = other.messages.slice(0, one.messages.length);
        const goesOn = textOf({ messages: begun }) === textOf({ messages: one.messages });
        if (!isSame && !goesOn) expect(cached(further(other))).toEqual([]);
      }),
      { numRuns: 5 * numRuns, seed },
    );
  });
});
