import { describe, expect, test } from 'bun:test';
import type { ChatTool } from '../../../src/core/api/chat-request.ts';
import type { Provider } from '../../../src/core/policy/snapshot.ts';
import { CAPABILITIES } from '../../../src/core/request/capability.ts';
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
/** The type is widened, because TypeScript would check a literal for members that only providers know. */
const signed = { role: 'assistant', content: 'Yes.', thought_signature: 'c2lnbmVk' } as const;

describe('the next turn of a conversation', () => {
  test('the next turn finds the cached tokens of the previous turn, for the model that answered it', () => {
    const { cached, answer } = memory();
    answer(QUESTION, 'b', 1_500);
    expect(cached(further(QUESTION))).toEqual([{ model: 'b', tokens: 1_500 }]);
    expect(cached(further(further(QUESTION)))).toEqual([{ model: 'b', tokens: 1_500 }]);
  });

  test('the next turn finds the longest cached turn of each model, in the order of their IDs', () => {
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

  test('the next turn finds nothing if anything before it differs: its words, their role, the tools, the format', () => {
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

  test('the next turn finds nothing once the provider’s cache has expired, or if the prompt is too short for a cache', () => {
    const { cached, answer, time } = memory();
    answer(QUESTION, 'a', TOKENS_MIN);
    answer(QUESTION, 'b', TOKENS_MIN - 1);
    time.now += TTL_MS - 1;
    expect(cached(further(QUESTION))).toEqual([{ model: 'a', tokens: TOKENS_MIN }]);
    time.now++;
    expect(cached(further(QUESTION))).toEqual([]);
  });

  test('the next turn uses the active policy: the first endpoint of a model, and how long its cache lasts', () => {
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

  test('a prompt that no provider would cache is not looked up, unless its media make it long enough', () => {
    const { affinity, answer } = memory();
    answer(QUESTION, 'a');
    const of = (inputTokens: number, images = 0) =>
      affinity.history('key', chatRequest(further(QUESTION))).recall(facts({ inputTokens, images }), POLICY).cached
        .length;
    expect([of(TOKENS_MIN), of(TOKENS_MIN - 1), of(10, 1)]).toEqual([1, 0, 1]);
  });

  test('the facts stay the same object if no cached tokens are found', () => {
    const { affinity, answer } = memory();
    answer(QUESTION, 'a');
    expect(affinity.history('other', chatRequest(further(QUESTION))).recall(LONG, POLICY)).toBe(LONG);
    const another = { messages: [...QUESTION.messages, said('user', 'Hm?')] };
    expect(affinity.history('key', chatRequest(another)).recall(LONG, POLICY)).toBe(LONG);
  });

  test('the next turn is looked up in the 32 turns before it', () => {
    const { cached, answer } = memory();
    answer(QUESTION, 'a');
    let prompt = QUESTION;
    for (let i = 0; i < TURNS_MAX; i++) prompt = further(prompt);
    expect(cached(prompt)).toHaveLength(1);
    expect(cached(further(prompt))).toEqual([]);
  });
});

describe('a repeated prompt', () => {
  test('for a repeated prompt, the memory returns its cached tokens, and the tokens of its first turns that other models cached', () => {
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

describe('which model wrote a message', () => {
  const writer = (affinity: Affinity, prompt: Prompt) => affinity.history('key', chatRequest(prompt)).writerOf(2);

  test('the writer of a message is the model family that answered the text before it, however long ago', () => {
    const { affinity, answer, time } = memory();
    answer(QUESTION, 'b');
    time.now += 100 * TTL_MS;
    expect(writer(affinity, further(QUESTION))).toBe('b');
    expect(affinity.history('other', chatRequest(further(QUESTION))).writerOf(2)).toBeNull();
  });

  test('the writer of a message is unknown if two model families answered; models of one family count as one', () => {
    const { affinity, answer } = memory();
    answer(QUESTION, 'a');
    answer(QUESTION, 'c');
    expect(writer(affinity, further(QUESTION))).toBe('a');
    answer(QUESTION, 'b');
    expect(writer(affinity, further(QUESTION))).toBeNull();
  });

  test('the writer of a message is unknown if the message differs from the answer, because another model may have written it', () => {
    const { affinity, answer } = memory();
    answer(QUESTION, 'b', 2_000, 'key', POLICY, markOf(said('assistant', 'Another answer.')));
    expect(writer(affinity, further(QUESTION))).toBeNull();
  });

  test('the writer of a short prompt’s answer is remembered only if its reasoning may come back', () => {
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

test('a chat keeps a conversation in memory, but a route query does not', () => {
  for (const chats of [false, true]) {
    const { affinity, cached, answer } = memory(2);
    const other: Prompt = { messages: [said('user', 'Something else.')] };
    const third: Prompt = { messages: [said('user', 'A third thing.')] };
    answer(QUESTION, 'a');
    answer(other, 'a');
    cached(further(QUESTION));
    // This prompt is too short to be remembered itself.
    if (chats) answer(further(QUESTION), 'a', 1);
    answer(third, 'a');
    expect(affinity.size).toBe(2);
    expect(cached(further(QUESTION))).toHaveLength(chats ? 1 : 0);
    expect(cached(further(other))).toHaveLength(chats ? 0 : 1);
  }
});
