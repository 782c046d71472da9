import { describe, expect, test } from 'bun:test';
import Ajv from 'ajv/dist/2020';
import fc from 'fast-check';
import { StepBudget } from '../../src/request/signals/json.ts';
import { violates } from '../../src/request/signals/schema-check.ts';
import { effort } from '../deep/effort.ts';
import { inTime } from '../support/in-time.ts';

const { runs: numRuns, seed, proved } = effort('learning', 150, 30_000);

const STEPS = 20_000;
const says = (schema: unknown, value: unknown) => violates(schema, value, new StepBudget(STEPS));
const nested = (depth: number, inner: unknown, around: (inner: unknown) => unknown): unknown => {
  let value = inner;
  for (let i = 0; i < depth; i++) value = around(value);
  return value;
};

/** A judge of reference that knows everything but formats. */
const reference = new Ajv({ strict: false, validateFormats: false, ownProperties: true, logger: false });

const name = fc.constantFrom('a', 'b', 'c', 'id', '$id', 'a/b');
const scalar = fc.oneof(
  fc.constantFrom(null, true, false, '', 'a', 'b', 'ab', '𝄞𝄞', 0, 1, -1, 2.5, 4, 6),
  fc.string({ maxLength: 4 }),
  fc.integer({ min: -5, max: 5 }),
);
const { value: anyValue } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(name, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
}));
const small = fc.integer({ min: 0, max: 4 });
const TYPES = ['null', 'boolean', 'number', 'integer', 'string', 'array', 'object'];

const COMBINING = ['not', 'not', 'not', 'anyOf', 'oneOf', 'properties', 'additionalProperties', 'items', 'pattern'];
const { schema: anySchema } = fc.letrec<{ schema: unknown }>((tie) => {
  const schema = tie('schema');
  const list = fc.array(schema, { minLength: 1, maxLength: 3 });
  const keywords: Record<string, fc.Arbitrary<unknown>> = {
    type: fc.oneof(
      fc.constantFrom(...TYPES),
      fc.uniqueArray(fc.constantFrom(...TYPES), { minLength: 1, maxLength: 3 }),
    ),
    enum: fc.uniqueArray(anyValue, { minLength: 1, maxLength: 3, comparator: Bun.deepEquals }),
    const: anyValue,
    properties: fc.dictionary(name, schema, { maxKeys: 3, noNullPrototype: true }),
    patternProperties: fc.dictionary(fc.constantFrom('^a', 'b$'), schema, { maxKeys: 1, noNullPrototype: true }),
    additionalProperties: schema,
    required: fc.uniqueArray(name, { maxLength: 2 }),
    propertyNames: schema,
    dependentRequired: fc.dictionary(name, fc.uniqueArray(name, { maxLength: 2 }), {
      maxKeys: 2,
      noNullPrototype: true,
    }),
    items: schema,
    prefixItems: list,
    contains: schema,
    uniqueItems: fc.boolean(),
    pattern: fc.constantFrom('^a', 'b+$'),
    format: fc.constantFrom('date', 'email'),
    not: fc.oneof(schema, fc.constantFrom({ pattern: '^a' }, { contains: { type: 'string' } })),
    title: fc.string(),
    multipleOf: fc.integer({ min: 1, max: 4 }),
    $ref: fc.constantFrom('#/$defs/x', '#/$defs/y~1z', '#/$defs/n'),
    ...Object.fromEntries(['allOf', 'anyOf', 'oneOf'].map((keyword) => [keyword, list])),
    ...Object.fromEntries(['if', 'then', 'else', 'unevaluatedProperties'].map((keyword) => [keyword, schema])),
    ...Object.fromEntries(
      ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'minLength', 'maxLength'].map((k) => [k, small]),
    ),
    ...Object.fromEntries(['minItems', 'maxItems', 'minProperties', 'maxProperties'].map((k) => [k, small])),
  };
  const one = fc
    .constantFrom(...Object.keys(keywords), ...COMBINING, ...COMBINING)
    .chain((keyword) => keywords[keyword]!.map((rule) => [keyword, rule] as const));
  return {
    schema: fc.oneof(
      { depthSize: 'medium', withCrossShrink: true },
      fc.boolean(),
      fc.constantFrom('string', 'object').map((type) => ({ type, nullable: true })),
      fc.array(one, { maxLength: 3 }).map((members) => Object.fromEntries(members)),
    ),
  };
});
const DEFINITIONS = {
  x: { type: ['string', 'null'], maxLength: 2 },
  'y/z': { type: 'object', required: ['a'] },
  n: { type: 'array', items: { $ref: '#/$defs/x' } },
};
const wholeSchema = anySchema.map((schema) =>
  typeof schema === 'object' ? { ...schema, $defs: DEFINITIONS } : schema,
);

