import { describe, expect, test } from 'bun:test';
import { Ajv2020 } from 'ajv/dist/2020';
import fc from 'fast-check';
import { fitsSchema } from '../../../src/core/schema/fits.ts';
import { tries } from '../../deep/effort.ts';

type Fits = (schema: Readonly<Record<string, unknown>>, value: unknown) => boolean;

const few = fc.integer({ min: 0, max: 3 });
const names = fc.constantFrom('a', 'b', 'ü');
const leaves = fc.oneof(
  fc.constantFrom(null, true, 0, 1, 2, 2.5, -1, '', 'a', '😀😀', 'toString'),
  fc.double({ noNaN: true }),
);

/** Values and schemas over the same few names and figures, so that they often fit. */
const { value: values } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    leaves,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(names, tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
}));

const types = fc.constantFrom('null', 'boolean', 'string', 'number', 'integer', 'array', 'object');
const limits = fc.record(
  { minimum: few, maximum: few, exclusiveMinimum: few, exclusiveMaximum: few, minLength: few, maxLength: few },
  { requiredKeys: [] },
);
const { schema: checked } = fc.letrec((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    fc.record({ type: fc.oneof(types, fc.uniqueArray(types, { minLength: 1, maxLength: 3 })) }),
    limits,
    fc.record({ enum: fc.array(values, { minLength: 1, maxLength: 3 }) }),
    fc.record({ const: values }),
    fc.constant({ $ref: '#/$defs/a' }),
    fc.record({ items: tie('schema'), minItems: few, maxItems: few }, { requiredKeys: [] }),
    fc.record({ prefixItems: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }), items: fc.constant(false) }),
    fc.record(
      {
        type: fc.constant('object'),
        properties: fc.dictionary(names, tie('schema'), { maxKeys: 3, noNullPrototype: true }),
        required: fc.uniqueArray(names, { maxLength: 2 }),
        additionalProperties: fc.oneof(fc.boolean(), tie('schema')),
      },
      { requiredKeys: ['type'] },
    ),
    fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
    fc.record({ allOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }) }),
  ),
}));

/** A keyword that is not checked, or only in part. */
const unchecked = fc.oneof(
  fc.constantFrom(
    { pattern: '^a' },
    { format: 'date' },
    { multipleOf: 2 },
    { uniqueItems: true },
    { minProperties: 1 },
    { ofAnotherKind: 'x' },
  ),
  checked.map((schema) => ({ not: schema })),
  fc.tuple(checked, checked).map(([condition, schema]) => ({ if: condition, else: schema })),
  fc.array(checked, { minLength: 1, maxLength: 2 }).map((all) => ({ oneOf: all })),
  checked.map((schema) => ({ patternProperties: { '^b': schema }, additionalProperties: false })),
);

type Schema = Readonly<Record<string, unknown>>;
const isSchema = (schema: unknown): schema is Schema => typeof schema === 'object' && schema !== null;
const schemas = fc.tuple(checked.filter(isSchema), checked);
const withDefs = (schema: Schema, a: unknown): Schema => ({ ...schema, $defs: { a } });

const ajv = new Ajv2020({
  strict: false,
  validateFormats: false,
  validateSchema: false,
  addUsedSchema: false,
  ownProperties: true,
  logger: false,
});

/** The result of an independent implementation of the standard; null if it cannot compile the schema. */
function standardFits(schema: Schema, value: unknown): boolean | null {
  try {
    return ajv.compile(schema)(value);
  } catch (cause) {
    // A schema that refers to itself without an end.
    if (cause instanceof RangeError) return null;
    throw cause;
  } finally {
    ajv.removeSchema(schema);
  }
}

/** A value that does not fit certainly breaks the schema, also with keywords that are not checked. */
const sound = (fits: Fits) =>
  fc.property(schemas, unchecked, values, ([own, a], more, value) => {
    const schema = withDefs({ ...more, ...own }, a);
    if (!fits(schema, value)) expect(standardFits(schema, value)).not.toBe(true);
  });

