import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { auto } from '../../plugins/strategies/auto.ts';
import { tries } from '../deep/effort.ts';
import { decisionOf, facts, GENERAL, model, price, snapshot } from '../routing/build.ts';

/** A model with its quality in two tasks, C in microcredits and L in ms. */
interface Candidate {
  readonly id: string;
  readonly q: readonly [number, number];
  readonly c: number;
  readonly l: number;
}

interface World {
  readonly candidates: readonly Candidate[];
  /** The share of the first task; the second task has the rest. */
  readonly share: number;
  readonly step: number;
  /** The ID of a model that the request may not use. */
  readonly without?: string;
}

/** Returns the IDs of the candidates from best to worst. */
type Ranker = (world: World) => readonly string[];

const WEIGHTS = { quality: 0.8, cost: 0.2, latency: 0.02, patience_ms: 60_000 };
const WORTH = 20;

/** Ranks with the real decider. */
const decided: Ranker = ({ candidates, share, step, without }) => {
  const models = candidates.map(({ id, q, c, l }) =>
    model(id, {
      quality: Float64Array.of(...q),
      cost: price(0, 0, { perRequest: c }),
      latency: { ttftMs: l, outputTokensPerSecond: Number.POSITIVE_INFINITY },
    }),
  );
  const from = snapshot(models, {
    gateway: { ...snapshot(models).gateway, alternatives: models.length },
    tasks: [GENERAL, { ...GENERAL, name: 'coding' }].map((task) => ({ ...task, expectedOutputTokens: 1 })),
    taskIndex: new Map([
      ['general', 0],
      ['coding', 1],
    ]),
    referencePrice: { input: 0, output: 1e6 },
    answerWorth: WORTH,
    qualityStep: step,
  });
  const mix = [
    { task: 'general', share },
    { task: 'coding', share: 1 - share },
  ];
  const classes = step > 0 ? { qualityStep: step } : {};
  const denied = without === undefined ? {} : { deniedModels: [without] };
  const { ranked } = decisionOf(from, facts({ mix, ...classes, ...denied }), auto.prepare(WEIGHTS));
  return ranked.map((one) => from.models[one.model]!.id);
};

type Scored = Candidate & { readonly exact: number; readonly scored: number };
type Ties = (a: Scored, b: Scored) => number;
type Quality = (one: Candidate, world: World) => number;

const mixed: Quality = ({ q: [first, second] }, { share }) => share * first + (1 - share) * second;
/** The quality of the best model of a model's class, written apart from the real classes as an independent check. */
function classOf(value: number, all: readonly number[], step: number): number {
  const best = Math.max(...all);
  return value >= best - step - 1e-9
    ? best
    : classOf(
        value,
        all.filter((other) => other < best - step - 1e-9),
        step,
      );
}
const classedFirst: Quality = ({ id, q }, world) => {
  const own = q.map((value, task) =>
    classOf(
      value,
      world.candidates.map((one) => one.q[task]!),
      world.step,
    ),
  );
  return mixed({ id, q: [own[0]!, own[1]!], c: 0, l: 0 }, world);
};
const nearest = (value: number, step: number) => Math.floor(value / step + 0.5 + 1e-9) * step;
const rounded: Quality = ({ q, ...one }, world) =>
  mixed({ ...one, q: [nearest(q[0], world.step), nearest(q[1], world.step)] }, world);
const byId: Ties = (a, b) => (a.id < b.id ? -1 : 1);
const byExact: Ties = (a, b) => a.c - b.c || a.l - b.l || b.exact - a.exact || byId(a, b);

const utility = ({ scored, c, l }: Scored): number =>
  Math.round((0.8 * scored - (0.2 * c) / 1e6 / WORTH - (0.02 * l) / 60_000) * 1e9) / 1e9;

/** A host that forms classes or breaks ties in its own way. */
const host =
  (quality: Quality, ties: Ties): Ranker =>
  (world) =>
    world.candidates
      .filter(({ id }) => id !== world.without)
      .map((one) => ({ ...one, exact: mixed(one, world), scored: quality(one, world) }))
      .sort((a, b) => utility(b) - utility(a) || ties(a, b))
      .map(({ id }) => id);

/** Calls the cheapest of all models whose utility is within a step of the best, and then the rest in order. */
const band: Ranker = (world) => {
  const eligible = world.candidates.filter(({ id }) => id !== world.without);
  const all = eligible.map((one) => ({ ...one, exact: mixed(one, world), scored: mixed(one, world) }));
  const best = Math.max(...all.map(utility));
  const isTied = (one: Scored) => utility(one) >= best - 0.8 * world.step;
  return all
    .sort((a, b) => Number(isTied(b)) - Number(isTied(a)) || (isTied(a) ? byExact(a, b) : utility(b) - utility(a)))
    .map(({ id }) => id);
};

/**
 * Shares in thousandths. A utility is rounded to 1e-9, and with these shares no utility is near the boundary of two rounded values, where
 * the order of the float operations would decide.
 */
const share = fc.integer({ min: 0, max: 1_000 }).map((thousandths) => thousandths / 1_000);
const step = fc.constantFrom(0.01, 0.02, 0.05, 0.1);
const quality = fc.integer({ min: 0, max: 200 }).map((half) => half / 200);
const cost = fc.oneof(fc.constantFrom(0, 500_000), fc.integer({ min: 0, max: 5_000_000 }));
const latency = fc.oneof(fc.constantFrom(100, 3_000), fc.integer({ min: 0, max: 40_000 }));
const figures = fc.record({ q: fc.tuple(quality, quality), c: cost, l: latency });
const named = (list: readonly Omit<Candidate, 'id'>[]): Candidate[] =>
  list.map((one, at) => ({ ...one, id: `m${at}` }));

