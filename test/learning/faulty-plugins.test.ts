import { describe, expect, test } from 'bun:test';
import { defineEstimator, type Estimator, Type } from '../../src/contract/plugin.ts';
import { facts } from '../routing/build.ts';
import { exampleOf, lab, labTest, latestOutcomes, policyOf, toy } from './support.ts';

/** `toy` with one change. */
function stray(more: object, estimate?: Estimator['estimate']) {
  return defineEstimator({
    ...toy,
    name: 'stray',
    options: Type.Object({}),
    prepare: (_, secret) => {
      const prepared = { ...toy.prepare({ step: 0.1, length: 0 }, secret), ...more };
      const over = (memory: ReturnType<typeof prepared.open>): typeof memory.over => {
        return (catalog) => ({ ...memory.over(catalog), ...(estimate && { estimate }) });
      };
      return {
        ...prepared,
        open: (parts) => {
          const memory = prepared.open(parts);
          return { ...memory, over: over(memory) };
        },
      };
    },
  });
}

describe('a faulty plugin', () => {
  test('stores no features that are too large or could fail a settlement', async () => {
    for (const given of ['words', [1, 2], { a: 1 }, Promise.resolve(), undefined, new Uint8Array(70_000)]) {
      await using one = await lab();
      const policy = policyOf({ plugin: stray({ read: () => given }) });
      const features = one.learner.memories.read(policy, 'a question');
      expect(features).toBeNull();
      expect(one.faults).toEqual(['stray read']);
      one.learner.keepExample(policy, exampleOf(one.nextId(), { features }));
      await one.store.flush();
    }
  });

  labTest('changes neither declared qualities nor the host’s lists', async (one) => {
    const estimate: Estimator['estimate'] = ({ declared }, into) => {
      into.quality.set(declared);
      for (const list of [into.outcomes, into.text, into.counts]) list.fill(0);
      declared.fill(0);
      Object.assign(into, { quality: new Float64Array(0) });
    };
    const policy = policyOf({ plugin: stray({}, estimate) });
    for (let i = 0; i < 2; i++) {
      expect(one.learner.memories.estimate(policy, facts(), null).quality).toEqual(Float64Array.of(0.8, 0.6));
    }
    expect(one.faults).toEqual([]);
  });

  labTest('that puts another list in place of the host’s does not change what is learnt', async (one) => {
    const estimate: Estimator['estimate'] = ({ declared }, into) => {
      for (const [at, quality] of declared.entries()) into.quality[at] = quality;
      for (const list of [into.outcomes, into.text, into.counts]) list.fill(0);
      Object.assign(into, { quality: new Float64Array(0) });
    };
    const policy = policyOf({ plugin: stray({}, estimate) });
    for (let i = 0; i < 2; i++) {
      const { decision } = await one.example(policy);
      one.learner.memories.noteRequest(policy, facts(), null);
      await one.learner.score(policy, { decision, score: 1, label: null });
    }
    const [second, first] = await latestOutcomes(one.store);
    expect([first!.weight, second!.weight]).toEqual([1, 1]);
    expect(one.faults).toEqual(['stray estimate']);
  });

  labTest('that gives the declared qualities to another thread changes nothing for the requests after', async (one) => {
    const estimate: Estimator['estimate'] = ({ declared }, into) => {
      into.quality.set(declared);
      if (declared.buffer instanceof ArrayBuffer) declared.buffer.transfer();
    };
    const policy = policyOf({ plugin: stray({}, estimate) });
    for (let i = 0; i < 2; i++) {
      expect(one.learner.memories.estimate(policy, facts(), null).quality).toEqual(Float64Array.of(0.8, 0.6));
    }
    expect(one.faults).toEqual([]);
  });
});
