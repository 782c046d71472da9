import { describe, expect, test } from 'bun:test';
import type { ChatTool } from '../../../src/core/api/chat-request.ts';
import { CAPABILITIES } from '../../../src/core/capability.ts';
import type { Provider } from '../../../src/core/snapshot.ts';
import type { Affinity } from '../../../src/gateway/prompt/affinity.ts';
import { facts, model } from '../../routing/build.ts';
import { chatRequest } from '../../support/model-request.ts';
import {
  further,
  LONG,
  markOf,
  memory,
  modelOf,
  POLICY,
  type Prompt,
  provider,
  QUESTION,
  said,
  served,
  TOKENS_MIN,
  TTL_MS,
} from './affinity-support.ts';

const TURNS_MAX = 32;
/** Of its own kind: the type of a literal would be checked for members that only providers know. */
const signed = { role: 'assistant', content: 'Yes.', thought_signature: 'c2lnbmVk' } as const;

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
    const { cached, answer, time } = memory();
    answer(QUESTION, 'b', 1_500);
    expect(cached(QUESTION)).toEqual([{ model: 'b', tokens: 1_500 }]);
    answer(further(QUESTION), 'a', 1_900);
    expect(cached(further(QUESTION))).toEqual([
      { model: 'a', tokens: 1_900 },
      { model: 'b', tokens: 1_500 },
    ]);
    expect(cached(QUESTION)).toEqual([{ model: 'b', tokens: 1_500 }]);
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
