import { describe, expect, test } from 'bun:test';
import type { ChatRequest } from '../../src/api/chat-request.ts';
import type { FinishReason, StreamPart } from '../../src/contract/parts.ts';
import type { LearningPolicy } from '../../src/core/learning-policy.ts';
import { LEARNING_OFF } from '../../src/policy/learning.ts';
import { watchAnswer } from '../../src/request/signals/watch.ts';
import { chatRequest } from '../support/model-request.ts';

const ON: LearningPolicy = { ...LEARNING_OFF, mode: 'on' };
const only = (...signals: (keyof LearningPolicy['signals'])[]): LearningPolicy => ({
  ...ON,
  signals: Object.fromEntries(
    Object.keys(ON.signals).map((name) => [name, (signals as string[]).includes(name) ? 1 : 0]),
  ) as LearningPolicy['signals'],
});

type Asked = Partial<ChatRequest>;
const text = (words: string, choice = 0): StreamPart => ({ type: 'text', choice, text: words });
const finish = (reason: FinishReason = 'stop', choice = 0): StreamPart => ({
  type: 'finish',
  choice,
  reason,
  raw: reason,
});
/** A call in two pieces, as streams have it. */
const call = (name: string, args: string, index = 0, choice = 0): StreamPart[] => [
  { type: 'tool-call', choice, index, id: 'c', name, arguments: args.slice(0, 3) },
  { type: 'tool-call', choice, index, arguments: args.slice(3) },
];
const seen = (asked: Asked, parts: readonly StreamPart[], policy = ON) => {
  const watch = watchAnswer(policy, chatRequest(asked));
  // As batches come.
  for (const part of parts) watch?.hear([part]);
  return watch?.verdict();
};

const CITY = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const JSON_SCHEMA: Asked = { response_format: { type: 'json_schema', json_schema: { name: 'city', schema: CITY } } };
const JSON_OBJECT: Asked = { response_format: { type: 'json_object' } };
const tool = (name: string, parameters?: object) => ({ type: 'function' as const, function: { name, parameters } });
const TOOLS: Asked = { tools: [tool('weather', CITY), tool('time')] };
const ends: StreamPart[] = [finish('tool_calls')];

describe('the form of an answer', () => {
  const FORMS: readonly (readonly [what: string, asked: Asked, words: string, violates: boolean])[] = [
    ['fits its schema', JSON_SCHEMA, '{"city": "Bern"}', false],
    ['breaks its schema', JSON_SCHEMA, '{"town": "Bern"}', true],
    ['is fenced', JSON_SCHEMA, '```json\n{"city": "Bern"}\n```', true],
    ['is prose', JSON_SCHEMA, 'Bern', true],
    ['is no object where one was asked for', JSON_OBJECT, '[1]', true],
    ['is an object', JSON_OBJECT, ' {"a": 1}\n', false],
    [
      'is any JSON where no schema was given',
      { response_format: { type: 'json_schema', json_schema: { name: 'x' } } },
      '7',
      false,
    ],
  ];
  for (const [what, asked, words, violates] of FORMS) {
    test(`that ${what}`, () => {
      expect(seen(asked, [text(words.slice(0, 4)), text(words.slice(4)), finish()], only('schema'))).toEqual({
        schema: violates,
      });
    });
  }

  test('is not judged where none was asked for, nor where the answer is none, or not whole', () => {
    const judged = (asked: Asked, ...parts: StreamPart[]) => seen(asked, parts, only('schema', 'refusal'))?.schema;
    expect(judged({}, text('Bern'), finish())).toBeUndefined();
    expect(judged({ response_format: { type: 'text' } }, text('Bern'), finish())).toBeUndefined();
    expect(judged(JSON_SCHEMA, text('{"ci'), finish('length'))).toBeUndefined();
    expect(judged(JSON_SCHEMA, text('{"ci'), finish('content_filter'))).toBeUndefined();
    expect(judged(JSON_SCHEMA, text('{"ci'))).toBeUndefined();
    expect(judged(JSON_SCHEMA, finish())).toBeUndefined();
    expect(judged(JSON_SCHEMA, text('a'), { type: 'refusal', choice: 0, text: 'No.' }, finish())).toBeUndefined();
    expect(judged({ ...JSON_SCHEMA, ...TOOLS }, ...call('time', '{}'), text('a'), ...ends)).toBeUndefined();
    // The caller's own doing.
    expect(judged({ ...JSON_SCHEMA, stop: ['}'] }, text('{"city": "Bern"'), finish())).toBeUndefined();
    expect(judged({ ...JSON_SCHEMA, stop: [] }, text('{"city": "Bern"'), finish())).toBe(true);
  });

  test('is broken by any choice', () => {
    const parts = [text('{"city": ""}'), text('no', 1), finish(), finish('stop', 1)];
    expect(seen(JSON_SCHEMA, parts)?.schema).toBe(true);
    expect(seen(JSON_SCHEMA, [parts[0]!, parts[1]!, finish(), finish('length', 1)])?.schema).toBe(false);
  });

  test('is not judged where it is too long, or would take too long', () => {
    const long = [text(`["${'a'.repeat(70_000)}`), finish()];
    expect(seen(JSON_OBJECT, long)).toEqual({ refusal: false, empty: false });
    const schema = { anyOf: [{ $ref: '#' }, { $ref: '#' }] };
    const endless: Asked = { response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } };
    expect(seen(endless, [text('1'), finish()], only('schema'))).toEqual({});
    // What is sure without it is said.
    expect(seen(endless, [text('1'), text('x', 1), finish(), finish('stop', 1)], only('schema'))).toEqual({
      schema: true,
    });
  });
});

