import type { Decimal } from './decimal.ts';
import { type Price, scaledPrice } from './price.ts';

/** What an endpoint costs over time. All times are in UTC. */
export interface PricePlan {
  /** The periods in their order. Each ends where the next one begins; the last one has no end. */
  readonly periods: readonly PricePeriod[];
  /** Which moment of a request decides its price: its start or its end; null if unknown, so that the dearer of both counts. */
  readonly billedAt: 'start' | 'end' | null;
}

interface PricePeriod {
  /** The first moment after the period, ms since 1970; Infinity for the last period. */
  readonly untilMs: number;
  /** The price outside of the hours. */
  readonly price: Price;
  /** The prices of some hours of the week, which do not overlap. */
  readonly hours: readonly HourPrice[];
}

interface HourPrice {
  /** The minutes of the week in which the price applies, from Monday 00:00 on: pairs of the first minute and the first minute after it. */
  readonly ranges: readonly (readonly [from: number, until: number])[];
  readonly price: Price;
}

const MINUTE_MS = 60_000;
export const DAY_MINUTES = 24 * 60;
export const WEEK_MINUTES = 7 * DAY_MINUTES;
const WEEK_MS = WEEK_MINUTES * MINUTE_MS;
/** 1970 began on a Thursday, three days after a Monday. */
const MONDAY_MS = 3 * DAY_MINUTES * MINUTE_MS;

/** Returns the start of the week of a moment, ms since 1970. */
const weekOf = (ms: number): number => ms - ((((ms + MONDAY_MS) % WEEK_MS) + WEEK_MS) % WEEK_MS);

const periodAt = ({ periods }: PricePlan, ms: number): PricePeriod => periods.find(({ untilMs }) => ms < untilMs)!;

/** Returns the price at a moment. @param ms ms since 1970 */
export function priceAt(plan: PricePlan, ms: number): Price {
  const { price, hours } = periodAt(plan, ms);
  if (hours.length === 0) return price;
  const minute = (ms - weekOf(ms)) / MINUTE_MS;
  return hours.find(({ ranges }) => ranges.some(([from, until]) => minute >= from && minute < until))?.price ?? price;
}

/** Returns the first moment after `ms` at which another price applies, ms since 1970; Infinity if the price stays. */
export function nextChange(plan: PricePlan, ms: number): number {
  const now = priceAt(plan, ms);
  for (let at = ms; ; ) {
    const { untilMs, hours } = periodAt(plan, at);
    const minutes = hours.flatMap(({ ranges }) => ranges.flat());
    const week = weekOf(at);
    const ofWeek = [week, week + WEEK_MS].flatMap((start) => minutes.map((minute) => start + minute * MINUTE_MS));
    const next = Math.min(untilMs, ...ofWeek.filter((moment) => moment > at));
    if (next === Number.POSITIVE_INFINITY || priceAt(plan, next) !== now) return next;
    at = next;
  }
}

/** Returns the prices that apply at some moment from `fromMs` to `untilMs`, the price at `fromMs` first. */
export function pricesWithin(plan: PricePlan, fromMs: number, untilMs: number): readonly [Price, ...Price[]] {
  const first = priceAt(plan, fromMs);
  const others = new Set<Price>();
  for (let at = nextChange(plan, fromMs); at <= untilMs; at = nextChange(plan, at)) others.add(priceAt(plan, at));
  others.delete(first);
  return [first, ...others];
}

/** Returns every price of a plan. The first one is the price as the policy states it, without hours and before its end. */
export const allPrices = ({ periods }: PricePlan): readonly Price[] =>
  periods.flatMap(({ price, hours }) => [price, ...hours.map((one) => one.price)]);

/** Returns a plan whose prices are multiplied by an exact factor. Throws RangeError if a price cannot be exact. */
export const scaledPlan = ({ periods, billedAt }: PricePlan, factor: Decimal): PricePlan => ({
  periods: periods.map(({ untilMs, price, hours }) => ({
    untilMs,
    price: scaledPrice(price, factor),
    hours: hours.map((one) => ({ ...one, price: scaledPrice(one.price, factor) })),
  })),
  billedAt,
});

/** The prices that apply to requests that begin at one moment: an input of the build of a policy. */
export interface PriceMoment {
  /** A moment at which the build applies, ms since 1970. */
  readonly at: number;
  /** The first moment after `at` for which another build is needed, ms since 1970; Infinity for none. */
  readonly until: number;
  /** Names for each plan the prices that may apply before a request ends. Equal texts mean equal builds. */
  readonly text: string;
}

/**
 * Returns which prices of several plans apply to requests that begin at a moment.
 * @param horizonMs how long a request can last, ms
 */
export function momentOf(plans: readonly PricePlan[], at: number, horizonMs: number): PriceMoment {
  const texts = plans.map((plan) => {
    const all = allPrices(plan);
    const [now, ...others] = pricesWithin(plan, at, at + horizonMs).map((price) => all.indexOf(price));
    return [now, ...others.sort((one, other) => one - other)];
  });
  const changes = plans.flatMap((plan) => [nextChange(plan, at), nextChange(plan, at + horizonMs) - horizonMs]);
  return { at, until: Math.min(Number.POSITIVE_INFINITY, ...changes), text: JSON.stringify(texts) };
}
