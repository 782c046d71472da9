import { type ErrorCode, SignalboxError } from '../../core/errors.ts';
import { bothAmounts, timeZoneText } from '../../core/money/budget-words.ts';
import { type Microcredits, toCredits } from '../../core/money/credits.ts';
import { usdWriter } from '../../core/money/usd.ts';
import type { Caller } from '../../core/people/caller.ts';
import { levelName } from '../../core/people/holder.ts';
import { capital } from '../../core/text/text.ts';
import { iso } from '../../core/time/clock.ts';
import type { FundShortage } from '../../ledger/available-funds.ts';
import type { RejectedModel } from '../../routing/refuse.ts';
import type { FundingParts } from './funding.ts';

/** The time in which one of the running requests is likely to end, ms. */
const CONTENDED_RETRY_MS = 1_000;

/**
 * Makes the error of a request that no fund can pay, now or ever. The function also logs the error, because the request leaves no other
 * trace.
 * @param rejected the models that the request names, if it names several
 */
export function shortageError(
  shortage: FundShortage,
  caller: Caller,
  { log, ledger }: Pick<FundingParts, 'log' | 'ledger'>,
  rejected: readonly RejectedModel[] = [],
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
  return withModels(shortageErrorOf(shortage, caller, ledger.usdPerCredit), rejected);
}

/** Adds to an error why each of the models that a request names cannot serve it. */
function withModels(error: SignalboxError, rejected: readonly RejectedModel[]): SignalboxError {
  if (rejected.length === 0) return error;
  const why = rejected.map(({ model, reasons }) => `\`${model}\`: ${reasons.join(', and ')}`).join('; ');
  const { code, message, info } = error;
  const details = { ...info.details, rejected };
  return new SignalboxError(code, `${message} Neither the model that the request names nor a fallback fits. ${why}.`, {
    ...info,
    details,
  });
}

/** Makes the error without logging it. @param usdPerCredit the value of a Credit in USD */
export function shortageErrorOf(shortage: FundShortage, caller: PayingCaller, usdPerCredit: string): SignalboxError {
  const { kind, why, name, subject, window, level, needed, limit, spent, held } = shortage;
  const above = keyAbove(shortage, caller);
  const usd = usdWriter(usdPerCredit);
  if (above !== null) return shortageAbove(shortage, above, usd);
  const both = (amount: Microcredits) => bothAmounts(toCredits(amount), usd(amount));
  const until = endOf(shortage, caller);
  const details = {
    ...(kind === 'budget' ? { budget: name, subject, window, ...(level && { level }) } : { balance: name }),
    ...amountsIn({ limit, spent, reserved: held, needed }, usd),
    renews_at: shortage.renewsAt === null ? null : iso(shortage.renewsAt),
    ...(until !== undefined && { until: iso(until) }),
  };
  const cost = `This request needs ${both(needed)}; a lower limit on its output reduces this amount.`;
  // A balance has no fixed total: it grows with every grant.
  if (kind === 'budget' && needed > limit) {
    const never = `${capital(fundText({ ...shortage, subject: level ? subject : '' }, caller))} is ${both(limit)} in total, so this request can never fit.${endText(until)}`;
    return new SignalboxError('request_exceeds_budget', `${never} ${cost}`, { details });
  }
  if (why === 'exhausted')
    return new SignalboxError('insufficient_quota', `${stateOf(shortage, caller, usd)} ${cost}`, { details });
  const busy = `Requests in progress have reserved ${both(held)}, which leaves ${both(limit - spent - held)}.`;
  return new SignalboxError('budget_contended', `${stateOf(shortage, caller, usd)} ${busy} ${cost}`, {
    details,
    retryAfterMs: CONTENDED_RETRY_MS,
  });
}

/** Writes an amount in USD. */
type WriteUsd = (amount: Microcredits) => string | null;

/** The members of `details` for amounts, in Credits and in USD. */
const amountsIn = (amounts: Readonly<Record<string, Microcredits>>, usd: WriteUsd) =>
  Object.fromEntries(
    Object.entries(amounts).flatMap(([name, amount]) => [
      [`${name}_credits`, toCredits(amount)] as const,
      [`${name}_usd`, usd(amount)] as const,
    ]),
  );

/** Whether the request stays too expensive even if it waits for open holds to end. */
export const isShortageCode = (code: ErrorCode): boolean =>
  code === 'insufficient_quota' || code === 'request_exceeds_budget';

