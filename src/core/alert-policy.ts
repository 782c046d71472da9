import type { SourceSpan } from './source-place.ts';

/** The form of messages: `signalbox` is JSON with a signature; `slack` is what an incoming webhook of Slack reads. */
export type WebhookFormat = 'signalbox' | 'slack';

/** A place that alerts are sent to. */
export interface AlertWebhook {
  readonly name: string;
  readonly place: SourceSpan;
  /** The variable with the address, which is a secret. */
  readonly urlEnv: string;
  /** The variable with the secret that signs messages; null for a form without a signature. */
  readonly secretEnv: string | null;
  readonly format: WebhookFormat;
  /** Whether its host may be this machine or in a private network. */
  readonly allowPrivate: boolean;
}

interface BudgetRule {
  /** Names of budgets; empty for all. */
  readonly budgets: readonly string[];
}

/** What an alert is about, with its terms. */
export type AlertTrigger =
  /** `at`: shares of the limit, ascending, above 0 and up to 1. */
  | (BudgetRule & { readonly on: 'budget_share'; readonly at: readonly number[] })
  | (BudgetRule & { readonly on: 'budget_forecast' })
  /** Of the input tokens of a window, the share that providers had in their caches. */
  | { readonly on: 'cached_share'; readonly below: number; readonly windowMs: number }
  /** `days`: how long before its expiry a key is named, descending. */
  | { readonly on: 'key_expiry'; readonly days: readonly number[] }
  | { readonly on: 'policy_refused' }
  | { readonly on: 'policy_split'; readonly afterMs: number }
  | { readonly on: 'provider_down'; readonly afterMs: number };

export type AlertRule = AlertTrigger & {
  /** Alerts are remembered by it: under another name it is another rule. */
  readonly name: string;
  /** Names of webhooks, at least one. */
  readonly to: readonly string[];
};

export interface AlertPolicy {
  readonly webhooks: readonly AlertWebhook[];
  readonly rules: readonly AlertRule[];
}
