import { describe, expect, test } from 'bun:test';
import { learned } from '../../plugins/estimators/learned.ts';
import { facts, model } from '../routing/build.ts';
import { exampleOf, lab, policyOf, toy } from './support.ts';

describe('influence', () => {
  for (const plugin of [toy, learned]) {
    test(`a flood of bad scores by one key teaches ${plugin.name} no more than its allowance, and others still count`, async () => {
      await using flooded = await lab();
      await using honest = await lab();
      const measured = { general: 0.8, stated: Uint8Array.of(1), basis: 'measured' } as const;
      const models = [model('a', { q: 0.8, declared: measured }), model('b', { q: 0.6 })];
      const policy = policyOf({ plugin, models });
      const scoreAll = async (
        { learner, store, nextId }: typeof flooded,
        keyId: string,
        times: number,
        score: number,
      ) => {
        const examples = Array.from({ length: times }, () => exampleOf(nextId(), { keyId, features: null }));
        for (const example of examples) learner.keepExample(policy, example);
        await store.flush();
        return Promise.all(examples.map(({ decision }) => learner.score(policy, { decision, score, label: null })));
      };
      for (const one of [flooded, honest]) await scoreAll(one, 'k1', 1, 1);
      const results = await scoreAll(flooded, 'attacker', 1_500, 0);
      expect(flooded.learner.activity.withheld).toBe(1_500 - 101);
      expect(results.at(-1)).toMatchObject({ result: 'kept', weight: 0 });
      // An allowance of 100, and as much as the others contributed.
      await scoreAll(honest, 'attacker', 101, 0);
      const quality = ({ learner }: typeof flooded) => learner.memories.estimate(policy, facts(), null).quality;
      expect(quality(flooded)).toEqual(quality(honest));
      expect(quality(flooded)[1]).toBeGreaterThan(0.59);
      // The measured quality counts as 300 outcomes for the model, and more for its task.
      const fallen = quality(flooded)[0]!;
      expect(fallen).toBeGreaterThan(0.1);
      expect(fallen).toBeLessThan(0.7);
      expect(await scoreAll(flooded, 'k1', 200, 1)).toEqual(
        Array(200).fill({ result: 'learnt', weight: 1, label: null }),
      );
      expect(quality(flooded)[0]).toBeGreaterThanOrEqual(fallen);
    });
  }
});
