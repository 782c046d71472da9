import type { Caller } from '../core/caller.ts';
import { iso } from '../core/clock.ts';
import { type Microcredits, toCredits } from '../core/credits.ts';
import { type ErrorCode, SignalboxError } from '../core/errors.ts';
import type { FundShortage } from '../ledger/available-funds.ts';
import type { FundingParts } from './funding.ts';

/** A time in which some running request ends, ms. */
const CONTENDED_RETRY_MS = 1_000;

/** Makes the error of a request that no fund can pay, now or ever. Logs it, too: it leaves no other trace. */
export function shortageError(
  shortage: FundShortage,
  caller: Caller,
  { log, ledger }: Pick<FundingParts, 'log' | 'ledger'>,
): SignalboxError {
  ledger.refused(shortage);
  log.info('a request was refused: its budget or balance is too low', {
    key: caller.keyId,
    why: shortage.why,
    [shortage.kind]: shortage.name,
    subject: shortage.subject || undefined,
    needed_credits: toCredits(shortage.needed),
    spent_credits: toCredits(shortage.spent),
    reserved_credits: toCredits(shortage.held),
    limit_credits: toCredits(shortage.limit),
  });
  return shortageErrorOf(shortage);
}

/** Makes the error alone. */
export function shortageErrorOf(shortage: FundShortage): SignalboxError {
  const { kind, why, name, subject, window, needed, limit, spent, held } = shortage;
  const details = {
    ...(kind === 'budget' ? { budget: name, subject, window } : { balance: name }),
    limit_credits: toCredits(limit),
    spent_credits: toCredits(spent),
    reserved_credits: toCredits(held),
    needed_credits: toCredits(needed),
    renews_at: shortage.renewsAt === null ? null : iso(shortage.renewsAt),
  };
  const cost = `This request needs ${credits(needed)}; a lower limit on its output lowers that.`;
  // A balance has no whole limit: it grows with every grant.
  if (kind === 'budget' && needed > limit) {
    const never = `The budget \`${name}\` is ${credits(limit)} in all, so this request never fits.`;
    return new SignalboxError('request_exceeds_budget', `${never} ${cost}`, { details });
  }
  if (why === 'exhausted') return new SignalboxError('insufficient_quota', `${stateOf(shortage)} ${cost}`, { details });
  const busy = `Requests in progress have reserved ${credits(held)}, which leaves ${credits(limit - spent - held)}.`;
  return new SignalboxError('budget_contended', `${stateOf(shortage)} ${busy} ${cost}`, {
    details,
    retryAfterMs: CONTENDED_RETRY_MS,
  });
}

/** The errors of requests that no waiting makes affordable. */
export const isShortageCode = (code: ErrorCode): boolean =>
  code === 'insufficient_quota' || code === 'request_exceeds_budget';

/** Describes the fund that is short. */
function stateOf({ kind, name, subject, limit, spent, renewsAt }: FundShortage): string {
  if (kind === 'balance') return `This key has spent ${toCredits(spent)} of the ${credits(limit)} granted to it.`;
  const whose = subject === '' ? '' : ` of \`${subject}\``;
  const renews = renewsAt === null ? '' : ` It renews at ${iso(renewsAt)}.`;
  return `The budget \`${name}\`${whose} has spent ${toCredits(spent)} of its ${credits(limit)}.${renews}`;
}

const credits = (amount: Microcredits): string =>
  `${toCredits(amount)} ${toCredits(amount) === 1 ? 'Credit' : 'Credits'}`;
