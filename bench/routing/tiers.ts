import type { Facts } from '../../src/core/request/facts.ts';
import { escalated } from '../../test/panel/decide.ts';
import { interval95, resamples } from './bootstrap.ts';
import { weightedMean } from './calibration.ts';
import { type Data, outputTokens, type Row } from './data.ts';
import type { Figure } from './measure.ts';
import { type StatedModels, tieredPolicyOf } from './policy.ts';
import { pick, type Sheet } from './pools.ts';
import { RealPath } from './real-path.ts';
import { declaredBy } from './signalbox.ts';
import type { Trial } from './trials.ts';

/**
 * Measures tiers and escalation on scored answers: how much of the gap between the best fixed model and an oracle they close, if the policy
 * declares the qualities that 1,000 labelled prompts give. The worth of a choice is the score of its answer minus its cost, in units of a
 * good answer. Signalbox chooses, with the policy's own deciding code; nothing is read from an answer, because the data has only scores.
 */
const LABELS = 1_000;
/** How a signal of failure works. Both are assumptions. */
interface Signal {
  /** The share of bad answers that the signal finds. */
  readonly found: number;
  /** The share of good answers that the signal takes for bad. */
  readonly alarms: number;
}
const SIGNAL: Signal = { found: 0.5, alarms: 0 };
const ALARMING: Signal = { found: 0.5, alarms: 0.05 };
/** An answer with a lower score is bad. */
const GOOD = 0.5;
/** The worths of a good answer that are measured, in mean costs of a request. */
export const WORTHS = [20, 80, 320] as const;

/** A router of one pool. */
export interface TierEntry {
  readonly router: string;
  readonly worth: number;
  /** The share of the gap between the best fixed model in hindsight and the oracle that the router closes. */
  readonly closed: Figure;
  /** The difference to the best fixed model in hindsight, in units of a good answer. */
  readonly over: Figure;
}

/** The index of a model, and of the model that is asked if a signal finds its answer bad; the same index if there is no second. */
type Choice = readonly [first: number, second: number];

/** Returns the worth of the answers to each row. */
function worthsOf(
  { labels, costs, rows }: Sheet,
  unit: number,
  choose: (row: number) => Choice,
  { found, alarms } = SIGNAL,
): Float64Array {
  const m = labels.length / rows.length;
  return Float64Array.from(rows, (_, row) => {
    const [first, second] = choose(row);
    const at = row * m + first;
    const alone = labels[at]! - costs[at]! / unit;
    if (first === second) return alone;
    const next = row * m + second;
    const share = labels[at]! >= GOOD ? alarms : found;
    return (1 - share) * alone + share * (labels[next]! - (costs[at]! + costs[next]!) / unit);
  });
}

const meanOf = (values: ArrayLike<number>): number => Array.from(values).reduce((a, b) => a + b, 0) / values.length;

/** Returns the item with the highest mean worth. */
const bestOf = <Item>(items: readonly Item[], worths: (item: Item) => Float64Array): Item =>
  items.map((item) => ({ item, worth: meanOf(worths(item)) })).toSorted((a, b) => b.worth - a.worth)[0]!.item;

/** Returns the worths of all routers on the test rows of a trial. */
function routersOf(trial: Trial, models: Data['models'], worth: number): Map<string, Float64Array> {
  const { pool, test } = trial;
  const labelled = pick(
    trial.teach,
    Array.from({ length: Math.min(LABELS, trial.teach.rows.length) }, (_, at) => at),
  );
  const unit = worth * meanOf(labelled.costs);
  const indexes = pool.models.map((_, at) => at);
  const pairs = indexes.flatMap((a) => indexes.map((b): Choice => [a, b]));
  const taught = (choice: Choice) => worthsOf(labelled, unit, () => choice);
  const fixed = bestOf(indexes, (at) => taught([at, at]));
  const pair = bestOf(pairs, taught);
  const m = pool.models.length;
  const oracle = (row: number): Choice => {
    const best = bestOf(indexes, (at) =>
      Float64Array.of(test.labels[row * m + at]! - test.costs[row * m + at]! / unit),
    );
    return [best, best];
  };
  const hindsight = bestOf(indexes, (at) => worthsOf(test, unit, () => [at, at]));
  const routes = new Map<string, (row: number) => Choice>([
    [HINDSIGHT, () => [hindsight, hindsight]],
    [ORACLE, oracle],
    ['one model, chosen on the labels', () => [fixed, fixed]],
    ['one model, then another, chosen on the labels', () => pair],
    ...signalboxRoutes(trial, labelled, models, unit, pair),
  ]);
  const worths = new Map([...routes].map(([name, choose]) => [name, worthsOf(test, unit, choose)]));
  return worths.set(
    `${ESCALATION}, ${ALARMING.alarms * 100} % false alarms`,
    worthsOf(test, unit, routes.get(ESCALATION)!, ALARMING),
  );
}

