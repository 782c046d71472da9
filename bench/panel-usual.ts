import { readFileSync } from 'node:fs';
import { type Choices, reckonAll, SELECTORS, type Selector } from '../test/panel/judge.ts';
import { type KeySet, offeredBy } from '../test/panel/offers.ts';
import { type Case, PARTS, panelOf } from '../test/panel/panel.ts';
import { regretOf, stakeOf } from '../test/panel/regret.ts';
import { cheapestAdequate, digits, drawn } from './panel-regret.ts';

/** The greatest shares of hard and demanding requests that usual traffic has. */
const SHARES_MAX = { hard: 0.05, demanding: 0.15 } as const;

/** Factors for what a good answer is worth, because nobody knows it exactly. */
const WORTH_FACTORS = [0.1, 1, 10] as const;

/**
 * The choices of commit 6023ed1a3 with `usual_quality_factor: 1` for the part `fresh`, by set of keys and request: the last way of choosing
 * before the ladder. `npm run bench:panel -- --json FILE` of that commit wrote them.
 */
const BEFORE: Readonly<Record<string, Readonly<Record<string, Choices>>>> = JSON.parse(
  readFileSync(new URL('results/panel-before.json', import.meta.url), 'utf8'),
);

/** Returns how much each request counts, so that hard and demanding requests have at most their usual shares. */
export function usualWeights(cases: readonly Pick<Case, 'worth'>[]): number[] {
  const shareOf = (worth: string) => cases.filter((one) => one.worth === worth).length / cases.length;
  const shares = Object.entries(SHARES_MAX).map(([worth, most]) => ({ worth, share: shareOf(worth), most }));
  const capped = shares.filter(({ share, most }) => share > most);
  const rest = 1 - capped.reduce((sum, { most }) => sum + most, 0);
  const others = 1 - capped.reduce((sum, { share }) => sum + share, 0);
  return cases.map(({ worth }) => {
    const limit = capped.find((one) => one.worth === worth);
    return limit ? limit.most / limit.share : rest / others;
  });
}

/** The regrets of choosers for the requests with the keys of all sets, in the same order. */
type Columns = Readonly<Record<'Signalbox' | 'one model' | 'before' | 'cheapest adequate', readonly number[]>>;

function columnsOf(
  cases: readonly Case[],
  chosen: ReadonlyMap<KeySet, readonly Choices[]>,
  selector: Selector,
  factor: number,
): Columns {
  const regret = (one: Case, keys: KeySet, model: string | null): number => {
    const { answer, second, wait } = stakeOf(one, selector);
    return regretOf(model, { answer: answer * factor, second: second * factor, wait }, reckonAll(one, keys));
  };
  const earlier = PARTS.flatMap((part) => panelOf(part));
  const columns = [...chosen].map(([keys, choices]) => {
    const models = offeredBy(keys).map(({ id }) => id);
    const sumOf = (model: string) => earlier.reduce((sum, one) => sum + regret(one, keys, model), 0);
    const [best] = models.map((id) => ({ id, sum: sumOf(id) })).sort((a, b) => a.sum - b.sum);
    const each = (choose: (one: Case, at: number) => string | null) =>
      cases.map((one, at) => regret(one, keys, choose(one, at)));
    return {
      Signalbox: each((_, at) => choices[at]![selector]),
      'one model': each(() => best!.id),
      before: each(({ id }) => BEFORE[keys.name]?.[id]?.[selector] ?? null),
      'cheapest adequate': each((one) => cheapestAdequate(reckonAll(one, keys))?.id ?? null),
    };
  });
  const all = (name: keyof Columns) => columns.flatMap((one) => one[name]);
  return {
    Signalbox: all('Signalbox'),
    'one model': all('one model'),
    before: all('before'),
    'cheapest adequate': all('cheapest adequate'),
  };
}

/**
 * Returns the rows of a table: mean regret in Credits over the sets of keys, on requests with the usual shares of hard and demanding ones, if a
 * good answer is worth a tenth, as much, and ten times as much as the panel assumes. In brackets: the difference to `before` with its 95 %
 * interval.
 */
export function usualRows(cases: readonly Case[], chosen: ReadonlyMap<KeySet, readonly Choices[]>): string[][] {
  const weights = usualWeights(cases);
  const mean = (values: readonly number[], times: ArrayLike<number>): number => {
    const counts = values.map((_, at) => weights[at % cases.length]! * times[at % cases.length]!);
    const total = counts.reduce((sum, one) => sum + one, 0);
    return values.reduce((sum, one, at) => sum + one * counts[at]!, 0) / total;
  };
  const rows = SELECTORS.flatMap((selector) =>
    WORTH_FACTORS.map((factor) => {
      const columns = columnsOf(cases, chosen, selector, factor);
      const figureOf = (values: readonly number[]) => digits(drawn(cases.length, (times) => mean(values, times)).value);
      const difference = columns.Signalbox.map((regret, at) => regret - columns.before[at]!);
      const { value, low, high } = drawn(cases.length, (times) => mean(difference, times));
      return [
        selector,
        `× ${factor}`,
        `${figureOf(columns.Signalbox)} (${digits(value, true)} [${digits(low, true)}, ${digits(high, true)}])`,
        ...[columns['one model'], columns.before, columns['cheapest adequate']].map(figureOf),
      ];
    }),
  );
  return [['selector', 'worth', 'Signalbox', 'one model', 'before', 'cheapest adequate'], ...rows];
}
