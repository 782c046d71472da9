import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { geminiSchema } from '../../plugins/providers/gemini/schema.ts';
import { tries } from '../deep/effort.ts';

const { numRuns, seed } = tries('schemas for Gemini keep what they say', 100, 20_000);

const leaf = fc.record(
  {
    $ref: fc.constantFrom('#/$defs/A', '#'),
    type: fc.constantFrom('object', 'string', ['string', 'null']),
    description: fc.string(),
    enum: fc.array(fc.oneof(fc.string(), fc.integer())),
  },
  { requiredKeys: [], noNullPrototype: true },
);
const { schema } = fc.letrec<{ schema: object; node: object }>((tie) => ({
  schema: fc.oneof({ maxDepth: 3 }, leaf, tie('node')),
  node: fc
    .tuple(
      leaf,
      fc.record(
        {
          $defs: fc.dictionary(fc.constantFrom('A', '$ref'), tie('schema'), { maxKeys: 1 }),
          properties: fc.dictionary(fc.constantFrom('a', '$ref', '__proto__'), tie('schema'), { maxKeys: 2 }),
          anyOf: fc.array(tie('schema'), { maxLength: 2 }),
        },
        { requiredKeys: [], noNullPrototype: true },
      ),
    )
    .map(([own, inner]) => ({ ...own, ...inner })),
}));

/** Returns every object in a value. */
function objectsIn(value: unknown): Record<string, unknown>[] {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.values(value).flatMap(objectsIn);
  return Array.isArray(value) ? inner : [value as Record<string, unknown>, ...inner];
}

test('a schema keeps its meaning, and no reference has another keyword in its object unless there was an anyOf', () => {
  fc.assert(
    fc.property(schema, (whole) => {
      const before = JSON.stringify(whole);
      const made = geminiSchema(whole);
      for (const one of objectsIn(made)) {
        const crowded = typeof one.$ref === 'string' && Object.keys(one).some((name) => !name.startsWith('$'));
        expect(crowded && !('anyOf' in one)).toBe(false);
      }
      // Each reference and each keyword still occurs once.
      const keywords = (value: unknown) =>
        objectsIn(value)
          .flatMap((one) =>
            Object.entries(one).map(([name, inner]) => `${name}=${typeof inner === 'object' ? '' : inner}`),
          )
          .filter((line) => !line.startsWith('anyOf'))
          .sort();
      expect(keywords(made)).toEqual(keywords(whole));
      expect(geminiSchema(made)).toEqual(made);
      expect(JSON.stringify(whole)).toBe(before);
    }),
    { numRuns, seed },
  );
});
