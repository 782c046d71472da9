import { expect, test } from 'bun:test';
import type { TSchema } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import fc from 'fast-check';
import { parsedValue } from '../../src/admin/kit/values.ts';
import { decode, encode } from '../../src/core/define/field.ts';
import * as f from '../../src/core/define/fields.ts';
import { SignalboxError } from '../../src/core/errors.ts';
import { tries } from '../deep/effort.ts';

/** A field with a possible value of the program. */
interface Sample {
  readonly field: TSchema;
  readonly value: unknown;
}

const of = (field: TSchema, values: fc.Arbitrary<unknown>): fc.Arbitrary<Sample> =>
  values.map((value) => ({ field, value }));

const leaf = fc.oneof(
  of(
    f.credits('', 1),
    fc.maxSafeInteger().filter((amount) => Math.abs(amount) <= 1e15),
  ),
  of(f.moment(''), fc.integer({ min: 0, max: Date.UTC(9999, 11, 31) })),
  of(f.text(''), fc.string()),
  of(f.textOrNull(''), fc.option(fc.string())),
  of(f.rows('', { last_used_at: f.moment('') }), fc.array(fc.record({ lastUsedAt: fc.nat() }), { maxLength: 2 })),
  of(f.onWire(f.closed('', { last_used_at: f.moment('') })), fc.constant({ last_used_at: '2026-11-20T09:30:00.000Z' })),
  of(f.count(''), fc.nat()),
  of(f.amount('', 1, { minimum: 0, maximum: 1e9 }), fc.nat()),
  of(f.flag(''), fc.boolean()),
  of(f.word(['day', 'month'], ''), fc.constantFrom('day', 'month')),
  of(f.mapOf(f.text(''), ''), fc.dictionary(fc.stringMatching(/^[a-z]{1,3}$/), fc.string())),
);

/** Names in JSON and in the program. The last pair of names uses `as`. */
const NAMES = [
  ['id', 'id'],
  ['limit_credits', 'limitCredits'],
  ['in_the_end', 'inTheEnd'],
  ['wallets', 'holders'],
] as const;

function shapeOf(samples: readonly Sample[], isAbsent: readonly boolean[]): Sample {
  const members = NAMES.slice(0, samples.length).map(([name, member], at) => {
    const { field, value } = samples[at]!;
    return { name, member, value, field: f.as(member, isAbsent[at] ? f.optional(field) : field) };
  });
  return {
    field: f.shape('', Object.fromEntries(members.map(({ name, field }) => [name, field]))),
    value: Object.fromEntries(members.flatMap(({ member, value }, at) => (isAbsent[at] ? [] : [[member, value]]))),
  };
}

const { sample } = fc.letrec<{ sample: Sample }>((tie) => ({
  sample: fc.oneof(
    { maxDepth: 4 },
    leaf,
    fc.tuple(tie('sample'), fc.boolean()).map(([{ field, value }, isNull]) => ({
      field: f.orNull(field),
      value: isNull ? null : value,
    })),
    fc.tuple(tie('sample'), fc.nat(3)).map(([{ field, value }, length]) => ({
      field: f.list(field, ''),
      value: Array.from({ length }, () => value),
    })),
    fc
      .tuple(
        fc.array(tie('sample'), { maxLength: NAMES.length }),
        fc.array(fc.boolean(), { minLength: NAMES.length, maxLength: NAMES.length }),
      )
      .map(([samples, isAbsent]) => shapeOf(samples, isAbsent)),
  ),
}));

const WORTH = { usd: () => null };

/** An encoded value must match the schema of its field and be decoded to the same value, also after conversion to a JSON text. */
const law = (write: typeof encode) =>
  fc.property(sample, ({ field, value }) => {
    const written: unknown = JSON.parse(JSON.stringify(write(field, value, WORTH)));
    expect([...TypeCompiler.Compile(field).Errors(written)]).toEqual([]);
    expect(decode(field, written, null)).toEqual(value);
  });

test('every field encodes a value that matches its JSON schema and decodes to the same value', () => {
  fc.assert(law(encode), tries('fields', 300, 20_000));
});

/** Writes moments without milliseconds. */
const withoutMs: typeof encode = (field, value, worth) =>
  JSON.parse(JSON.stringify(encode(field, value, worth)).replaceAll(/\.\d{3}Z"/g, 'Z"'));

test('the law of fields rejects a codec that writes times to the second', () => {
  expect(fc.check(law(withoutMs), tries('fields', 300, 20_000)).failed).toBe(true);
});

test.each([
  ['1', 'out_of_range', 1],
  ['500', 'out_of_range', 500],
  ['0', 'out_of_range', 'out_of_range'],
  ['501', 'out_of_range', 'out_of_range'],
  ['many', 'out_of_range', 'out_of_range'],
  ['501', 'invalid_value', 'invalid_value'],
] as const)('a page size %s is read, or refused with the error code of its list, %s', (text, code, expected) => {
  const field = f.pageSize({ most: 500, unlessGiven: 50, ...(code === 'invalid_value' && { code }) });
  const read = () => {
    try {
      return parsedValue('limit', field, [text]);
    } catch (cause) {
      return cause instanceof SignalboxError && cause.info.param === 'limit' ? cause.code : cause;
    }
  };
  expect(read()).toBe(expected);
});

test('an answer contains members that always have the same value, even if the result does not state them', () => {
  const shape = f.shape('', { object: f.always('list'), data: f.list(f.shape('', { object: f.always('key') }), '') });
  const answer = encode(shape, { data: [{}] }, { usd: () => null });
  expect(answer).toEqual({ object: 'list', data: [{ object: 'key' }] });
});
