import { expect, test } from 'bun:test';
import { TIERS } from '../../src/core/policy/tiers.ts';
import type { Facts } from '../../src/core/request/facts.ts';
import { decideFacts, escalated, factsFor, runtimeWith } from './decide.ts';
import { reckonAll, SELECTORS } from './judge.ts';
import { KEY_SETS } from './offers.ts';
import { panelOf } from './panel.ts';

const cases = panelOf('requests').filter((_, at) => at % 4 === 0);

test('after a signal of failure, a request gets another model, if its tiers have one that can serve it', () => {
  const same = KEY_SETS.flatMap((keys) => {
    const runtime = runtimeWith(keys);
    const { models, selectors } = runtime.snapshot;
    return SELECTORS.flatMap((selector) => {
      const tiers = selectors.get(selector)?.tiers;
      const own = new Set([...(tiers?.usual ?? []), ...(tiers?.strong ?? [])].map((at) => models[at]!.id));
      return cases.flatMap((one) => {
        const facts = factsFor(one, selector, runtime);
        const begun = TIERS.map((name): Facts => ({ ...facts, tier: { name, hard: 0 } }));
        const stays = begun.some((read) => decideFacts(read, runtime) === decideFacts(escalated(read), runtime));
        const able = reckonAll(one, keys).filter(({ id }) => own.has(id));
        return stays && able.length > 1 ? [`${keys.name} ${selector} ${one.id}`] : [];
      });
    });
  });
  expect(same).toEqual([]);
});