/** The caller who needs money, with the names of its organization, team and user. */
type PayingCaller = Pick<Caller, 'keyId' | 'line' | 'levels'> & Partial<Pick<Caller, 'budgets'>>;

/** When a budget of the caller's own key ends, ms since 1970; undefined for never, and for other funds. */
const endOf = ({ level, window, timeZone, limit }: FundShortage, { budgets = [] }: PayingCaller): number | undefined =>
  level === 'key'
    ? budgets.find(
        (one) => one.until !== undefined && one.window === window && one.timeZone === timeZone && one.limit === limit,
      )?.until
    : undefined;

/** Makes the error if a fund of a parent key is too low. It shows no figures, because they belong to the parent key. */
function shortageAbove(shortage: FundShortage, above: string, usd: WriteUsd): SignalboxError {
  const { kind, why, name, window, level, needed, subject, renewsAt } = shortage;
  const details = {
    ...(kind === 'balance' ? { balance: name } : { budget: name, subject, window, ...(level && { level }) }),
    ...amountsIn({ needed }, usd),
    renews_at: renewsAt === null ? null : iso(renewsAt),
  };
  const named = kind === 'budget' && level === null ? `budget \`${name}\`` : `${adjectiveOf(window)}${kind}`;
  const fund = `${named} of the parent key \`${above}\` of this API key`;
  if (why === 'contended') {
    const message = `Requests in progress have reserved what is left of the ${fund}.`;
    return new SignalboxError('budget_contended', message, { details, retryAfterMs: CONTENDED_RETRY_MS });
  }
  const message = `The ${fund} has too little left for this request, which needs ${bothAmounts(toCredits(needed), usd(needed))}.`;
  return new SignalboxError('insufficient_quota', `${message}${renewsText(renewsAt)}`, { details });
}

/**
 * Returns the caller's parent key that owns a fund: the parent key's budget, its balance, or its share of a budget of the policy; null if
 * no parent key owns the fund.
 */
function keyAbove({ kind, level, name, subject }: FundShortage, { keyId, line = [] }: PayingCaller): string | null {
  if (level === 'key') return subject === keyId ? null : subject;
  const own = kind === 'balance' ? name : subject;
  // The name of a session's share of a budget begins with the ID of the session's key.
  return level === null ? (line.find((id) => own === id || own.startsWith(`${id}/`)) ?? null) : null;
}

/** Describes the fund that is too low. */
function stateOf(shortage: FundShortage, caller: PayingCaller, usd: WriteUsd): string {
  const { kind, limit, spent, renewsAt } = shortage;
  const ofLimit = bothAmounts(toCredits(limit), null);
  const inUsd = ` (${usd(spent)} of ${usd(limit)} USD)`;
  const end = endText(endOf(shortage, caller));
  if (kind !== 'balance')
    return `${capital(fundText(shortage, caller))} has spent ${toCredits(spent)} of its ${ofLimit}${inUsd}.${renewsText(renewsAt)}${end}`;
  return `This key has spent ${toCredits(spent)} of the ${ofLimit} granted to it${inUsd}.`;
}

const endText = (until: number | undefined): string =>
  until === undefined ? '' : ` This budget ends at ${iso(until)}.`;

const renewsText = (renewsAt: number | null): string => (renewsAt === null ? '' : ` It renews at ${iso(renewsAt)}.`);

/** Returns the words with which a sentence names a budget. */
function fundText({ name, subject, window, timeZone, level }: FundShortage, { levels }: PayingCaller): string {
  if (level === null) return `the budget \`${name}\`${subject === '' ? '' : ` of \`${subject}\``}`;
  const own = levels?.find(({ kind, id }) => kind === level && id === subject);
  const holder = level === 'key' ? 'this API key' : levelName({ kind: level, name: own?.name ?? subject });
  const zone = timeZone === null || timeZone === 'UTC' || window === 'total' ? '' : ` (${timeZoneText(timeZone)})`;
  return `the ${adjectiveOf(window)}budget of ${holder}${zone}`;
}

const ADJECTIVES = { day: 'daily ', week: 'weekly ', month: 'monthly ', total: '', every: '' } as const;
const adjectiveOf = (window: FundShortage['window']): string => (window ? ADJECTIVES[window] : '');
