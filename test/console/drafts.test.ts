import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { differences } from '../../src/console/kit/differences.ts';
import { bodyOf, type Draft, type DraftPart, draftOf, newDraft, rebased } from '../../src/console/kit/draft.ts';
import { BUDGETS, LABELS, LIMITS, MODELS } from '../../src/console/views/people/coders.ts';

/** Tests the logic of forms without a browser. */
const SEED = 471_205;

const json = fc.jsonValue({ maxDepth: 3 });
const object = fc.dictionary(fc.constantFrom('name', 'limits', 'labels', 'models'), json);
const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

test(`two versions have a difference exactly where they differ (seed ${SEED})`, () => {
  const law = (of: typeof differences) =>
    fc.check(
      fc.property(object, object, (before, after) => {
        const names = new Set([...Object.keys(before), ...Object.keys(after)]);
        const told = new Set(of(before, after).map(({ path }) => path.split('.')[0]));
        return [...names].every((name) => told.has(name) === !same(before[name], after[name]));
      }),
      { seed: SEED },
    ).failed;
  expect(law(differences)).toBe(false);
  // This mutant finds new members but not removed ones.
  expect(law((before, after) => differences(before, after).filter(({ after: now }) => now !== null))).toBe(true);
});

const termsParts = (at = ''): readonly DraftPart[] => [
  { of: `${at}models`, kind: MODELS },
  { of: `${at}limits`, kind: LIMITS },
  { of: `${at}budgets`, kind: BUDGETS },
];
const PARTS: readonly DraftPart[] = [
  { of: 'name' },
  'Whose it is',
  [{ of: 'team' }, { of: 'role', usual: 'member' }],
  { of: 'labels', kind: LABELS },
  ...termsParts(),
  ...termsParts('member_defaults.'),
];

const word = fc.constantFrom(null, 'one', 'two');
const limit = fc.constantFrom(null, 1, 2);
const terms = {
  models: fc.option(fc.subarray(['one', 'two'], { minLength: 1 })),
  limits: fc.option(fc.record({ requests_per_minute: limit, tokens_per_minute: limit, concurrent_streams: limit })),
  budgets: fc.option(
    fc.array(
      fc.record({
        limit_credits: fc.constantFrom(1, 2),
        window: fc.constantFrom('day', 'month'),
        time_zone: fc.constant('UTC'),
        on_exhausted: fc.constant('cap'),
      }),
      { minLength: 1, maxLength: 2 },
    ),
  ),
};
const draft: fc.Arbitrary<Draft> = fc
  .record({
    ...{ name: word, team: word, role: word, ...terms },
    labels: fc.dictionary(fc.constantFrom('a', 'b'), fc.constantFrom('1', '2')),
    member_defaults: fc.record(terms),
  })
  .map((answer) => draftOf(PARTS, answer));

test(`a draft on a newer version keeps the typed values, and gets the new values of all other members (seed ${SEED})`, () => {
  /** The texts of a draft by path. Each limit is a text of its own. */
  const texts = (of: Draft): ReadonlyMap<string, unknown> =>
    new Map(
      Object.entries(of).flatMap(([name, value]) =>
        typeof value === 'object' && value !== null && !Array.isArray(value)
          ? Object.entries(value).map(([part, one]) => [`${name}.${part}`, one] as const)
          : [[name, value] as const],
      ),
    );
  const law = (of: typeof rebased) =>
    fc.check(
      fc.property(draft, draft, draft, (...drafts) => {
        const [typed, base, now] = drafts.map(texts) as [
          Map<string, unknown>,
          Map<string, unknown>,
          Map<string, unknown>,
        ];
        const result = texts(of(...drafts));
        return [...typed].every(([name, value]) =>
          same(result.get(name), same(value, base.get(name)) ? now.get(name) : value),
        );
      }),
      { seed: SEED },
    ).failed;
  expect(law(rebased)).toBe(false);
  // This mutant loses the edits of another person.
  expect(law((typed) => typed)).toBe(true);
});

test(`the body of a change contains exactly the members that differ (seed ${SEED})`, () => {
  const law = (of: typeof bodyOf) =>
    fc.check(
      fc.property(draft, draft, (after, before) => {
        const body = of(PARTS, after, before);
        const { member_defaults: defaults = {}, ...own } = body;
        const stated = [
          ...Object.keys(own),
          ...Object.keys(defaults as object).map((name) => `member_defaults.${name}`),
        ];
        const differing = Object.keys(after).filter((name) => !same(after[name], before[name]));
        return same(stated.toSorted(), differing.toSorted());
      }),
      { seed: SEED },
    ).failed;
  expect(law(bodyOf)).toBe(false);
  // This mutant sends all members each time, and would undo what another person has changed in the meantime.
  expect(law((parts, after) => bodyOf(parts, after, draftOf(parts, null)))).toBe(true);
});

test(`a change of one limit does not send the other limits (seed ${SEED})`, () => {
  fc.assert(
    fc.property(draft, limit, (before, requests) => {
      const limits = { ...(before.limits as object), requests_per_minute: requests === null ? '' : String(requests) };
      const body = bodyOf(PARTS, { ...before, limits }, before);
      return same(body, same(limits, before.limits) ? {} : { limits: { requests_per_minute: requests } });
    }),
    { seed: SEED },
  );
});

describe('bodies', () => {
  const before = draftOf(PARTS, { labels: { app: 'billing', stage: 'test', tier: '1' } });

  test('a removed label is sent as null, and unchanged labels are not sent', () => {
    expect(bodyOf(PARTS, { ...before, labels: 'app=billing\nstage=live' }, before)).toEqual({
      labels: { stage: 'live', tier: null },
    });
  });

  test('a text that is not a number is sent unchanged, so that the server refuses it at its field', () => {
    const typed = { ...before, limits: { ...(before.limits as object), requests_per_minute: 'many' } };
    expect(bodyOf(PARTS, typed, before)).toEqual({ limits: { requests_per_minute: 'many' } });
  });

  test('a budget is sent with the typed numbers, and an empty list of budgets is sent as null', () => {
    const budget = { limit_credits: '500', window: 'day', time_zone: ' ', on_exhausted: 'cap' };
    const withBudget = { ...before, budgets: [budget] };
    expect(bodyOf(PARTS, withBudget, before)).toEqual({
      budgets: [{ limit_credits: '500 USD', window: 'day', time_zone: 'UTC', on_exhausted: 'cap' }],
    });
    expect(bodyOf(PARTS, before, withBudget)).toEqual({ budgets: null });
  });

  test('a new item is sent with the typed values and the initial values', () => {
    const typed = { ...newDraft(PARTS), name: 'app' };
    expect(bodyOf(PARTS, typed, draftOf(PARTS, null))).toEqual({ name: 'app', role: 'member' });
  });
});
