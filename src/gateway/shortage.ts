import { type Microcredits, toCredits } from '../core/credits.ts';
import { SignalboxError } from '../core/errors.ts';
import type { Shortage } from '../ledger/standing.ts';

/** Long enough for some request that is running to end, ms. */
const CONTENDED_RETRY_MS = 1_000;

/** The error of a request that no fund can pay, or none can pay now. */
export function shortageError(shortage: Shortage): SignalboxError {
  const { why, needed, limit, spent, held } = shortage;
  const details = {
    ...(shortage.kind === 'budget' ? { budget: shortage.name, subject: shortage.subject } : { balance: shortage.name }),
    limit_credits: toCredits(limit),
    spent_credits: toCredits(spent),
    reserved_credits: toCredits(held),
    needed_credits: toCredits(needed),
    renews_at: shortage.renewsAt === null ? null : new Date(shortage.renewsAt).toISOString(),
  };
  if (why === 'exhausted') {
    return new SignalboxError(
      'insufficient_quota',
      `${told(shortage)}; this request could cost ${credits(needed)}, less with a lower max_tokens.`,
      {
        details,
      },
    );
  }
  return new SignalboxError(
    'budget_contended',
    `${told(shortage)}, and requests that are running hold ${credits(held)}: not enough is free for the ${credits(needed)} that this one could cost.`,
    { details, retryAfterMs: CONTENDED_RETRY_MS },
  );
}

function told({ kind, name, subject, limit, spent, renewsAt }: Shortage): string {
  if (kind === 'balance') return `Of the ${credits(limit)} granted to this key, ${credits(spent)} are spent`;
  const whose = subject === '' ? '' : ` of \`${subject}\``;
  const renews = renewsAt === null ? '' : `, and it renews at ${new Date(renewsAt).toISOString()}`;
  return `The budget \`${name}\`${whose} is ${credits(limit)}, of which ${credits(spent)} are spent${renews}`;
}

const credits = (amount: Microcredits): string => `${toCredits(amount)} Credits`;
