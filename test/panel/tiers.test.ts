import { expect, test } from 'bun:test';
import { TIERS } from '../../src/core/policy/tiers.ts';
import type { Facts } from '../../src/core/request/facts.ts';
import { decideFacts, escalated, factsFor, runtimeWith } from './decide.ts';
import { reckonAll, SELECTORS } from './judge.ts';
import { KEY_SETS } from './offers.ts';
import { panelOf } from './panel.ts';

const cases = panelOf('requests').filter((_, at) => at % 4 === 0);

test('after a signal of failure, a request gets another model, if its tiers have one that is not worse and can serve it', () => {
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
        const kept = decideFacts(escalated(facts), runtime);
        const best = models[runtime.snapshot.modelIndex.get(kept ?? '') ?? 0]!.quality;
        // Leave a margin, because the qualities of a request are adjusted and mixed.
        const able = reckonAll(one, keys).filter(({ id }) => {
          const { quality } = models[runtime.snapshot.modelIndex.get(id)!]!;
          return own.has(id) && quality.every((value, task) => value >= best[task]! + 0.01);
        });
        return stays && able.length > 0 ? [`${keys.name} ${selector} ${one.id}`] : [];
      });
    });
  });
  expect(same).toEqual([]);
});
