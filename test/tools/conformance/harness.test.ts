import { describe, expect, test } from 'bun:test';
import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import fc from 'fast-check';
import { defaultsOf, optionsFrom } from '../../../src/tools/conformance/schema-values.ts';
import { CANARY, runSealed } from '../../../src/tools/conformance/sealed.ts';

describe('options generated for a schema', () => {
  const schema = Type.Object({
    share: Type.Number({ minimum: 0, maximum: 1, default: 0.5 }),
    above: Type.Number({ exclusiveMinimum: 0 }),
    count: Type.Optional(Type.Integer({ minimum: 3, maximum: 5 })),
    mode: Type.Union([Type.Literal('a'), Type.Literal('b')], { default: 'a' }),
    code: Type.String({ pattern: '^[A-Z]{2}$' }),
    list: Type.Array(Type.Boolean(), { minItems: 1 }),
    within: Type.Object({ deep: Type.String({ minLength: 2 }) }),
  });
  const made = optionsFrom(schema);

  test('options generated for a schema match the schema, vary, and include its defaults', () => {
    if (!made) throw new Error('no options could be generated');
    const all = fc.sample(made, { numRuns: 300, seed: 1 });
    expect(all.filter((one) => !Value.Check(schema, one))).toEqual([]);
    for (const [name, value] of [
      ['mode', 'b'],
      ['share', 0.5],
      ['share', 1],
      ['count', 3],
      ['count', undefined],
    ] as const)
      expect([name, value, all.some((one) => one[name] === value)]).toEqual([name, value, true]);
  });

  test('no options are generated for a schema without values; a schema with all defaults gives its defaults', () => {
    expect(optionsFrom(Type.Object({ never: Type.Never() }))).toBeNull();
    expect(defaultsOf(schema)).toBeNull();
    expect(defaultsOf(Type.Object({ a: Type.Number({ default: 1 }) }))).toEqual({ a: 1 });
  });
});

describe('a sealed function', () => {
  const REACHES: readonly (readonly [string, () => unknown])[] = [
    ['chance (Math.random)', () => Math.random()],
    ['chance (crypto)', () => crypto.randomUUID()],
    ['chance (crypto)', () => crypto.getRandomValues(new Uint8Array(1))],
    ['a clock (Date.now)', () => Date.now()],
    ['a clock (new Date)', () => new Date()],
    ['a clock (performance.now)', () => performance.now()],
    ['a timer (setTimeout)', () => clearTimeout(setTimeout(() => {}))],
    ['the environment (HOME)', () => process.env.HOME],
  ];
  test.each(REACHES)('is caught using %s', (label, reach) => {
    expect([...runSealed(reach).reached]).toEqual([label]);
  });

  test('a sealed function cannot use the network, and sees only fake environment variables', () => {
    expect(() => runSealed(() => fetch('http://127.0.0.1:1'))).toThrow('may not use the network');
    expect(runSealed(() => process.env.PATH).value).toBe(CANARY);
  });

  test('a sealed function restores the globals even if it throws; a Date with an argument does not count as a clock', () => {
    const before = [Math.random, Date, fetch, process.env, performance.now, setTimeout];
    expect(() =>
      runSealed(() => {
        throw new Error('no');
      }),
    ).toThrow('no');
    expect(
      [Math.random, Date, fetch, process.env, performance.now, setTimeout].map((one, at) => one === before[at]),
    ).not.toContain(false);
    expect(runSealed(() => new Date(0).toISOString())).toEqual({ value: '1970-01-01T00:00:00.000Z', reached: [] });
    expect(process.env.PATH).not.toBe(CANARY);
  });
});
