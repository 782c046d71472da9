import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type Json, listOf, objectOf } from '../../../plugins/providers/json.ts';
import { createCompletion } from '../../../src/dialects/openai-chat/surface.ts';
import { tries } from '../../deep/effort.ts';
import { readOn } from '../../support/read-request.ts';
import { CHAT } from './chat.ts';
import { MESSAGES } from './messages.ts';
import { RESPONSES } from './responses.ts';
import { type RoundTrip, thereAndBack, withEach } from './round-trip.ts';

/**
 * Cache marks, signatures and encrypted reasoning stay the same bit for bit when a request is translated to chat completions and back.
 * Services that offer Anthropic's and OpenAI's models as chat completions use such members.
 */
function throughChat(dialect: RoundTrip, body: Json, spoil: (chat: Json) => Json): Json {
  const chat = CHAT.translate(readOn(dialect.route, structuredClone(body)).request);
  return dialect.translate(readOn(createCompletion, spoil(chat)).request);
}

const isThought = (block: Json): boolean => block.type === 'thinking' || block.type === 'redacted_thinking';

/** Puts texts before calls, as chat completions do. Between two reasoning blocks, their order is lost. */
function textsFirst(content: readonly Json[]): readonly Json[] {
  const at = content.findIndex(isThought);
  const segment = at < 0 ? content : content.slice(0, at);
  const sorted = segment.toSorted((a, b) => Number(a.type === 'tool_use') - Number(b.type === 'tool_use'));
  return at < 0 ? sorted : [...sorted, content[at]!, ...textsFirst(content.slice(at + 1))];
}

/** Returns the part of a Messages body that chat completions can express. A cache mark of a tool result is on its last text. */
function sayable(plain: unknown): unknown {
  const { system, messages, tools, cache_control } = objectOf(plain);
  const blockOf = (block: Json): Json => {
    const { is_error: _, cache_control: mark, content, ...rest } = block;
    const texts = listOf(content).map(objectOf);
    if (block.type !== 'tool_result' || texts.length === 0) return mark ? { ...rest, cache_control: mark } : rest;
    return { ...rest, content: mark ? texts.with(-1, { cache_control: mark, ...texts.at(-1) }) : texts };
  };
  const said = listOf(messages).map((message) => {
    const { role, content } = objectOf(message);
    const blocks = listOf(content).map(objectOf).map(blockOf);
    return { role, content: role === 'assistant' ? textsFirst(blocks) : blocks };
  });
  return { system, messages: said, tools, cache_control };
}

const reasoningIn = (body: Json): readonly Json[] =>
  listOf(body.input)
    .map(objectOf)
    .filter(({ type }) => type === 'reasoning');

const same = (body: Json): Json => body;

const messagesLaw = (spoil = same) =>
  fc.property(MESSAGES.bodies, (body) => {
    expect(sayable(MESSAGES.plain(throughChat(MESSAGES, body, spoil)))).toEqual(sayable(MESSAGES.plain(body)));
  });

const responsesLaw = (spoil = same) =>
  fc.property(RESPONSES.bodies, (body) => {
    expect(reasoningIn(throughChat(RESPONSES, body, spoil))).toEqual([...reasoningIn(thereAndBack(RESPONSES, body))]);
  });

const spoilText =
  (name: string, change: (text: string) => string) =>
  (body: Json): Json =>
    withEach(body, (one) => {
      const value = one[name];
      return typeof value === 'string' ? { ...one, [name]: change(value) } : one;
    });

const MUTANTS: readonly [string, typeof messagesLaw, (body: Json) => Json][] = [
  ['a mark is lost', messagesLaw, (body) => withEach(body, ({ cache_control: _, ...rest }) => rest)],
  ['the lifetime of a cache mark is lost', messagesLaw, (body) => withEach(body, ({ ttl: _, ...rest }) => rest)],
  ['the position of a reasoning block is lost', messagesLaw, spoilText('id', (id) => id.replace(/^thought-.*/, ''))],
  ['a signature is normalized', messagesLaw, spoilText('signature', (text) => text.normalize('NFKC'))],
  ['a surrogate is replaced', messagesLaw, spoilText('data', (text) => text.toWellFormed())],
  ['encrypted content is trimmed', responsesLaw, spoilText('data', (text) => text.replace(/=+$/, ''))],
  ['a summary is lost', responsesLaw, spoilText('summary', () => '')],
];

describe('through chat completions', () => {
  test('cache marks, signatures and reasoning of Messages stay the same bit for bit, at their positions', () => {
    fc.assert(
      messagesLaw(),
      tries('cache marks and signatures of Messages survive a translation to chat completions and back', 30, 5_000),
    );
  });

  test('reasoning items of Responses stay the same bit for bit', () => {
    fc.assert(responsesLaw(), tries('reasoning items survive a translation to chat completions and back', 30, 5_000));
  });

  test.each(MUTANTS)('the law detects that %s', (_, law, spoil) => {
    expect(fc.check(law(spoil), { numRuns: 2_000, endOnFailure: true }).failed).toBe(true);
  });
});