/** Two qualities for each task, the second at most a step below the first. */
const ofClass = fc.record({
  q: fc.tuple(quality, quality),
  by: fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true })),
  share,
  step,
});
const twins = ({ q, by, step: size }: { q: [number, number]; by: [number, number]; step: number }) =>
  [q, [Math.max(0, q[0] - by[0] * size), Math.max(0, q[1] - by[1] * size)] as const] as const;

interface Law {
  readonly says: string;
  holds(rank: Ranker): fc.IProperty<unknown>;
  readonly mutants: Readonly<Record<string, Ranker>>;
}

const LAWS: readonly Law[] = [
  {
    says: 'of two equally fast models in one class for every possible task, the cheaper one wins',
    holds: (rank) =>
      fc.property(ofClass, cost, fc.integer({ min: 1, max: 1_000_000 }), latency, (given, c, more, l) => {
        const [a, b] = twins(given);
        const [first] = rank({
          ...given,
          candidates: named([
            { q: a, c: c + more, l },
            { q: b, c, l },
          ]),
        });
        return first === 'm1';
      }),
    mutants: {
      'no classes': host(mixed, byExact),
      rounding: host(rounded, byExact),
      'classes half as wide': host((one, world) => classedFirst(one, { ...world, step: world.step / 2 }), byExact),
    },
  },
  {
    says: 'of two models in one class that cost the same time and money, the better one wins',
    holds: (rank) =>
      fc.property(ofClass, cost, latency, (given, c, l) => {
        const world = {
          ...given,
          candidates: named(
            twins(given)
              .map((q) => ({ q, c, l }))
              .reverse(),
          ),
        };
        const [one, other] = world.candidates.map((each) => mixed(each, world));
        fc.pre(Math.abs(one! - other!) > 1e-12);
        return rank(world)[0] === (one! > other! ? 'm0' : 'm1');
      }),
    mutants: {
      'ties broken without the exact quality': host(classedFirst, (a, b) => a.c - b.c || a.l - b.l || byId(a, b)),
    },
  },
  {
    says: 'a model never wins against a model that is at least as good in every task, as cheap and as fast, and better in one of them',
    holds: (rank) =>
      fc.property(
        fc.array(figures, { minLength: 1, maxLength: 5 }),
        fc.nat(4),
        fc.tuple(quality, quality, cost, latency),
        share,
        step,
        (list, at, [q0, q1, c, l], part, size) => {
          const base = list[at % list.length]!;
          const better = {
            q: [Math.max(base.q[0], q0), Math.max(base.q[1], q1)] as const,
            c: Math.min(base.c, c),
            l: Math.min(base.l, l),
          };
          const world = { candidates: named([...list, better]), share: part, step: size };
          const gain = mixed({ ...better, id: '' }, world) - mixed({ ...base, id: '' }, world);
          fc.pre(better.c < base.c || better.l < base.l || gain > 1e-12);
          const ranked = rank(world);
          return ranked.indexOf(`m${list.length}`) < ranked.indexOf(`m${at % list.length}`);
        },
      ),
    mutants: {
      'ties broken by ID alone': host(classedFirst, byId),
      'classes that count by turns': host(
        (one, world) => classedFirst(one, world) * (Math.round(one.q[0] / world.step) % 2 === 0 ? 1 : -1),
        byExact,
      ),
    },
  },
  {
    says: 'a model that a request may not use never changes the order of the others',
    holds: (rank) =>
      fc.property(fc.array(figures, { minLength: 2, maxLength: 5 }), share, step, (list, part, size) => {
        const world = { candidates: named(list), share: part, step: size };
        const last = `m${list.length - 1}`;
        return Bun.deepEquals(
          rank(world).filter((id) => id !== last),
          rank({ ...world, without: last }),
        );
      }),
    mutants: {
      'ties of all models within a step of the best': band,
      'classes of the models that the request may use': (world) => {
        const usable = world.candidates.filter(({ id }) => id !== world.without);
        return host(classedFirst, byExact)({ ...world, candidates: usable });
      },
    },
  },
  {
    says: 'the order is that of classes which are formed one by one',
    holds: (rank) =>
      fc.property(fc.array(figures, { minLength: 1, maxLength: 6 }), share, step, (list, part, size) => {
        const world = { candidates: named(list), share: part, step: size };
        return Bun.deepEquals(rank(world), host(classedFirst, byExact)(world));
      }),
    mutants: { rounding: host(rounded, byExact) },
  },
];

describe('the step of quality:', () => {
  for (const { says, holds, mutants } of LAWS) {
    test(says, () => {
      fc.assert(holds(decided), tries(`the step of quality: ${says}`, 300, 20_000));
    });
    for (const [name, mutant] of Object.entries(mutants)) {
      test(`${says}: the law detects ${name}`, () => {
        expect(fc.check(holds(mutant), { numRuns: 20_000, endOnFailure: true }).failed).toBe(true);
      });
    }
  }

  test('with the step 0, quality decides before cost', () => {
    const candidates = named([
      { q: [0.9, 0.9], c: 0, l: 0 },
      { q: [0.91, 0.91], c: 800_000, l: 0 },
    ]);
    // The two utilities are equal: 0.01 of quality is worth as much as the difference of cost.
    expect(decided({ candidates, share: 1, step: 0 })).toEqual(['m1', 'm0']);
    expect(decided({ candidates, share: 1, step: 0.1 })).toEqual(['m0', 'm1']);
  });
});
