import type { TProperties } from '@sinclair/typebox';
import { budgetForecast, budgetShare } from './budgets.ts';
import { cachedShare } from './cached-share.ts';
import type { AlertDefinition, AlertFindings } from './define.ts';
import { errorRate } from './error-rate.ts';
import { guardFailing } from './guard-failing.ts';
import { keyExpiry } from './key-expiry.ts';
import { keyRefused } from './key-refused.ts';
import { policyRefused } from './policy-refused.ts';
import { policySplit } from './policy-split.ts';
import { providerDown } from './provider-down.ts';
import { slowAnswers } from './slow-answers.ts';
import { statedCostDiffers } from './stated-cost.ts';

/** The events that rules of `alerts` can watch. */
const DEFINITIONS = {
  [budgetShare.on]: budgetShare,
  [budgetForecast.on]: budgetForecast,
  [cachedShare.on]: cachedShare,
  [errorRate.on]: errorRate,
  [guardFailing.on]: guardFailing,
  [keyExpiry.on]: keyExpiry,
  [keyRefused.on]: keyRefused,
  [policyRefused.on]: policyRefused,
  [policySplit.on]: policySplit,
  [providerDown.on]: providerDown,
  [slowAnswers.on]: slowAnswers,
  [statedCostDiffers.on]: statedCostDiffers,
};

type Definitions = typeof DEFINITIONS;
export type AlertEvent = keyof Definitions;

/** An event with the parameters of a rule. */
export type AlertTrigger<On extends AlertEvent = AlertEvent> = {
  [One in On]: NonNullable<ReturnType<Definitions[One]['parse']>>;
}[On];

/** The measurements of a server that rules check: the readings of all definitions together. */
export type AlertReadings = Definitions[AlertEvent]['find'] extends (
  rule: never,
  readings: infer Readings,
  found: AlertFindings,
) => void
  ? Readings
  : never;

/** A definition as code sees it that handles all events alike. */
type AnyAlert<On extends AlertEvent> = Omit<
  AlertDefinition<On, TProperties, unknown, AlertReadings>,
  'find' | 'parse'
> & {
  readonly parse: (keys: unknown) => AlertTrigger<On> | null;
  readonly find: (rule: AlertTrigger<On>, readings: AlertReadings, found: AlertFindings) => void;
};

/** The definitions by the word in `on`. */
export const ALERT_EVENTS: { readonly [On in AlertEvent]: AnyAlert<On> } = DEFINITIONS;

/** Finds what a rule reports now. @param on the event of the rule */
export const findAlerts = <On extends AlertEvent>(
  on: On,
  rule: AlertTrigger<On>,
  readings: AlertReadings,
  found: AlertFindings,
): void => ALERT_EVENTS[on].find(rule, readings, found);