/** Of a few schemas, such as `anyOf` beside `not` and `additionalProperties`, its code names what it never declares, or reads of undefined: then it says nothing. */
function isAccepted(accepts: (value: unknown) => unknown, value: unknown): boolean {
  try {
    return accepts(value) === true;
  } catch (error) {
    if (error instanceof ReferenceError || error instanceof TypeError) return false;
    throw error;
  }
}

/** Looks for a value that the judge of reference accepts and the check is sure to refuse. */
function wronged(check: (schema: unknown, value: unknown) => boolean | null) {
  const law = fc.property(wholeSchema, fc.array(anyValue, { minLength: 4, maxLength: 4 }), (schema, values) => {
    const accepts = reference.compile(schema as object);
    for (const value of values) if (isAccepted(accepts, value)) expect(check(schema, value)).not.toBe(true);
  });
  // A mutant is given time: it is tried until it fails.
  return fc.check(law, check === says ? { numRuns, seed } : { numRuns: 100 * numRuns, seed, endOnFailure: true });
}

describe('the check of a JSON schema', () => {
  test('law: it never refuses what the standard accepts', () => {
    expect(fc.defaultReportMessage(wronged(says)) ?? '').toBe('');
    proved(
      'random schemas and values: the check of an answer never says of one that the standard accepts that it violates its schema',
    );
  });

  /** The same check of a schema that is read otherwise. */
  const misread = (read: (key: string, inner: unknown) => unknown) => (schema: unknown, value: unknown) =>
    says(JSON.parse(JSON.stringify(schema), read), value);
  const UNKNOWN = new Set(['pattern', 'patternProperties', 'contains', 'unevaluatedProperties']);
  const MUTANTS = {
    'takes for kept what it does not know, which `not` turns about': misread((key, inner) =>
      UNKNOWN.has(key) ? undefined : inner,
    ),
    'takes any of several for just one of them': (schema: unknown, value: unknown) =>
      says(JSON.parse(JSON.stringify(schema).replaceAll('"anyOf"', '"oneOf"')), value),
  };
  for (const [what, mutant] of Object.entries(MUTANTS)) {
    test(`law: that law kills a check that ${what}`, () => {
      expect(wronged(mutant).failed).toBe(true);
    });
  }

  const person = {
    type: 'object',
    properties: {
      name: { type: 'string', minLength: 1, maxLength: 5 },
      age: { type: 'integer', minimum: 0, exclusiveMaximum: 150 },
      mood: { enum: ['good', 'bad', null] },
      kind: { const: 'person' },
      tags: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 3, uniqueItems: true },
      at: { type: 'array', prefixItems: [{ type: 'number' }, { type: 'number' }], items: false },
      friend: { anyOf: [{ $ref: '#' }, { type: 'null' }] },
      pet: { oneOf: [{ $ref: '#/$defs/cat' }, { $ref: '#/$defs/dog' }] },
      step: { multipleOf: 5 },
      nick: { allOf: [{ type: 'string' }, { not: { const: 'x' } }] },
    },
    required: ['name'],
    additionalProperties: false,
    if: { properties: { kind: { const: 'person' } }, required: ['kind'] },
    // biome-ignore lint/suspicious/noThenProperty: it is a keyword.
    then: { required: ['age'] },
    $defs: {
      cat: { type: 'object', properties: { lives: { type: 'integer' } }, required: ['lives'] },
      dog: { type: 'object', properties: { tricks: { type: 'array' } }, required: ['tricks'] },
    },
  };
  const WRONG: readonly object[] = [
    {},
    { name: 5 },
    { name: '' },
    { name: 'too long' },
    { name: '𝄞𝄞𝄞𝄞𝄞𝄞' },
    { name: 'a', age: 1.5 },
    { name: 'a', age: -1 },
    { name: 'a', age: 150 },
    { name: 'a', age: '7' },
    { name: 'a', mood: 'so so' },
    { name: 'a', kind: 'robot' },
    { name: 'a', kind: 'person' },
    { name: 'a', tags: [] },
    { name: 'a', tags: ['a', 1] },
    { name: 'a', tags: ['a', 'a'] },
    { name: 'a', tags: ['a', 'b', 'c', 'd'] },
    { name: 'a', at: [1, 2, 3] },
    { name: 'a', at: [1, '2'] },
    { name: 'a', friend: { name: 'b', friend: { name: 7 } } },
    { name: 'a', pet: {} },
    { name: 'a', pet: { lives: 9, tricks: [] } },
    { name: 'a', step: 7 },
    { name: 'a', nick: 'x' },
    { name: 'a', surname: 'b' },
  ];
  const RIGHT: readonly object[] = [
    { name: 'a' },
    { name: '𝄞𝄞𝄞𝄞𝄞', age: 149, mood: null, kind: 'person', tags: ['a', 'b'], at: [1, 2] },
    { name: 'a', friend: null, step: 10, nick: 'y' },
    { name: 'a', friend: { name: 'b' }, pet: { lives: 9 } },
  ];
  const holds = reference.compile(person);

  test('refuses the usual violations, as the judge of reference does, and nothing else', () => {
    for (const value of WRONG)
      expect([says(person, value), holds(value)], JSON.stringify(value)).toEqual([true, false]);
    for (const value of RIGHT)
      expect([says(person, value), holds(value)], JSON.stringify(value)).toEqual([false, true]);
  });

  test('does not judge what drafts or dialects disagree about, nor what it cannot know', () => {
    const unsure: readonly (readonly [unknown, unknown])[] = [
      [{ type: 'string', nullable: true }, null],
      [{ items: [{ type: 'string' }] }, [5]],
      [{ $ref: '#/$defs/a', type: 'string', $defs: { a: true } }, 5],
      [{ $ref: 'https://example.com/schema' }, 5],
      [{ $ref: '#/$defs/none' }, 5],
      [{ $ref: '#/%' }, 5],
      [{ properties: { a: { $id: 'x', type: 'string' } } }, { a: 5 }],
      [{ type: 'any' }, 5],
      [{ type: 7 }, 5],
      [{ required: true }, {}],
      [{ minimum: '7' }, 5],
      [{ enum: [] }, 5],
      [{ pattern: '^a' }, 'b'],
      [{ format: 'date' }, 'b'],
      [{ multipleOf: 0.1 }, 0.25],
      [{ type: 'integer' }, Number.POSITIVE_INFINITY],
      ['string', 5],
      [undefined, 5],
      [null, 5],
    ];
    for (const [schema, value] of unsure) expect(says(schema, value), JSON.stringify(schema)).toBe(false);
  });
});

