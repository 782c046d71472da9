import type { TSchema } from '@sinclair/typebox';
import fc from 'fast-check';
import { ERROR_CODES } from '../../src/core/errors.ts';
import { SECTIONS } from '../../src/policy/language.ts';

/** Random policies that satisfy the schemas of the language, some of them with one mistake. */

type Json = unknown;
type Map = Record<string, Json>;

const NAMES = ['a', 'b', 'general', 'auto', 'x.y-1'];
const name = fc.constantFrom(...NAMES);

/** Keys whose values have a form that the schema does not express. */
const BY_KEY: Readonly<Record<string, fc.Arbitrary<Json>>> = {
  refused: fc.constantFrom(...ERROR_CODES),
  time_zone: fc.constantFrom('UTC', 'Europe/Berlin'),
  base_url: fc.constant('https://api.example.com/v1'),
  settings: fc.constant({}),
  options: fc.constant({}),
  messages: fc.constantFrom([{ role: 'user', content: 'hi' }], [{ role: 'assistant', content: null }]),
  preset: fc.constantFrom('groq', 'openai', 'ollama'),
  adapter: fc.constantFrom('openai', 'openai-compatible', 'anthropic', 'simulated'),
  strategy: fc.constantFrom('auto', 'auto-fast', 'weighted'),
};

/** Makes values that satisfy a schema. A text with a pattern is one of its examples. */
function fitting(schema: TSchema, key = ''): fc.Arbitrary<Json> {
  const special = BY_KEY[key];
  if (special) return special;
  if ('const' in schema) return fc.constant(schema.const);
  if (Array.isArray(schema.anyOf)) return fc.oneof(...schema.anyOf.map((one: TSchema) => fitting(one, key)));
  switch (schema.type) {
    case 'boolean':
      return fc.boolean();
    case 'integer':
      return fc.integer({ min: schema.minimum ?? 0, max: Math.min(schema.maximum ?? 100_000, 2_000_000_000) });
    case 'number':
      return figure(schema);
    case 'string':
      return schema.pattern || !schema.minLength ? fc.constantFrom(...(schema.examples ?? ['a'])) : texts(schema);
    case 'array':
      return fc
        .array(fitting(schema.items ?? {}, key), {
          minLength: schema.minItems ?? 0,
          maxLength: Math.min(schema.maxItems ?? 3, 3),
          ...(schema.uniqueItems && { size: 'max' }),
        })
        .map((items) => (schema.uniqueItems ? [...new Set(items)] : items));
    case 'object':
      return map(schema);
    default:
      return fc.constant('a');
  }
}

const texts = (schema: TSchema) =>
  fc.constantFrom(...(schema.examples ?? []), 'a', '0'.repeat(Math.min(schema.maxLength ?? 5, 200)));

function figure({ minimum, exclusiveMinimum, maximum, exclusiveMaximum }: TSchema): fc.Arbitrary<number> {
  return fc.double({
    min: minimum ?? exclusiveMinimum ?? 0,
    max: maximum ?? exclusiveMaximum ?? 1000,
    minExcluded: minimum === undefined && exclusiveMinimum !== undefined,
    maxExcluded: maximum === undefined && exclusiveMaximum !== undefined,
    noNaN: true,
  });
}

function map({ properties = {}, required = [], patternProperties, additionalProperties }: TSchema): fc.Arbitrary<Json> {
  const [each = typeof additionalProperties === 'object' ? additionalProperties : null] = Object.values<TSchema>(
    patternProperties ?? {},
  );
  const known = Object.entries<TSchema>(properties);
  const needed = known.filter(([key, one]) => required.includes(key) && one.default === undefined).map(([key]) => key);
  return fc
    .tuple(
      fc.record(Object.fromEntries(known.map(([key, one]) => [key, fitting(one, key)])), { requiredKeys: needed }),
      each ? fc.dictionary(name, fitting(each), { maxKeys: 2, noNullPrototype: true }) : fc.constant({}),
    )
    .map(([keys, others]) => ({ ...others, ...keys }));
}

/** A file with one or two sections. */
const whole: fc.Arbitrary<Map> = fc
  .array(
    fc.oneof(
      ...Object.entries<TSchema>(SECTIONS).map(([key, one]) =>
        fitting(one, key).map((value): Map => ({ [key]: value })),
      ),
    ),
    { minLength: 1, maxLength: 2 },
  )
  .map((sections) => Object.assign({}, ...sections));

const FAULTS = ['unknown key', 'key left out', 'text', 'list', 'negative', 'too much', 'nothing'] as const;
type PolicyFault = (typeof FAULTS)[number];

/** Policies with at most one mistake, at a random location. */
export const policies: fc.Arbitrary<Map> = fc
  .tuple(whole, fc.option(fc.constantFrom(...FAULTS)), fc.nat())
  .map(([policy, slip, at]) => (slip ? withFault(structuredClone(policy), slip, at) : policy));

function withFault(policy: Map, slip: PolicyFault, at: number): Map {
  const places = placesOf(policy);
  const place = places[at % places.length];
  if (!place) return policy;
  const { owner, key } = place;
  const value = owner[key];
  if (slip === 'key left out') delete owner[key];
  else if (slip === 'text') owner[key] = 'no such word';
  else if (slip === 'list') owner[key] = ['no such word'];
  else if (slip === 'negative') owner[key] = -7.5;
  else if (slip === 'too much') owner[key] = 1e13;
  else if (slip === 'nothing') owner[key] = null;
  else if (isMap(value)) owner[key] = { ...value, nonsense: 1 };
  else owner.nonsense = 1;
  return policy;
}

const isMap = (value: Json): value is Map => typeof value === 'object' && value !== null && !Array.isArray(value);

function placesOf(value: Json): { owner: Map; key: string }[] {
  if (Array.isArray(value)) return value.flatMap(placesOf);
  return isMap(value) ? Object.keys(value).flatMap((key) => [{ owner: value, key }, ...placesOf(value[key])]) : [];
}
