import { chooseAll, constantReading, factsFor, rightReading, runtimeWith, type Verdict } from '../test/panel/decide.ts';
import { type Choices, doing, type Reckoned, reckonAll, SELECTORS, type Selector } from '../test/panel/judge.ts';
import { type KeySet, offeredBy } from '../test/panel/offers.ts';
import { type Case, PARTS, panelOf } from '../test/panel/panel.ts';
import { againWorthOf, bestWorth, regretOf, type Stake, stakeOf, worthOf } from '../test/panel/regret.ts';
import { type Interval, interval95, resamples } from './routing/bootstrap.ts';

/** A way to choose models, with its regret for each request in the order of the panel. */
export interface Chooser {
  readonly name: string;
  /** The models that it was given, chosen on the earlier parts of the panel; empty if it has none. */
  readonly models: readonly string[];
  /** Credits. */
  readonly regrets: readonly number[];
}

/** The regret of a selector with a set of keys, and of choosers next to it. `test/panel/README.md` defines them. */
export interface Regrets {
  readonly keys: string;
  readonly selector: Selector;
  readonly signalbox: Chooser;
  readonly one: Chooser;
  readonly two: Chooser;
  readonly again: Chooser;
  readonly adequate: Chooser;
  readonly constant: Chooser;
  readonly right: Chooser;
}

/** Requests with what is known about them for a set of keys and a selector. */
interface Round {
  readonly stakes: readonly Stake[];
  readonly options: readonly (readonly Reckoned[])[];
  /** The worth of the best model for each request, Credits. */
  readonly best: readonly number[];
  /** Whether Signalbox reads each request as hard. */
  readonly isHard: readonly boolean[];
}

/** Chooses a model for the request at an index. */
type Choose = (at: number) => string | null;

const regretsIn = ({ stakes, options }: Round, choose: Choose): number[] =>
  stakes.map((stake, at) => regretOf(choose(at), stake, options[at]!));

/** Returns the regret of two models, of which the second is asked if a signal finds the answer of the first bad. @param second null for none */
const regretsAgain = ({ stakes, options, best }: Round, first: string, second: string | null): number[] =>
  stakes.map((stake, at) => {
    const [a, b] = [first, second].map((model) => options[at]!.find(({ id }) => id === model));
    if (!a) return regretOf(null, stake, options[at]!);
    return best[at]! - (b ? againWorthOf(stake, a, b) : worthOf(stake, a));
  });

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Returns the item with the least mean regret. */
const leastBy = <Item>(items: readonly Item[], regrets: (item: Item) => readonly number[]): Item =>
  items.map((item) => ({ item, regret: mean(regrets(item)) })).toSorted((a, b) => a.regret - b.regret)[0]!.item;

/** Returns the models that are chosen before the measured requests are known. */
function chosenBefore(round: Round, models: readonly string[]) {
  const fixed = new Map(models.map((model) => [model, regretsIn(round, () => model)]));
  const pairs = models.flatMap((a) => models.map((b) => [a, b] as const));
  const byDifficulty = ([usual, hard]: (typeof pairs)[number]) =>
    round.isHard.map((isHard, at) => fixed.get(isHard ? hard : usual)![at]!);
  return {
    one: leastBy(models, (model) => fixed.get(model)!),
    two: leastBy(pairs, byDifficulty),
    again: leastBy(
      models.flatMap((a) => [null, ...models].map((b) => [a, b] as const)),
      ([first, second]) => regretsAgain(round, first, second),
    ),
  };
}

export const modelsChosen = (verdicts: readonly Verdict[]): Choices[] =>
  verdicts.map(({ choices }) => ({
    auto: choices.auto.model,
    'auto-cheap': choices['auto-cheap'].model,
    'auto-fast': choices['auto-fast'].model,
  }));

/** Returns the cheapest model that does the task well, or comes closest to it; null if no model can serve the request. */
export const cheapestAdequate = (options: readonly Reckoned[]): Reckoned | null =>
  doing(options).toSorted((a, b) => a.credits - b.credits)[0] ?? null;

/**
 * Returns the regrets of each selector; none if the keys leave no choice.
 * @param choices of Signalbox, in the order of the cases
 */
