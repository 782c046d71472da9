import { expect, test } from 'bun:test';
import type { StoppedBilling } from '../../../src/core/money/abort-billing.ts';
import { Declarations } from '../../../src/providers/health/declarations.ts';
import type { BrokenDeclaration } from '../../../src/store/endpoints.ts';

const NAME = { provider: 'p', upstream: 'u', model: 'm' };
const stops = (marginTokens: number): StoppedBilling => ({
  bills: 'stops',
  reports: 'each',
  marginTokens,
  marginMs: 5,
});

/** Returns the parts of a policy that contain the declaration of `m`; null for a policy without such a model. */
function policy(
  afterAbort: StoppedBilling | { readonly bills: 'whole' } | null,
): Parameters<Declarations['review']>[0] {
  const models = afterAbort ? [{ id: 'm', endpoints: [{ provider: 'p', upstream: 'u' }] }] : [];
  return { models, providers: new Map([['p', { afterAbort }]]) } as unknown as Parameters<Declarations['review']>[0];
}

function stand(known: readonly BrokenDeclaration[] = []) {
  const heard: string[] = [];
  const declarations = new Declarations();
  declarations.restore(known, {
    broken: ({ excess }, isFirst) => void heard.push(`${isFirst ? 'broken' : 'more'} ${excess}`),
    lifted: () => void heard.push('lifted'),
  });
  return { heard, declarations };
}

test('the excess bill is summed from the first time on, and only a policy with another declaration resets it', () => {
  const { heard, declarations } = stand();
  declarations.review(policy(stops(3)));
  declarations.record(NAME, stops(3), 10, 1_000);
  declarations.record(NAME, stops(3), 5, 2_000);
  expect(declarations.of(NAME)).toEqual({ ...NAME, marginTokens: 3, marginMs: 5, since: 1_000, excess: 15 });
  expect(declarations.hasBroken(NAME, stops(3))).toBe(true);
  expect(declarations.hasBroken(NAME, stops(4))).toBe(false);
  declarations.review(policy(stops(3)));
  // The policy lacks the model, for example while its key is missing.
  declarations.review(policy(null));
  expect(heard).toEqual(['broken 10', 'more 15']);
  declarations.review(policy({ bills: 'whole' }));
  declarations.review(policy(stops(3)));
  expect(heard.at(-1)).toBe('lifted');
  expect(declarations.of(NAME)).toBeNull();
});

test('an answer that ends under a policy with another declaration breaks no declaration', () => {
  const { heard, declarations } = stand();
  declarations.review(policy(stops(4)));
  declarations.record(NAME, stops(3), 10, 1_000);
  expect([heard, declarations.of(NAME)]).toEqual([[], null]);
});

test('broken declarations of an earlier process count, unless the first policy declares something else', () => {
  const known = { ...NAME, marginTokens: 3, marginMs: 5, since: 1, excess: 7 };
  const same = stand([known]);
  same.declarations.review(policy(stops(3)));
  expect([same.heard, same.declarations.of(NAME)]).toEqual([[], known]);
  const other = stand([known]);
  other.declarations.review(policy(stops(4)));
  expect([other.heard, other.declarations.of(NAME)]).toEqual([['lifted'], null]);
});