describe('a hostile schema or answer', () => {
  const many = (count: number, one: unknown): unknown[] => Array(count).fill(one);
  const wide = Object.fromEntries(many(9_000, 0).map((zero, i) => [`m${i}`, zero]));
  const HOSTILE: readonly (readonly [what: string, schema: unknown, value: unknown])[] = [
    ['doubles with every step', nested(64, { type: 'string' }, (inner) => ({ anyOf: [inner, inner] })), 5],
    ['refers to itself, twice', { anyOf: [{ $ref: '#' }, { $ref: '#' }] }, 5],
    ['has very many variants', { anyOf: many(100_000, false) }, 5],
    ['has very many types', { anyOf: many(100, { type: many(1_000, 'string') }) }, 5],
    ['asks for very many members', { required: many(100_000, 'm1') }, wide],
    ['has the members counted again and again', { allOf: many(9_000, { minProperties: 1 }) }, wide],
    ['refuses the first member, again and again', { anyOf: many(9_000, { properties: { m0: false } }) }, wide],
    ['compares all with all', { uniqueItems: true }, many(30_000, 0).map((_, i) => i)],
    ['compares long texts', { anyOf: many(9_000, { const: `${'a'.repeat(60_000)}b` }) }, `${'a'.repeat(60_000)}c`],
    ['counts long texts', { allOf: many(9_000, { minLength: 1 }) }, 'a'.repeat(60_000)],
    [
      'has an item of its own for each',
      { allOf: many(90, { prefixItems: many(900, true), items: true }) },
      many(900, 0),
    ],
  ];
  for (const [what, schema, value] of HOSTILE) {
    test(`that ${what} is given up in time`, async () => {
      // A bound against what has none, not a figure of speed.
      expect(await inTime(2_000, () => says(schema, value))).toBeNull();
    });
  }

  test('that nests without end overflows nothing', () => {
    const deep = JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`);
    expect(says({ $ref: '#/$defs/a', $defs: { a: { items: { $ref: '#/$defs/a' } } } }, deep)).toBe(false);
    expect(says({ const: deep }, JSON.parse(JSON.stringify([deep])))).toBe(false);
    expect(
      says(
        nested(200, { type: 'string' }, (inner) => ({ not: inner })),
        5,
      ),
    ).toBe(false);
    expect(says({ $ref: '#' }, 5)).toBe(false);
  });

  test('that names what every object inherits finds nothing there', () => {
    expect(says({ required: ['constructor'] }, {})).toBe(true);
    expect(says({ properties: { toString: { type: 'string' } } }, {})).toBe(false);
    expect(says({ $ref: '#/constructor' }, {})).toBe(false);
    expect(says(JSON.parse('{"__proto__": {"type": "string"}}'), 5)).toBe(false);
    expect(says({ additionalProperties: false }, JSON.parse('{"__proto__": 1}'))).toBe(true);
    expect(says({ properties: { a: true }, additionalProperties: false }, JSON.parse('{"constructor": 1}'))).toBe(true);
  });
});
