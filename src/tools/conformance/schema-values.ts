import type { TSchema } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import fc from 'fast-check';
import { isEmpty, isObject } from '../../core/json/object.ts';
import { messageOf, orElse } from '../../core/thrown.ts';
import { deepFreeze } from '../../policy/report/freeze.ts';
import { isEqual, type Law, type LawText, law, quote, shortJson } from './law.ts';

/** Options of a plugin, as a policy states them. */
export type StatedOptions = Readonly<Record<string, unknown>>;

/** The options of a policy that states no options; null if the schema requires some. */
export function defaultsOf(schema: TSchema): StatedOptions | null {
  const made: unknown = Value.Default(schema, {});
  return isObject(made) && Value.Check(schema, made) ? made : null;
}

/** Options that a policy could state, with defaults filled in; null if no valid options were found. */
export function optionsFrom(schema: TSchema): fc.Arbitrary<StatedOptions> | null {
  const defaults = defaultsOf(schema);
  const made = valuesOf(schema).map((value) => Value.Default(schema, value));
  const right = made.filter((value): value is StatedOptions => isObject(value) && Value.Check(schema, value));
  if (defaults) return fc.oneof({ weight: 1, arbitrary: fc.constant(defaults) }, { weight: 3, arbitrary: right });
  const isPossible = fc.sample(made, { numRuns: 50, seed: 1 }).some((value) => Value.Check(schema, value));
  return isPossible ? right : null;
}

interface OptionsLawText<Subject> {
  readonly name: 'options' | 'settings';
  readonly says: string;
  cases(subject: Subject): fc.Arbitrary<StatedOptions> | null;
  prepare(subject: Subject, options: StatedOptions): unknown;
  /** Options that the plugin itself states; `ownWords` describes them in messages. */
  own(subject: Subject): readonly (StatedOptions | null)[];
  readonly ownWords: string;
}

/** Makes the law that a plugin accepts its own options, and explains why it refuses others. */
export const optionsLaw = <Subject>(text: OptionsLawText<Subject>): Law<Subject> =>
  law({
    name: text.name,
    says: text.says,
    cases: text.cases,
    fault(subject, given) {
      try {
        text.prepare(subject, deepFreeze(structuredClone(given)));
        return null;
      } catch (cause) {
        const message = quote(messageOf(cause));
        if (text.own(subject).some((own) => isEqual(own, given))) return `prepare refuses ${text.ownWords}: ${message}`;
        const isExplained = cause instanceof Error && cause.message.trim() !== '' && !/\n/.test(cause.message);
        const isOfTheLanguage = cause instanceof TypeError || cause instanceof ReferenceError;
        if (isExplained && !isOfTheLanguage) return null;
        return `prepare throws ${message}, which does not help an operator: throw an Error with one sentence`;
      }
    },
    describe: (given) => `${text.name} ${shortJson(given)}`,
  });

/** Makes the options law for a plugin with options. */
export const pluginOptionsLaw = <Subject extends { readonly plugin: { readonly options: TSchema } }>(
  prepare: OptionsLawText<Subject>['prepare'],
): Law<Subject> =>
  optionsLaw({
    name: 'options',
    says: '`prepare` accepts the default options; if it refuses other options that the schema allows, its error gives a reason',
    cases: ({ plugin }) => optionsFrom(plugin.options),
    prepare,
    own: ({ plugin }) => [defaultsOf(plugin.options)],
    ownWords: 'the defaults',
  });

/** A law about what `prepare` returns. */
interface PreparedLawText<Subject, Prepared, Case> extends Omit<LawText<Subject, Case>, 'fault'> {
  fault(prepared: Prepared, one: Case, subject: Subject, options: StatedOptions): string | null;
}

interface OptionsOfKind<Subject, Prepared> {
  readonly noun: 'options' | 'settings';
  all(subject: Subject): fc.Arbitrary<StatedOptions> | null;
  /** Throws or returns null if the laws do not apply. */
  prepare(subject: Subject, options: StatedOptions): Prepared | null;
}

/** Returns a function that makes laws about plugins of a kind, prepared with each of their options. */
export const preparedLaws =
  <Subject, Prepared>({ noun, all, prepare }: OptionsOfKind<Subject, Prepared>) =>
  <Case>(text: PreparedLawText<Subject, Prepared, Case>): Law<Subject> =>
    law<Subject, { readonly options: StatedOptions; readonly one: Case }>({
      ...text,
      cases(subject) {
        const [options, cases] = [all(subject), text.cases(subject)];
        return options && cases && fc.record({ options, one: cases });
      },
      fault(subject, { options, one }) {
        const prepared = orElse(() => prepare(subject, options), null);
        return prepared && text.fault(prepared, one, subject, options);
      },
      describe: ({ options, one }) => text.describe(one) + (isEmpty(options) ? '' : `; ${noun} ${shortJson(options)}`),
    });

/** Values for a TypeBox schema. Unsupported types get their default or arbitrary values. */
function valuesOf(schema: TSchema): fc.Arbitrary<unknown> {
  if ('const' in schema) return fc.constant(schema.const);
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum);
  const union: unknown = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(union)) return fc.oneof(...union.map(valuesOf));
  const values = plainValues(schema);
  return 'default' in schema ? fc.oneof(fc.constant(schema.default), values) : values;
}

function plainValues(schema: TSchema): fc.Arbitrary<unknown> {
  switch (schema.type) {
    case 'boolean':
      return fc.boolean();
    case 'integer':
    case 'number':
      return numbers(schema);
    case 'string':
      return typeof schema.pattern === 'string'
        ? fc.stringMatching(new RegExp(schema.pattern))
        : fc.string({ minLength: schema.minLength ?? 0, maxLength: Math.min(schema.maxLength ?? 12, 24) });
    case 'array':
      return fc.array(valuesOf(schema.items ?? {}), {
        minLength: schema.minItems ?? 0,
        maxLength: schema.maxItems ?? 4,
      });
    case 'object':
      return objects(schema);
    default:
      return 'default' in schema ? fc.constant(schema.default) : fc.constantFrom<unknown>('a', 1, null);
  }
}

/** The default for schemas without a bound. */
const DEFAULT_BOUND = 1e6;

function numbers(schema: TSchema): fc.Arbitrary<number> {
  const isWhole = schema.type === 'integer';
  const step = isWhole ? 1 : 1e-9;
  const min: number =
    schema.minimum ?? (schema.exclusiveMinimum === undefined ? -DEFAULT_BOUND : schema.exclusiveMinimum + step);
  const top: number =
    schema.maximum ?? (schema.exclusiveMaximum === undefined ? DEFAULT_BOUND : schema.exclusiveMaximum - step);
  const max = Math.max(min, top);
  const between = isWhole
    ? fc.integer({ min: Math.ceil(min), max: Math.max(Math.ceil(min), Math.floor(max)) })
    : fc.double({ min, max, noNaN: true });
  return fc.oneof({ weight: 1, arbitrary: fc.constantFrom(min, max) }, { weight: 3, arbitrary: between });
}

function objects(schema: TSchema): fc.Arbitrary<unknown> {
  const properties: Readonly<Record<string, TSchema>> = schema.properties ?? {};
  const required: unknown = schema.required;
  const requiredKeys = Array.isArray(required) ? Object.keys(properties).filter((key) => required.includes(key)) : [];
  const members = Object.fromEntries(Object.entries(properties).map(([key, member]) => [key, valuesOf(member)]));
  // Properties with a default are sometimes absent, as in policies.
  const optional = requiredKeys.filter((key) => !('default' in (properties[key] ?? {})));
  return fc.record(members, { requiredKeys: optional });
}
