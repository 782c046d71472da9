import { chooseAll, constantReading, rightReading, runtimeWith, type Verdict } from '../test/panel/decide.ts';
import { doing, reckonAll, SELECTORS, type Selector } from '../test/panel/judge.ts';
import { type KeySet, offeredBy } from '../test/panel/offers.ts';
import type { Case } from '../test/panel/panel.ts';
import { regretOf, stakeOf } from '../test/panel/regret.ts';
import { type Interval, interval95, resamples } from './routing/bootstrap.ts';

/** A way to choose models, with its regret for each request in the order of the panel. */
export interface Chooser {
  readonly name: string;
  /** Credits. */
  readonly regrets: readonly number[];
}

/** The regret of a selector with a set of keys, and the regrets of choosers that do not read requests or that know the levels. */
export interface Regrets {
  readonly keys: string;
  readonly selector: Selector;
  /** Credits that a good answer to each request is worth. */
  readonly answers: readonly number[];
  readonly signalbox: Chooser;
  /** The policy, if every request is read as a usual request of the task `general`. */
  readonly constant: Chooser;
  /** The policy, if every request is read as the panel states. */
  readonly right: Chooser;
  /** Every model of the keys, chosen for all requests. */
  readonly fixed: readonly Chooser[];
  /** The cheapest model that does the task well, or comes closest to it. */
  readonly adequate: Chooser;
}

/** Returns the regrets of each selector; none if the keys leave no choice. */
export async function regretsOf(
  cases: readonly Case[],
  keys: KeySet,
  verdicts: readonly Verdict[],
): Promise<Regrets[]> {
  const models = offeredBy(keys).map(({ id }) => id);
  if (models.length < 2) return [];
  const options = cases.map((one) => reckonAll(one, keys));
  const runtime = runtimeWith(keys);
  const [constant, right] = [
    await chooseAll(cases, runtime, constantReading),
    await chooseAll(cases, runtime, rightReading),
  ];
  return SELECTORS.map((selector) => {
    const stakes = cases.map((one) => stakeOf(one, selector));
    const chooser = (name: string, choose: (at: number) => string | null): Chooser => ({
      name,
      regrets: cases.map((_, at) => regretOf(choose(at), stakes[at]!, options[at]!)),
    });
    return {
      keys: keys.name,
      selector,
      answers: stakes.map(({ answer }) => answer),
      signalbox: chooser('Signalbox', (at) => verdicts[at]!.choices[selector].model),
      constant: chooser('constant reading', (at) => constant[at]![selector]),
      right: chooser('right reading', (at) => right[at]![selector]),
      fixed: models.map((model) => chooser(model, () => model)),
      adequate: chooser('cheapest adequate', (at) => cheapestOf(options[at]!)),
    };
  });
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
const cheapestOf = (options: ReturnType<typeof reckonAll>): string | null =>
  doing(options).toSorted((a, b) => a.credits - b.credits)[0]?.id ?? null;

const ROUNDS = 2_000;
const SEED = 1;

/** Returns the mean of a figure of each request, with its 95 % interval over draws of as many requests. */
export function meanOf(values: readonly number[]): Interval & { readonly mean: number } {
  const means = Array.from(resamples(values.length, ROUNDS, SEED), (drawn) =>
    mean(values.map((value, at) => value * drawn[at]!)),
  );
  return { mean: mean(values), ...interval95(means, mean(values)) };
}

/** Writes two significant digits, and the sign if it is asked for. */
function digits(value: number, isSigned = false): string {
  const size = Math.abs(value);
  const text = size >= 100 ? size.toFixed(0) : String(Number(size.toPrecision(2)));
  return `${value < 0 ? '−' : isSigned ? '+' : ''}${text}`;
}

const bracket = ({ low, high }: Interval, isSigned = false): string =>
  `[${digits(low, isSigned)}, ${digits(high, isSigned)}]`;

const HEAD = [
  'keys',
  'selector',
  'Signalbox',
  'constant reading',
  'right reading',
  'best fixed model',
  'cheapest adequate model',
];

export type Unit = 'Credits' | 'share';

/**
 * Returns the rows of a table: the mean regret of a request, and in brackets its 95 % interval. A chooser next to Signalbox has the
 * difference to Signalbox for the same requests; a difference above 0 means that Signalbox is better. The fixed model is the model with the
 * least regret in hindsight.
 * @param unit `Credits`, or `share` for percent of the worth of a good answer, so that every request counts alike
 */
export function regretRows(all: readonly Regrets[], unit: Unit): string[][] {
  const rows = all.map(({ keys, selector, answers, signalbox, constant, right, fixed, adequate }) => {
    const figures = ({ regrets }: Chooser) =>
      unit === 'Credits' ? regrets : regrets.map((regret, at) => (100 * regret) / answers[at]!);
    const own = figures(signalbox);
    const against = (chooser: Chooser): string => {
      const theirs = figures(chooser);
      const difference = meanOf(theirs.map((value, at) => value - own[at]!));
      return `${digits(mean(theirs))} (${digits(difference.mean, true)} ${bracket(difference, true)})`;
    };
    const best = fixed.toSorted((a, b) => mean(figures(a)) - mean(figures(b)))[0]!;
    const interval = meanOf(own);
    return [
      keys,
      selector,
      `${digits(interval.mean)} ${bracket(interval)}`,
      against(constant),
      against(right),
      `${best.name} ${against(best)}`,
      against(adequate),
    ];
  });
  return [HEAD, ...rows];
}
