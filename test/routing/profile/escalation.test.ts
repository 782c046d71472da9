import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { ContentPart, Turn, TurnRole } from '../../../src/core/request/conversation.ts';
import { transcriptEscalation } from '../../../src/routing/profile/escalation.ts';

type Read = typeof transcriptEscalation;

const base = { at: [], valueAt: [], extras: {} };
const say = (role: TurnRole, text: string): Turn => ({
  role,
  parts: [{ ...base, type: 'text', text }],
  extras: {},
  at: [],
});
const answer = (...parts: ContentPart[]): Turn => ({ role: 'assistant', parts, extras: {}, at: [] });
const call = (text: string): Turn => answer({ ...base, type: 'tool-call', id: 'c', name: 'f', arguments: text });
/** The same turn of the user around an answer. */
const twice = (text: string, again = text) => [say('user', text), say('assistant', 'x'), say('user', again)];
const refusal = answer({ ...base, type: 'refusal', text: 'No.' });

describe('the signals of a transcript', () => {
  test.each([
    ['malformed_call', [say('user', 'a'), call('{"a":'), say('user', 'b')]],
    ['refused_answer', [say('user', 'a'), refusal, say('user', 'b')]],
    ['empty_answer', [say('user', 'a'), answer(), say('user', 'b')]],
    ['repeated_question', twice('Why is the sky blue?', ' Why is the sky blue? ')],
    ['repeated_question', twice('今天天气怎么样？')],
    ['repeated_question', twice('用Python写一个排序')],
    ['repeated_question', twice('스택과 큐의 차이')],
    ['correction', [say('user', 'a'), say('assistant', 'x'), say('user', 'That’s wrong, try again')]],
    ['correction', [say('user', 'a'), say('assistant', 'x'), say('user', 'Nein, das ist falsch.')]],
    ['correction', [say('user', 'a'), say('assistant', 'x'), say('user', '不对，再来')]],
    ['correction', [say('user', 'a'), say('assistant', 'x'), say('user', 'это неверно')]],
  ] as const)('%s is recognized', (signal, turns) => {
    expect(transcriptEscalation(turns, 3)).toEqual({ signal, turnsAgo: 0 });
  });

  test.each([
    ['a first turn', [say('user', 'a')]],
    ...['continue', 'yes', '1', 'Why is the sky red?', '🙂'.repeat(19), '继续', '天气怎么样呢？', 'continue 请'].map(
      (text) => [`a repeated “${text}”`, twice(text)] as const,
    ),
    ['a good call', [say('user', 'a'), call('{}'), say('user', 'b')]],
    ['a call without arguments', [say('user', 'a'), call(''), say('user', 'b')]],
    [
      'a word that only begins like a correction',
      [say('user', 'a'), say('assistant', 'x'), say('user', 'Wrongly set?')],
    ],
    ['a long turn', [say('user', 'a'), say('assistant', 'x'), say('user', `wrong ${'x'.repeat(200)}`)]],
    ['a first question that begins so', [say('user', 'wrong answers only')]],
    ['an answer that the caller begins', [say('user', 'a'), answer()]],
  ])('%s is no signal', (_, turns) => {
    expect(transcriptEscalation(turns, 3)).toBeUndefined();
  });

  test('a call fails if its arguments do not fit the function of the request', () => {
    const parameters = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
    const readWith = (name: string, text: string) => {
      const tools = [{ ...base, name, parameters }];
      return transcriptEscalation([say('user', 'a'), call(text), say('user', 'b')], 3, undefined, tools);
    };
    for (const bad of ['{"n":"1"}', '{}', '']) {
      expect(readWith('f', bad)).toEqual({ signal: 'malformed_call', turnsAgo: 0 });
      expect(readWith('g', bad)).toBeUndefined();
    }
    expect(readWith('f', '{"n":1}')).toBeUndefined();
  });

  test('an answer with very many calls is compared with a bounded number of functions', () => {
    let read = 0;
    const tools = Array.from({ length: 1_000 }, (_, at) => ({
      ...base,
      get name() {
        read++;
        return `f${at}`;
      },
      parameters: {},
    }));
    const part: ContentPart = { ...base, type: 'tool-call', id: 'c', name: 'g', arguments: '{}' };
    const calls = answer(...Array.from({ length: 1_000 }, () => part));
    expect(transcriptEscalation([say('user', 'a'), calls, say('user', 'b')], 3, undefined, tools)).toBeUndefined();
    expect(read).toBeLessThan(50_000);
  });

  test('checking calls takes a bounded time', () => {
    const parameters = {
      anyOf: [{ additionalProperties: { $ref: '#' } }, { additionalProperties: { $ref: '#' } }],
      type: 'object',
    };
    const deep = `${'{"a":'.repeat(200)}1${'}'.repeat(200)}`;
    const turns = Array.from({ length: 60 }, (_, at) => (at % 2 === 0 ? say('user', `${at}`) : call(deep)));
    const found = transcriptEscalation(turns, 30, undefined, [{ ...base, name: 'f', parameters }]);
    // Without a bound, the check would not end. Calls that were not checked count as good.
    expect(found).toBeUndefined();
  });
});

const turn = fc.constantFrom(
  say('user', 'Why is the sky blue?'),
  say('user', 'And why is grass green?'),
  say('assistant', 'x'),
  say('tool', 'r'),
  call('{}'),
  call('{'),
  refusal,
  answer(),
);
const cases = fc.tuple(fc.array(turn, { maxLength: 30 }), fc.integer({ min: 1, max: 6 }));

/** Reading all turns finds the same as reading the last turns, and no signal is older than stated. */
const law = (read: Read) =>
  fc.property(cases, ([turns, answers]) => {
    const whole = transcriptEscalation(turns, Number.POSITIVE_INFINITY);
    const expected = whole && whole.turnsAgo < answers ? whole : undefined;
    expect(read(turns, answers)).toEqual(expected);
  });

describe('the window', () => {
  test('finds what reading all turns finds, and nothing older than stated', () => {
    fc.assert(law(transcriptEscalation), { numRuns: 500 });
  });

  test.each<[string, Read]>([
    ['acts one turn too long', (turns, answers) => transcriptEscalation(turns, answers + 1)],
    ['ends one turn too early', (turns, answers) => transcriptEscalation(turns, answers - 1)],
    [
      'forgets how long ago it was',
      (turns, answers) => {
        const found = transcriptEscalation(turns, answers);
        return found && { ...found, turnsAgo: 0 };
      },
    ],
  ])('rejects a reader that %s', (_, read) => {
    expect(fc.check(law(read), { numRuns: 500 }).failed).toBe(true);
  });
});