/** Without such keywords, and without null members, the check is exact. */
const exact = (fits: Fits) =>
  fc.property(schemas, values, ([schema, a], value) => {
    fc.pre(!JSON.stringify(value).includes('null') && !JSON.stringify([schema, a]).includes('$ref'));
    expect(fits(schema, value)).toBe(standardFits(schema, value)!);
  });

describe('the check of a value against a JSON schema', () => {
  test('refuses only values that the standard refuses', () => {
    fc.assert(sound(fitsSchema), tries('JSON schemas: no good answer is refused', 60, 20_000));
  });

  test('agrees with the standard where every keyword is checked', () => {
    fc.assert(exact(fitsSchema), tries('JSON schemas: the check agrees with the standard', 60, 20_000));
  });

  test.each<[string, Fits, (fits: Fits) => fc.IProperty<unknown>]>([
    [
      'treats `oneOf` like `allOf`',
      ({ oneOf, ...schema }, value) => fitsSchema({ ...schema, ...(oneOf !== undefined && { allOf: oneOf }) }, value),
      sound,
    ],
    ['accepts everything', () => true, exact],
    ['ignores `required`', ({ required: _, ...schema }, value) => fitsSchema(schema, value), exact],
    ['refuses unknown keywords', (schema, value) => !('ofAnotherKind' in schema) && fitsSchema(schema, value), sound],
  ])('the laws reject an implementation that %s', (_, fits, law) => {
    expect(fc.check(law(fits), { ...tries('a mutant of the check', 400, 400), endOnFailure: true }).failed).toBe(true);
  });

  test('members that every object inherits do not count', () => {
    expect(fitsSchema({ required: ['toString'] }, {})).toBe(false);
    expect(fitsSchema({ properties: {}, additionalProperties: false }, JSON.parse('{"__proto__":1}'))).toBe(false);
  });

  test.each(['type', 'enum', 'anyOf', 'oneOf'])('an empty list in `%s` counts as satisfied', (keyword) => {
    expect(fitsSchema({ type: 'object', properties: { a: { [keyword]: [] } } }, { a: 1 })).toBe(true);
  });

  test('null counts as an absent optional member', () => {
    const schema = { properties: { a: { type: 'string' } }, required: ['a'] };
    expect(fitsSchema(schema, { a: null })).toBe(false);
    expect(fitsSchema({ ...schema, required: [] }, { a: null })).toBe(true);
    expect(fitsSchema({ properties: { a: { type: 'string', nullable: true } }, required: ['a'] }, { a: null })).toBe(
      true,
    );
  });

  test('references are followed, and those without an end or a target count as satisfied', () => {
    const tree = { $defs: { tree: { type: 'array', items: { $ref: '#/$defs/tree' } } }, $ref: '#/$defs/tree' };
    expect([fitsSchema(tree, [[[]]]), fitsSchema(tree, [[[1]]])]).toEqual([true, false]);
    expect(fitsSchema({ $ref: '#' }, 1)).toBe(true);
    expect(fitsSchema({ $ref: 'https://example.com/schema' }, 1)).toBe(true);
    expect(fitsSchema({ $ref: '#/constructor' }, 1)).toBe(true);
  });

  test('all checks that share a budget end when it is used up', () => {
    const twice: Schema = { anyOf: [{ items: { $ref: '#' } }, { items: { $ref: '#' } }], type: 'array' };
    const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)]);
    const budget = { left: 10_000 };
    expect(fitsSchema(twice, deep(60), budget)).toBe(true);
    expect(budget.left).toBeLessThan(0);
    expect(fitsSchema({ type: 'string' }, 1, budget)).toBe(true);
    expect(fitsSchema({ type: 'string' }, 1, { left: 10 })).toBe(false);
  });
});