const HINDSIGHT = 'best fixed model in hindsight';
const ORACLE = 'oracle';
const ESCALATION = 'Signalbox, tiers and escalation';

/**
 * Returns the choices of Signalbox: for each request by the caller's weights, and by tiers, without and with escalation.
 * @param unit the worth of a good answer, USD
 */
function signalboxRoutes(trial: Trial, labelled: Sheet, models: Data['models'], unit: number, pair: Choice) {
  const { pool, test } = trial;
  const own: Trial = { ...trial, teach: labelled, declared: meansOf(labelled) };
  const probe = new RealPath(tieredPolicyOf(own, models, { general: own.declared, byTask: new Map() }));
  const tasksOf = ({ prompt }: Row) => probe.tasksOf(prompt);
  const declaration = declaredBy(own, tasksOf);
  const choices = (tiers?: StatedModels, change?: (facts: Facts) => Facts): number[] => {
    const path = new RealPath(tieredPolicyOf(own, models, declaration, tiers));
    return test.rows.map(({ prompt }) => pool.models.indexOf(path.choose({ prompt, task: null }, change)));
  };
  const expected = Math.round(meanOf(pool.models.map((id) => outputTokens(id, pool.source, models))));
  // `weighted` divides costs by 20 references, so these weights give a good answer the worth of `unit`.
  const weighing = (facts: Facts): Facts => {
    const reference = (Math.max(1, facts.inputTokens) + 4 * expected) / 1_000_000;
    return { ...facts, weights: { quality: 1, cost: (20 * reference) / unit } };
  };
  const off = choices(undefined, weighing);
  const usual = choices();
  const strong = choices(undefined, escalated);
  const [first, second] = pair.map((at) => pool.models[at]!);
  // The second model follows only if the first fails, because it may be the weaker one.
  const named = { usual: [first!], strong: [first!, second!] };
  const [namedUsual, namedStrong] = [choices(named), choices(named, escalated)];
  return [
    ['Signalbox, each request', (row: number): Choice => [off[row]!, off[row]!]],
    ['Signalbox, tiers', (row: number): Choice => [usual[row]!, usual[row]!]],
    [
      'Signalbox, tiers named by the labels, and escalation',
      (row: number): Choice => [namedUsual[row]!, namedStrong[row]!],
    ],
    [ESCALATION, (row: number): Choice => [usual[row]!, strong[row]!]],
  ] as const;
}

function meansOf({ labels, rows }: Sheet): Float64Array {
  const m = labels.length / rows.length;
  return Float64Array.from({ length: m }, (_, at) => meanOf(rows.map((_, row) => labels[row * m + at]!)));
}

/** Returns the results of a pool's trials. */
export function tierEntries(
  trials: readonly Trial[],
  models: Data['models'],
  draws: number,
  seed: number,
  progress: (text: string) => void,
): TierEntry[] {
  return WORTHS.flatMap((worth) => {
    const all = trials.map((trial) => routersOf(trial, models, worth));
    progress(`${trials[0]!.pool.name}: worth ${worth}`);
    const names = [...all[0]!.keys()].filter((name) => name !== HINDSIGHT && name !== ORACLE);
    return names.map((router) => ({
      router,
      worth,
      closed: figureOf(all, draws, seed, (own, fixed, oracle) => (own - fixed) / (oracle - fixed), router),
      over: figureOf(all, draws, seed, (own, fixed) => own - fixed, router),
    }));
  });
}

/** Returns a figure of the mean worths of a router, the best fixed model and the oracle: its mean over the splits, and an interval over draws of rows. */
function figureOf(
  splits: readonly Map<string, Float64Array>[],
  draws: number,
  seed: number,
  figure: (own: number, fixed: number, oracle: number) => number,
  router: string,
): Figure {
  const values = splits.map((worths) => {
    const [own, fixed, oracle] = [router, HINDSIGHT, ORACLE].map((name) => worths.get(name)!);
    const at = (weights: ArrayLike<number>) =>
      figure(weightedMean(own!, weights), weightedMean(fixed!, weights), weightedMean(oracle!, weights));
    const count = own!.length;
    return {
      value: at(new Float64Array(count).fill(1)),
      drawn: Array.from(resamples(count, draws, seed), at),
    };
  });
  const mean = meanOf(values.map(({ value }) => value));
  const drawn = Array.from({ length: draws }, (_, round) => meanOf(values.map((one) => one.drawn[round]!)));
  const deviation = Math.sqrt(meanOf(values.map(({ value }) => (value - mean) ** 2)));
  return { mean, splits: deviation, ...interval95(drawn, mean) };
}
