import { expect, test } from 'bun:test';
import { decideFor } from '../../src/admin/use-cases/policy/hypothetical.ts';
import type { Facts } from '../../src/core/request/facts.ts';
import { TIERS } from '../../src/core/request/tiers.ts';
import { isRefusal } from '../../src/routing/decide.ts';
import { escalated, factsFor, runtimeWith } from './decide.ts';
import { SELECTORS } from './judge.ts';
import { KEY_SETS } from './offers.ts';
import { panelOf } from './panel.ts';

const cases = panelOf('requests').filter((_, at) => at % 4 === 0);

test('after a signal of failure, a request gets a better model, or stays if none is better for at most three times the typical cost', () => {
  const broken: string[] = [];
  let moved = 0;
  for (const keys of KEY_SETS) {
    const runtime = runtimeWith(keys);
    for (const selector of SELECTORS) {
      const { cost } = runtime.snapshot.selectors.get(selector)!.ladder!;
      for (const one of cases) {
        const facts = factsFor(one, selector, runtime);
        for (const name of TIERS) {
          const read: Facts = { ...facts, tier: { name, hard: 0 } };
          const [before, after] = [decideFor(read, runtime), decideFor(escalated(read), runtime)];
          if (isRefusal(before) || isRefusal(after)) continue;
          const [failed, next] = [before.ranked[0], after.ranked[0]];
          const priceOf = ({ model }: { readonly model: number }) => cost[model]!;
          // `ranked` has only the next best models, which is enough to find most mistakes.
          const isAffordable = before.ranked.some(
            (other) => other.quality > failed.quality && priceOf(other) <= 3 * priceOf(failed),
          );
          if (next.model !== failed.model) moved++;
          const isKept = next.model === failed.model ? !isAffordable : next.quality > failed.quality;
          if (!isKept) broken.push(`${keys.name} ${selector} ${one.id} ${name}`);
        }
      }
    }
  }
  expect(broken).toEqual([]);
  expect(moved).toBeGreaterThan(100);
});
