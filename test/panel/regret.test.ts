import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { doing, faultsOf, type Reckoned, reckonAll, SELECTORS } from './judge.ts';
import { KEY_SETS } from './offers.ts';
import { PARTS, panelOf } from './panel.ts';
import { againWorthOf, chanceOf, type Option, regretOf, type Stake, stakeOf, worthOf } from './regret.ts';

type Regret = typeof regretOf;

const amount = fc.integer({ min: 0, max: 1_000 }).map((value) => value / 10);
const stakes: fc.Arbitrary<Stake> = fc.record({
  answer: amount,
  second: amount,
  wait: fc.constantFrom('firstS' as const, 'totalS' as const),
});
const option = fc.record({ margin: fc.integer({ min: -4, max: 4 }), credits: amount, firstS: amount, totalS: amount });
const options: fc.Arbitrary<Option[]> = fc
  .array(option, { minLength: 1, maxLength: 6 })
  .map((all) => all.map((one, at) => ({ id: `m${at}`, ...one })));
const given = fc.tuple(stakes, options, option);

const near = (a: number, b: number): boolean => Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a), Math.abs(b));
const idsOf = (all: readonly Option[]): (string | null)[] => [...all.map(({ id }) => id), 'unable', null];

type Law = (regret: Regret, stake: Stake, all: readonly Option[], extra: Omit<Option, 'id'>) => boolean;

const LAWS: Readonly<Record<string, Law>> = {
  'is 0 for the best model, and for no model with less worth; never negative': (regret, stake, all) => {
    const best = Math.max(...all.map((one) => worthOf(stake, one)));
    return all.every((one) => {
      const value = regret(one.id, stake, all);
      return value >= 0 && (value === 0) === (worthOf(stake, one) === best);
    });
  },
  'is proportional to the unit of money': (regret, stake, all) => {
    const tenfold = { ...stake, answer: 10 * stake.answer, second: 10 * stake.second };
    const dearer = all.map((one) => ({ ...one, credits: 10 * one.credits }));
    return idsOf(all).every((id) => near(regret(id, tenfold, dearer), 10 * regret(id, stake, all)));
  },
  'does not change for a model if a worse one is added': (regret, stake, all, extra) => {
    const best = Math.max(...all.map((one) => worthOf(stake, one)));
    const added = { ...extra, id: 'added' };
    if (worthOf(stake, added) > best) return true;
    return all.every(({ id }) => regret(id, stake, [...all, added]) === regret(id, stake, all));
  },
  'is at least as high without an answer as for the worst answer': (regret, stake, all) => {
    const without = regret(null, stake, all);
    return all.every(({ id }) => regret(id, stake, all) <= without) && regret('unable', stake, all) === without;
  },
};

const failsOf = (law: Law, regret: Regret) =>
  fc.check(
    fc.property(given, ([stake, all, extra]) => law(regret, stake, all, extra)),
    { seed: 7, numRuns: 500 },
  );

/** Wrong ways to measure a choice; each breaks a law. */
const MUTANTS: Readonly<Record<string, Regret>> = {
  'compares with the cheapest model': (choice, stake, all) => {
    const [cheapest] = all.toSorted((a, b) => a.credits - b.credits);
    return regretOf(choice, stake, all) - regretOf(cheapest!.id, stake, all);
  },
  'compares with the mean of the models': (choice, stake, all) => {
    const regrets = all.map(({ id }) => regretOf(id, stake, all));
    const mean = regrets.reduce((sum, one) => sum + one, 0) / all.length;
    return Math.max(0, regretOf(choice, stake, all) - mean);
  },
  'counts only the quality': (choice, stake, all) =>
    regretOf(
      choice,
      { ...stake, second: 0 },
      all.map((one) => ({ ...one, credits: 0 })),
    ),
};

describe('the regret of a choice', () => {
  for (const [name, law] of Object.entries(LAWS)) {
    test(`law: it ${name}`, () => {
      const { failed, counterexample, seed } = failsOf(law, regretOf);
      expect({ failed, counterexample, seed }).toEqual({ failed: false, counterexample: null, seed });
    });
  }

  test('the laws reject each wrong way to measure it', () => {
    for (const [name, mutant] of Object.entries(MUTANTS)) {
      expect({ name, found: Object.values(LAWS).some((law) => failsOf(law, mutant).failed) }).toEqual({
        name,
        found: true,
      });
    }
  });

  test('a higher level always gives a better chance of a good answer, but never certainty', () => {
    const chances = [-5, -4, -3, -2, -1, 0, 1, 2, 3, 4].map(chanceOf);
    expect(chances.toSorted((a, b) => a - b)).toEqual(chances);
    expect(new Set(chances).size).toBe(chances.length);
    expect(chances.every((chance) => chance > 0 && chance < 1)).toBe(true);
  });
});