export async function regretsOf(cases: readonly Case[], keys: KeySet, choices: readonly Choices[]): Promise<Regrets[]> {
  const models = offeredBy(keys).map(({ id }) => id);
  if (models.length < 2) return [];
  const runtime = runtimeWith(keys);
  const earlier = PARTS.flatMap((part) => panelOf(part));
  const able = new Map([...earlier, ...cases].map((one) => [one, reckonAll(one, keys)]));
  const roundOf = (requests: readonly Case[], selector: Selector): Round => {
    const stakes = requests.map((one) => stakeOf(one, selector));
    const options = requests.map((one) => able.get(one)!);
    return {
      stakes,
      options,
      best: options.map((models, at) => bestWorth(stakes[at]!, models)),
      isHard: requests.map((one) => factsFor(one, selector, runtime).tier?.name === 'strong'),
    };
  };
  const constant = await chooseAll(cases, runtime, constantReading);
  const right = await chooseAll(cases, runtime, rightReading);
  return SELECTORS.map((selector) => {
    const { one, two, again } = chosenBefore(roundOf(earlier, selector), models);
    const round = roundOf(cases, selector);
    const chooser = (name: string, choose: Choose, given: readonly string[] = []): Chooser => ({
      name,
      models: given,
      regrets: regretsIn(round, choose),
    });
    return {
      keys: keys.name,
      selector,
      signalbox: chooser('Signalbox', (at) => choices[at]![selector]),
      one: chooser('one model', () => one, [one]),
      two: chooser('two by difficulty', (at) => two[round.isHard[at] ? 1 : 0], two),
      again: {
        name: 'one, then another',
        models: again.filter((model) => model !== null),
        regrets: regretsAgain(round, ...again),
      },
      adequate: chooser('cheapest adequate', (at) => cheapestAdequate(round.options[at]!)?.id ?? null),
      constant: chooser('constant reading', (at) => constant[at]![selector]),
      right: chooser('right reading', (at) => right[at]![selector]),
    };
  });
}

const ROUNDS = 2_000;
/** The seed of all intervals. */
export const SEED = 1;
/** The samples of each number of requests, which many figures share. */
const samples = new Map<number, readonly Float64Array[]>();

/** Returns a figure of a draw of requests, with its 95 % interval over draws of as many requests. @param figure of how often each is drawn */
export function drawn(
  count: number,
  figure: (times: ArrayLike<number>) => number,
): Interval & { readonly value: number } {
  const value = figure(new Float64Array(count).fill(1));
  const figures = samples.getOrInsertComputed(count, () => [...resamples(count, ROUNDS, SEED)]).map(figure);
  return { value, ...interval95(figures, value) };
}

/** Returns the mean of a figure of each request, with its 95 % interval. */
export function meanOf(values: readonly number[]): Interval & { readonly mean: number } {
  const { value, low, high } = drawn(values.length, (times) => {
    let sum = 0;
    for (let at = 0; at < values.length; at++) sum += values[at]! * times[at]!;
    return sum / values.length;
  });
  return { mean: value, low, high };
}

/** Writes two significant digits, and the sign if it is asked for. */
export function digits(value: number, isSigned = false): string {
  const size = Math.abs(value);
  const text = size >= 100 ? size.toFixed(0) : String(Number(size.toPrecision(2)));
  return `${value < 0 ? '−' : isSigned ? '+' : ''}${text}`;
}

export const bracket = ({ low, high }: Interval, isSigned = false): string =>
  `[${digits(low, isSigned)}, ${digits(high, isSigned)}]`;

/** Returns the difference of a chooser to Signalbox for the same requests; above 0, Signalbox is better. */
export const behind = (chooser: Chooser, { signalbox }: Pick<Regrets, 'signalbox'>) =>
  meanOf(chooser.regrets.map((regret, at) => regret - signalbox.regrets[at]!));

/**
 * Returns the rows of a table: the mean regret of a request in Credits, and in brackets its 95 % interval. A chooser next to Signalbox has
 * the difference to Signalbox for the same requests; a difference above 0 means that Signalbox is better.
 */
export function regretRows(all: readonly Regrets[]): string[][] {
  const head = ['one', 'two', 'again', 'adequate', 'constant', 'right'] as const;
  const rows = all.map((row) => {
    const own = meanOf(row.signalbox.regrets);
    const cells = head.map((name) => {
      const { models, regrets } = row[name];
      const difference = behind(row[name], row);
      const named = [...new Set(models)].map((model) => `${model} `).join('then ');
      return `${named}${digits(mean(regrets))} (${digits(difference.mean, true)} ${bracket(difference, true)})`;
    });
    return [row.keys, row.selector, `${digits(own.mean)} ${bracket(own)}`, ...cells];
  });
  const names = [
    'one model',
    'two by difficulty',
    'one, then another',
    'cheapest adequate',
    'constant reading',
    'right reading',
  ];
  return [['keys', 'selector', 'Signalbox', ...names], ...rows];
}
