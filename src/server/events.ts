import type { FundStanding } from '../core/accounting/fund.ts';
import { idText } from '../core/id.ts';
import { toCredits } from '../core/money/credits.ts';
import { usdWriter } from '../core/money/usd.ts';
import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import { iso } from '../core/time/clock.ts';
import type { Log } from '../host/telemetry/log.ts';
import type { OrphansClosed } from '../ledger/orphans.ts';
import { firstError } from '../policy/report/diagnostics.ts';
import { servingProviders, servingText } from '../policy/runtime/candidate.ts';
import { summary } from '../policy/runtime/diff.ts';
import type { ReloadAttempt } from '../policy/runtime/status.ts';
import type { HealthChange } from '../providers/health/types.ts';

/** Writes the log lines about the life of a server; other files write the lines about requests. */

/** The most decisions that one log line names. */
const NAMED_MAX = 20;

/** Lists decisions for a log line: `dec_… dec_… and 3 more`. */
export function namesOf(decisions: readonly number[]): string {
  const named = decisions.slice(0, NAMED_MAX).map((id) => idText('dec_', id));
  const more = decisions.length - named.length;
  return `${named.join(' ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** @param snapshot the policy that is active after the reload */
export function logReload(log: Log, attempt: ReloadAttempt, snapshot: PolicySnapshot): void {
  const { result, cause, revision, tookMs, message, changes } = attempt;
  const fields = { cause, revision, took_ms: tookMs };
  if (result === 'applied') {
    const providers = servingText(servingProviders(snapshot));
    // If no declared thing has changed, the message itself says what has changed.
    const detail = changes.length === 0 ? message : undefined;
    log.info('policy reloaded', { ...fields, changes: summary(changes), detail, providers });
  } else if (result === 'unchanged') log.info('policy unchanged', { ...fields, detail: message });
  else log.error('policy refused', { ...fields, detail: message, first: firstError(attempt.diagnostics) });
}

export function logRecovered(log: Log, { ids, charged, held }: OrphansClosed): void {
  if (ids.length === 0) return;
  log.warn('closed reservations that an earlier run left open', {
    count: ids.length,
    credits_charged: toCredits(charged),
    credits_released: toCredits(held - charged),
    decisions: namesOf(ids),
  });
}

/** @param usdPerCredit the value of a Credit in USD */
export function logAlert(log: Log, fund: FundStanding, fraction: number, usdPerCredit: string | null): void {
  const { title, spent, limit } = fund;
  const usd = usdWriter(usdPerCredit);
  log.warn('a budget has reached an alert threshold', {
    budget: title.name,
    subject: title.subject,
    share: fraction,
    spent_credits: toCredits(spent),
    spent_usd: usd(spent) ?? undefined,
    limit_credits: toCredits(limit),
    limit_usd: usd(limit) ?? undefined,
    renews: Number.isFinite(title.ends) ? iso(title.ends) : undefined,
  });
}

/** A refused key or an empty account is logged as an error, because only the operator can replace the key or add credit. */
export function logHealth(log: Log, { provider, model, upstream, key, from, to, why, forMs }: HealthChange): void {
  const fields = { provider, model, upstream, key, from, why: why ?? undefined, for_ms: forMs ?? undefined };
  if (to === 'healthy') log.info('an endpoint is healthy again', fields);
  else if (to === 'misconfigured') log.error('an endpoint is misconfigured: its provider refused the key', fields);
  else if (to === 'out_of_credit') log.error('an endpoint is paused: its provider account has no credit left', fields);
  else if (to === 'absent') log.warn('an endpoint is not used: its server does not have the model', fields);
  else if (to === 'cooling') log.warn('an endpoint is cooling down: its provider asked for fewer requests', fields);
  else log.warn('an endpoint is ejected: too many failures', fields);
}