type Again = typeof againWorthOf;
type AgainLaw = (again: Again, stake: Stake, first: Option, second: Option) => boolean;
const AGAIN_LAWS: Readonly<Record<string, AgainLaw>> = {
  'is worth at most the first answer if the second model is no better': (again, stake, first, second) =>
    second.margin > first.margin || again(stake, first, second) <= worthOf(stake, first),
  'is worth more if the second model is better, and less if it costs more': (again, stake, first, second) =>
    again(stake, first, { ...second, margin: second.margin + 1 }) >= again(stake, first, second) &&
    again(stake, first, { ...second, credits: second.credits + 1 }) < again(stake, first, second),
  'is worth less than the second model would be for nothing': (again, stake, first, second) =>
    again(stake, first, second) <= stake.answer * chanceOf(Math.max(first.margin, second.margin)),
};
const AGAIN_MUTANTS: Readonly<Record<string, Again>> = {
  'takes the models for independent': (stake, first, second) =>
    worthOf(stake, first) +
    0.5 * (1 - chanceOf(first.margin)) * (stake.answer * chanceOf(second.margin) - second.credits),
  'forgets the cost of the second answer': (stake, first, second) =>
    worthOf(stake, first) + 0.5 * stake.answer * Math.max(0, chanceOf(second.margin) - chanceOf(first.margin)),
};
const models = fc.tuple(stakes, option, option);
const failsAgain = (law: AgainLaw, again: Again) =>
  fc.check(
    fc.property(models, ([stake, first, second]) => law(again, stake, { id: 'a', ...first }, { id: 'b', ...second })),
    { seed: 7, numRuns: 500 },
  );

describe('a second answer after a signal of failure', () => {
  for (const [name, law] of Object.entries(AGAIN_LAWS)) {
    test(`law: it ${name}`, () => {
      const { failed, counterexample, seed } = failsAgain(law, againWorthOf);
      expect({ failed, counterexample, seed }).toEqual({ failed: false, counterexample: null, seed });
    });
  }

  test('the laws reject each wrong way to measure it', () => {
    for (const [name, mutant] of Object.entries(AGAIN_MUTANTS)) {
      expect({ name, found: Object.values(AGAIN_LAWS).some((law) => failsAgain(law, mutant).failed) }).toEqual({
        name,
        found: true,
      });
    }
  });
});

const cases = PARTS.flatMap((part) => panelOf(part));
const SETS = KEY_SETS.map((keys) => ({
  keys,
  rows: cases.map((one) => ({ one, able: reckonAll(one, keys) })).filter(({ able }) => able.length > 1),
})).filter(({ rows }) => rows.length > 0);

const bestOf = (stake: Stake, able: readonly Reckoned[]) =>
  able.toSorted((a, b) => worthOf(stake, b) - worthOf(stake, a))[0]!;

describe('the worth of an answer', () => {
  test('makes a model that the judge accepts the best choice, for 96 of 100 choices', () => {
    for (const selector of SELECTORS) {
      const judged = SETS.flatMap(({ keys, rows }) =>
        rows.map(({ one, able }) => faultsOf(bestOf(stakeOf(one, selector), able).id, selector, one, keys)),
      );
      expect(judged.filter((faults) => faults.length === 0).length / judged.length).toBeGreaterThan(0.96);
    }
  });

  test('lets no fixed model come as close to the best choice, if time is worth nothing, as the cheapest model that does the task well', () => {
    for (const { keys, rows } of SETS) {
      const total = (choose: (able: readonly Reckoned[]) => string) =>
        rows.reduce((sum, { one, able }) => sum + regretOf(choose(able), stakeOf(one, 'auto-cheap'), able), 0);
      const adequate = total((able) => doing(able).toSorted((a, b) => a.credits - b.credits)[0]!.id);
      const models = new Set(rows.flatMap(({ able }) => able.map(({ id }) => id)));
      const better = [...models].filter((model) => total(() => model) <= adequate);
      expect({ keys: keys.name, better }).toEqual({ keys: keys.name, better: [] });
    }
  });
});
