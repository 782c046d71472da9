import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { differences } from '../../src/console/views/people/differences.ts';
import {
  type KeyForm,
  keyBody,
  NEW_KEY,
  newKeyBody,
  rebased,
  type TermsForm,
  termsBody,
} from '../../src/console/views/people/drafts.ts';

/** Forms of people and keys, without a browser. */
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
  // One that looks at what is new, and not at what is gone.
  expect(law((before, after) => differences(before, after).filter(({ after: now }) => now !== null))).toBe(true);
});

const text = fc.constantFrom('', '1', '2');
const draft: fc.Arbitrary<KeyForm> = fc.record({
  ...{ name: text, team: text, user: text, labels: fc.constantFrom('', 'a=1', 'a=2\nb=3'), expires: fc.constant('') },
  scopes: fc.subarray(['chat' as const, 'route' as const, 'embed' as const]),
  models: fc.subarray(['one', 'two']),
  ...{ requests: text, tokens: text, streams: text },
  budgets: fc.array(
    fc.record({
      limit: text,
      window: fc.constantFrom('day' as const, 'month' as const),
      zone: fc.constant('UTC'),
      onExhausted: fc.constant('cap' as const),
    }),
    { maxLength: 2 },
  ),
});

test(`a draft on a newer version keeps what was typed, and takes all else (seed ${SEED})`, () => {
  const law = (of: typeof rebased) =>
    fc.check(
      fc.property(draft, draft, draft, (typed, base, now) => {
        const result = of(typed, base, now);
        return (Object.keys(typed) as (keyof KeyForm)[]).every((member) =>
          same(result[member], same(typed[member], base[member]) ? now[member] : typed[member]),
        );
      }),
      { seed: SEED },
    ).failed;
  expect(law(rebased)).toBe(false);
  // The edits of somebody else are lost.
  expect(law((typed) => typed)).toBe(true);
});

test(`a change names exactly the members that differ (seed ${SEED})`, () => {
  const law = (of: typeof keyBody) =>
    fc.check(
      fc.property(draft, draft, (after, before) => {
        const body = of(after, before);
        const limits = ['requests', 'tokens', 'streams'] as const;
        const members: readonly (readonly [string, readonly (keyof KeyForm)[]])[] = [
          ...(['name', 'team', 'user', 'scopes', 'labels', 'models', 'budgets'] as const).map(
            (name) => [name, [name]] as const,
          ),
          ['limits', limits],
        ];
        return members.every(
          ([name, of]) => Object.hasOwn(body, name) === of.some((member) => !same(after[member], before[member])),
        );
      }),
      { seed: SEED },
    ).failed;
  expect(law(keyBody)).toBe(false);
  // All terms each time: what somebody else has set meanwhile would be undone.
  expect(law((after) => keyBody(after, NEW_KEY))).toBe(true);
});

describe('bodies', () => {
  test('labels that are gone are removed by name, and others stay out', () => {
    const before = { ...NEW_KEY, labels: 'app=billing\nstage=test\ntier=1' };
    expect(keyBody({ ...before, labels: 'app=billing\nstage=live' }, before)).toEqual({
      labels: { stage: 'live', tier: null },
    });
  });

  test('a text that is no number is sent as it is, so that the server refuses it at its field', () => {
    const none: TermsForm = NEW_KEY;
    expect(termsBody({ ...none, requests: 'many' }, none)).toEqual({ limits: { requests_per_minute: 'many' } });
    expect(termsBody({ ...none, requests: '' }, { ...none, requests: '60' })).toEqual({ limits: null });
  });

  test('a new key states what was typed, and its scopes', () => {
    expect(newKeyBody({ ...NEW_KEY, name: 'app' }, 0)).toEqual({ name: 'app', scopes: ['chat', 'route'] });
  });
});
