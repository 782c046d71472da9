import { isObject, listOf, objectOf, objectsIn, textOf } from '../../../core/json/object.ts';
import type { Members } from '../../../core/json/original.ts';
import { DAYS } from '../../../policy/schema/price-text.ts';
import { momentMs } from '../../../policy/schema/prices.ts';
import { RATES, type WitnessPeriod, type WitnessPrice } from './witnesses/witness.ts';

/** Returns how many of a price's periods have ended on a day. The last period never ends. @param day such as `2026-11-30` */
export function endedPeriods(periods: readonly Readonly<{ until?: unknown }>[], day: string): number {
  const current = periods.findIndex(({ until }) => typeof until !== 'string' || momentMs(until) > Date.parse(day));
  return current < 0 ? periods.length - 1 : current;
}

/** Returns a price as of a day: without the periods that have ended. */
export function priceFrom({ later = [], ...price }: WitnessPrice, day: string): WitnessPrice {
  const periods: readonly [WitnessPeriod, ...WitnessPeriod[]] = [price, ...later];
  const ended = endedPeriods(periods, day);
  const rest = periods.slice(ended + 1);
  return { ...(periods[ended] ?? price), ...(rest.length > 0 && { later: rest }) };
}

/**
 * Returns the figures of a price, in the form of a policy, by their paths: `output`, `tiers.200000.output`, `service_tiers.flex.output`,
 * `hours.mon,tue.01:00-04:00.output` and `later.2027-01-01.output`. The paths begin in the period of the day.
 */
export function figuresIn(price: Members, day: string): ReadonlyMap<string, number> {
  const periods = [price, ...objectsIn(price.later)];
  const current = endedPeriods(periods, day);
  return new Map(
    periods.slice(current).flatMap((period, at) => {
      const before = textOf(periods[current + at - 1]?.until);
      return figuresOf(period, at === 0 ? '' : `later.${momentText(before)}.`);
    }),
  );
}

type Figures = readonly (readonly [path: string, usd: number])[];

const figuresOf = (period: Members, path: string): Figures => [
  ...ratesIn(period, path),
  ...objectsIn(period.hours).flatMap((one) => ratesIn(one, `${path}hours.${daysOf(one)}.${one.from}-${one.to}.`)),
  ...Object.entries(objectOf(period.service_tiers)).flatMap(([name, one]) =>
    isObject(one) ? ratesIn(one, `${path}service_tiers.${name}.`) : [],
  ),
];

/** A price of hours without days applies on all days. */
const daysOf = ({ days = DAYS }: Members): string => DAYS.filter((day) => listOf(days).includes(day)).join();

const ratesIn = (rates: Members, path: string): Figures => [
  ...lineIn(rates, path),
  ...objectsIn(rates.tiers).flatMap((tier) => lineIn(tier, `${path}tiers.${tier.over_input_tokens}.`)),
];

const lineIn = (line: Members, path: string): Figures =>
  RATES.flatMap((rate) => {
    const usd = line[rate];
    return typeof usd === 'number' ? [[path + rate, usd] as const] : [];
  });

/** Writes a moment as a day if it is the beginning of a day in UTC. */
export function momentText(until: string): string {
  const ms = momentMs(until);
  return Number.isNaN(ms) ? until : new Date(ms).toISOString().replace(/T00:00:00\.000Z$/, '');
}
