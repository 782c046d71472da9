import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { atOnce } from '../../../src/policy/report/steps.ts';
import { diffPolicies, findRenames, summary } from '../../../src/policy/runtime/diff.ts';

describe('the difference of two policies', () => {
  test('the difference of two policies names added, removed and changed members, with old and new values', () => {
    const before = {
      credits: { usd_per_credit: 0.001 },
      models: { a: { price: { input: 1, output: 4 }, tags: ['x'] }, b: {} },
      constraints: [{ name: 'eu', require: 'one' }, { name: 'old' }],
      baseline: 'a',
    };
    const after = {
      credits: { usd_per_credit: 0.002 },
      models: { a: { price: { input: 1.5, output: 4 }, tags: ['x', 'y'], max_output: 5 }, c: {} },
      constraints: [{ name: 'new' }, { name: 'eu', require: 'two' }],
      plugins: ['./p.ts'],
    };
    expect(diffPolicies(before, after)).toEqual([
      { change: 'removed', section: 'baseline', name: null },
      { change: 'changed', section: 'constraints', name: 'eu', keys: [{ key: 'require', from: 'one', to: 'two' }] },
      { change: 'added', section: 'constraints', name: 'new' },
      { change: 'removed', section: 'constraints', name: 'old' },
      { change: 'changed', section: 'credits', name: null, keys: [{ key: 'usd_per_credit', from: 0.001, to: 0.002 }] },
      {
        change: 'changed',
        section: 'models',
        name: 'a',
        keys: [
          { key: 'max_output', to: 5 },
          { key: 'price.input', from: 1, to: 1.5 },
          { key: 'tags', from: ['x'], to: ['x', 'y'] },
        ],
      },
      { change: 'removed', section: 'models', name: 'b' },
      { change: 'added', section: 'models', name: 'c' },
      { change: 'added', section: 'plugins', name: './p.ts' },
    ]);
    expect(summary(diffPolicies(before, after))).toBe(
      'baseline removed, 1 constraint changed, 1 constraint added, 1 constraint removed, credits changed, ' +
        '1 model changed, 1 model removed, 1 model added, 1 plugin added',
    );
  });

  test('the difference of two policies names the members of every section that is a list, also teams and issuers of tokens', () => {
    const teams = [{ name: 'search', models: ['a'] }];
    expect(diffPolicies({ teams, tokens: [{ name: 'ci' }] }, { teams: [{ name: 'ads' }, ...teams] })).toEqual([
      { change: 'added', section: 'teams', name: 'ads' },
      { change: 'removed', section: 'tokens', name: 'ci' },
    ]);
  });

  test('the difference of two policies finds members that were only renamed, if their content is unique', () => {
    const before = {
      models: { old: { a: 1 }, twin: { b: 2 }, kept: { c: 3 }, empty: {} },
      cases: [{ name: 'one', given: 1 }],
    };
    const after = {
      models: { new: { a: 1 }, 'twin-1': { b: 2 }, 'twin-2': { b: 2 }, kept: { c: 3 }, bare: {} },
      cases: [{ name: 'two', given: 1 }],
    };
    expect(atOnce(findRenames(before, after))).toEqual([
      { section: 'cases', from: 'one', to: 'two' },
      { section: 'models', from: 'old', to: 'new' },
    ]);
  });

  const value = fc.oneof(
    fc.integer({ min: 0, max: 3 }),
    fc.constantFrom('a', 'b'),
    fc.array(fc.constantFrom('x', 'y')),
  );
  const thing = fc.dictionary(
    fc.constantFrom('p', 'q', 'r'),
    fc.oneof(value, fc.dictionary(fc.constantFrom('s', 't'), value)),
  );
  const outline = fc.record(
    { models: fc.dictionary(fc.constantFrom('a', 'b', 'c'), thing), gateway: thing },
    { requiredKeys: [] },
  );

  test('the difference of two policies is empty for equal policies only', () => {
    fc.assert(
      fc.property(outline, outline, (a, b) => {
        expect(diffPolicies(a, structuredClone(a))).toEqual([]);
        const filled = (one: typeof a) => ({ models: {}, ...one });
        expect(diffPolicies(a, b).length === 0).toBe(Bun.deepEquals(filled(a), filled(b)));
      }),
    );
  });

  test('the difference of two policies is inverted if the policies are swapped', () => {
    fc.assert(
      fc.property(outline, outline, (a, b) => {
        const there = diffPolicies(a, b).map(({ section, name, keys }) => [section, name, keys?.map(({ key }) => key)]);
        const back = diffPolicies(b, a).map(({ section, name, keys }) => [section, name, keys?.map(({ key }) => key)]);
        expect(back).toEqual(there);
      }),
    );
  });
});