describe('the calls of an answer', () => {
  const CALLS: readonly (readonly [what: string, parts: StreamPart[], isBad: boolean, asked?: Asked])[] = [
    ['fit', call('weather', '{"city": "Bern"}'), false],
    ['have none of the arguments', call('weather', '{}'), true],
    ['have arguments of another kind', call('weather', '{"city": 5}'), true],
    ['have broken arguments', call('weather', '{"city": "Be'), true],
    ['have a list of arguments', call('time', '[]'), true],
    ['have nothing, for a function that needs nothing', call('time', ''), false],
    ['have nothing, for one that needs something', call('weather', ''), true],
    ['name no tool', call('wether', '{"city": "Bern"}'), true],
    ['name what every object inherits', call('constructor', '{}'), true],
    ['come where there are no tools', call('time', '{}'), true, {}],
    ['come where none was to be made', call('time', '{}'), true, { ...TOOLS, tool_choice: 'none' }],
    [
      'are of another function than was to be called',
      call('time', '{}'),
      true,
      { ...TOOLS, tool_choice: { type: 'function', function: { name: 'weather' } } },
    ],
    [
      'are of one of two functions by one name',
      call('time', '{"a": 1}'),
      false,
      { tools: [tool('time', CITY), tool('time')] },
    ],
    ['are good but for the second', [...call('time', '{}'), ...call('time', '{', 1)], true],
    ['are good but for those of the second choice', [...call('time', '{}'), ...call('time', '{', 0, 1)], false],
  ];
  for (const [what, parts, isBad, asked = TOOLS] of CALLS) {
    test(`that ${what}`, () => {
      expect(seen(asked, [...parts, ...ends], only('tool_arguments'))).toEqual({ tool_arguments: isBad });
    });
  }

  test('are not judged where there are none, or they were cut', () => {
    expect(seen(TOOLS, [text('Hello'), finish()], only('tool_arguments'))).toEqual({});
    expect(seen(TOOLS, [...call('weather', '{"ci'), finish('length')], only('tool_arguments'))).toEqual({});
    expect(seen(TOOLS, call('weather', '{"ci'), only('tool_arguments'))).toEqual({});
    const many = Array.from({ length: 2_000 }, (_, i) => call('none', '{}', i)).flat();
    expect(seen(TOOLS, [...many, ...ends], only('tool_arguments'))).toEqual({});
  });
});

describe('an answer', () => {
  const refusal: StreamPart = { type: 'refusal', choice: 0, text: 'I may not.' };
  const reasoning: StreamPart = { type: 'reasoning', choice: 0, text: 'Hm.' };
  const ANSWERS: readonly (readonly [what: string, parts: StreamPart[], expected: object])[] = [
    ['that says something', [text('Hi'), finish()], { refusal: false, empty: false }],
    ['that refuses', [refusal, finish()], { refusal: true, empty: false }],
    ['that is filtered', [text('And'), finish('content_filter')], { refusal: true }],
    ['without anything', [finish()], { refusal: false, empty: true }],
    ['of reasoning alone', [reasoning, finish()], { refusal: false, empty: true }],
    ['of spaces alone', [text(' \n'), finish()], { refusal: false, empty: true }],
    ['of a call alone', [...call('time', '{}'), finish()], { refusal: false, empty: false, tool_arguments: false }],
    ['that is cut before it says anything', [reasoning, finish('length')], { refusal: false }],
    ['whose second choice is empty', [text('Hi'), finish(), finish('stop', 1)], { refusal: false, empty: true }],
    ['that never ends', [text('Hi')], {}],
  ];
  for (const [what, parts, expected] of ANSWERS) {
    test(what, () => expect(seen(TOOLS, parts)).toEqual(expected));
  }

  test('that a stop sequence of the caller may have emptied is not called empty', () => {
    expect(seen({ stop: '\n' }, [finish()])).toEqual({ refusal: false });
  });

  test('is not watched while learning is off, or where no signal counts', () => {
    expect(watchAnswer({ ...ON, mode: 'off' }, chatRequest(JSON_SCHEMA))).toBeNull();
    expect(watchAnswer(only('retry'), chatRequest(JSON_SCHEMA))).toBeNull();
    expect(watchAnswer(only('schema'), chatRequest({}))).toBeNull();
    expect(seen(JSON_SCHEMA, [text('no'), finish()], { ...only('empty'), mode: 'shadow' })).toEqual({ empty: false });
  });
});
