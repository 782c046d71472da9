import type { SourceSpan } from '../source-place.ts';
import type { AlertTrigger } from '../tables/alerts/index.ts';

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
