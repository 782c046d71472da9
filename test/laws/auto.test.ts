import { describe } from 'bun:test';
import fc from 'fast-check';
import { auto } from '../../plugins/strategies/auto.ts';
import {
  type Candidate,
  isTooClose,
  type Law,
  newcomer,
  order,
  prove,
  rawWeights,
  reportCoverage,
  through,
  trials,
} from './generators.ts';
import { host, minMax, mutant, scores, ties } from './mutants.ts';

reportCoverage();

type Raw = { readonly quality: number; readonly cost: number; readonly latency: number };

const trial = trials({ options: rawWeights });
const factor = fc.double({ min: 1.01, max: 900, noNaN: true, noDefaultInfinity: true });
const rawOf = (options: Readonly<Record<string, unknown>>) => options as unknown as Raw;

const scaleLaw: Law = {
  says: 'scaling all three weights changes nothing',
  holds: (rank) =>
    fc.property(trial, fc.oneof(factor, fc.constantFrom(1e-12, 1e-6)), (given, by) => {
      const { quality, cost, latency } = rawOf(given.options);
      const scaled = { quality: quality * by, cost: cost * by, latency: latency * by };
      const before = rank(given);
      return isTooClose(before) || before[0]!.id === rank({ ...given, options: scaled })[0]!.id;
    }),
  mutants: {
    'unnormalised weights': host(scores.autoRaw, ties.right),
    'weights clipped at 1': host((one, given) => {
      const { quality, cost, latency } = rawOf(given.options);
      const options = { quality: Math.min(1, quality), cost: Math.min(1, cost), latency: Math.min(1, latency) };
      return scores.autoRaw(one, { ...given, options });
    }, ties.right),
  },
};

const raising = (which: keyof Raw, notWorse: (after: Candidate, before: Candidate) => boolean): Law => ({
  says: `raising the weight of ${which}, with the other weights fixed, never gives a choice that is worse in this criterion`,
  holds: (rank) =>
    fc.property(trial, factor, fc.constantFrom(0, 0.01, 1), (given, by, step) => {
      const raw = rawOf(given.options);
      const before = rank(given);
      const after = rank({ ...given, options: { ...raw, [which]: raw[which] * by + step } });
      return isTooClose(before) || isTooClose(after) || notWorse(after[0]!, before[0]!);
    }),
  mutants: {
    'rotated weights': mutant(
      (i, { quality, cost, latency, costReference }, _, { quality: q, cost: c, latency: l }) => {
        const sum = q! + c! + l!;
        return (c! * quality[i]! - (l! * cost[i]!) / costReference - (q! * latency[i]!) / 20_000) / sum;
      },
    ),
    'weights that share one budget unevenly': mutant(
      (i, { quality, cost, latency, costReference }, _, { quality: q, cost: c, latency: l }) => {
        const sum = q! + c! + l!;
        const [wq, wc, wl] = [q! / sum, c! / sum, l! / sum];
        return (
          wq * wc * wl * quality[i]! -
          (wc * wq * (1 - wc) * cost[i]!) / costReference -
          (wl * (1 - wl) * latency[i]!) / 20_000
        );
      },
    ),
  },
});

const independence: Law = {
  says: 'adding a candidate never changes the order of the others',
  holds: (rank) =>
    fc.property(trial, newcomer, (given, one) => {
      const after = rank({ ...given, candidates: [...given.candidates, one] });
      return Bun.deepEquals(
        order(rank(given)),
        order(after).filter((id) => id !== one.id),
      );
    }),
  mutants: {
    'min–max normalised latency': mutant((i, { n, quality, latency }) => quality[i]! - minMax(n, latency, i)),
    'three normalised terms': mutant(
      (i, { n, quality, cost, latency }) => minMax(n, quality, i) - minMax(n, cost, i) - minMax(n, latency, i),
    ),
  },
};

describe('auto:', () => {
  const laws = [
    scaleLaw,
    raising('quality', (after, before) => after.q >= before.q),
    raising('cost', (after, before) => after.c <= before.c),
    raising('latency', (after, before) => after.l <= before.l),
    independence,
  ];
  for (const law of laws) prove('auto', through(auto), law);
});
