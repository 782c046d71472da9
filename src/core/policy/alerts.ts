import type { SourceSpan } from './source-place.ts';

/** The format of alert messages. `signalbox` is signed JSON; `slack` is the format of Slack's incoming webhooks. */
export type WebhookFormat = 'signalbox' | 'slack';

/** A webhook that receives alerts. */
export interface AlertWebhook {
  readonly name: string;
  readonly place: SourceSpan;
  /** The environment variable that holds the URL, which is a secret. */
  readonly urlEnv: string;
  /** The environment variable that holds the secret which signs messages; null for a format without a signature. */
  readonly secretEnv: string | null;
  readonly format: WebhookFormat;
  /** Whether the host may be this machine or in a private network. */
  readonly allowPrivate: boolean;
}

interface BudgetRule {
  /** Names of the budgets that the alert watches; empty for all budgets. */
  readonly budgets: readonly string[];
}

/** The kinds of subject that `cached_share` can watch one by one. */
export type CachedEach = 'key' | 'endpoint';

/** The subject that an alert watches, with its parameters. */
export type AlertTrigger =
  /** `at`: shares of the limit, ascending, above 0 and at most 1. */
  | (BudgetRule & { readonly on: 'budget_share'; readonly at: readonly number[] })
  | (BudgetRule & { readonly on: 'budget_forecast' })
  /** The share of input tokens in a time window that providers read from their caches. `each`: null for all requests together. */
  | { readonly on: 'cached_share'; readonly below: number; readonly windowMs: number; readonly each: CachedEach | null }
  /** The share of requests of a time window that ended with an error of Signalbox or a provider. */
  | { readonly on: 'error_rate'; readonly above: number; readonly windowMs: number }
  | { readonly on: 'guard_failing'; readonly afterMs: number }
  /** `days`: how many days before a key expires to send an alert, descending. */
  | { readonly on: 'key_expiry'; readonly days: readonly number[] }
  | { readonly on: 'key_refused' }
  | { readonly on: 'policy_refused' }
  | { readonly on: 'policy_split'; readonly afterMs: number }
  | { readonly on: 'provider_down'; readonly afterMs: number }
  /** The time until the first content of an answer, which 9 of 10 answers of a time window do not exceed. */
  | { readonly on: 'slow_answers'; readonly aboveMs: number; readonly windowMs: number };

export type AlertRule = AlertTrigger & {
  /** The name of the alert rule, which identifies the rule in stored alerts. A renamed alert rule counts as a new rule. */
  readonly name: string;
  /** The names of the webhooks that receive the alert, at least one. */
  readonly to: readonly string[];
};

export interface AlertPolicy {
  readonly webhooks: readonly AlertWebhook[];
  readonly rules: readonly AlertRule[];
}
