import { type Microcredits, toCredits } from '../../core/money/credits.ts';
import type { FailingGuard } from '../../core/policy/guards.ts';
import { plural } from '../../core/text/text.ts';
import { DAY_MS, HOUR_MS, iso, MINUTE_MS } from '../../core/time/clock.ts';
import { revisionsIn } from '../../store/instance-reports.ts';
import type { AnswersReading, BudgetWindowReading, PolicyRefusal, PolicySplit } from './readings.ts';

/** The sentences of alerts, in plain text. */

const percent = (share: number): string => `${Math.floor(share * 100 + 1e-9)} %`;
/** Writes an amount with at least two decimals, and two digits that are not 0: `1,204.50`, `0.0031`. */
const rounded = (amount: number): string =>
  amount !== 0 && Math.abs(amount) < 0.1
    ? amount.toLocaleString('en', { maximumSignificantDigits: 2 })
    : amount.toLocaleString('en', { maximumFractionDigits: 2 });
/** Writes an amount in both units: `31,204.5 Credits (31.2 USD)`. */
const amountText = (amount: Microcredits, { usdPerCredit }: Pick<BudgetWindowReading, 'usdPerCredit'>): string => {
  const usd = usdPerCredit === null ? '' : ` (${rounded(toCredits(amount) * Number(usdPerCredit))} USD)`;
  const credits = rounded(toCredits(amount));
  return `${credits} ${credits === '1' ? 'Credit' : 'Credits'}${usd}`;
};
const day = (timeMs: number): string => `${iso(timeMs).slice(0, 16).replace('T', ' ')} UTC`;
const until = (ends: number): string => (Number.isFinite(ends) ? `; the budget renews at ${day(ends)}` : '');

/** Formats a duration: `40 s`, `12 min`, `5 h`, `3 days`. */
function lengthOf(ms: number): string {
  if (ms < 2 * MINUTE_MS) return `${Math.round(ms / 1_000)} s`;
  if (ms < 2 * HOUR_MS) return `${Math.round(ms / MINUTE_MS)} min`;
  return ms < 2 * DAY_MS ? `${Math.round(ms / HOUR_MS)} h` : `${Math.round(ms / DAY_MS)} days`;
}

const titleOf = ({ title }: BudgetWindowReading): string => `Budget “${title}”`;

export const budgetShare = (one: BudgetWindowReading): string =>
  one.refused === null || one.spent >= one.limit
    ? `${titleOf(one)} has spent ${percent(one.spent / one.limit)} of its ${amountText(one.limit, one)}${until(one.ends)}.`
    : `${titleOf(one)} refuses requests: it has ${amountText(one.limit - one.spent, one)} left of ${amountText(one.limit, one)}, and a request needs ${amountText(one.refused, one)}${until(one.ends)}.`;

export const budgetForecast = (one: BudgetWindowReading, forecast: Microcredits): string =>
  `${titleOf(one)} would spend ${amountText(forecast, one)} at its current rate, ${percent(forecast / one.limit)} of its limit; it has spent ${amountText(one.spent, one)}${until(one.ends)}.`;

export const keyExpiry = (name: string, id: string, expiresAt: number, now: number): string =>
  `Key ${name} (${id}) expires in ${lengthOf(expiresAt - now)}, at ${day(expiresAt)}.`;

export const policyRefused = (refusal: PolicyRefusal | null): string => {
  const first = refusal?.first ?? refusal?.message ?? '';
  return `An edit of the policy was refused. The previous policy stays active. ${first}`.trim();
};

export const policyAgain = (ms: number): string => `The policy's files are active again, after ${lengthOf(ms)}.`;

export const policySplit = (instances: PolicySplit['instances'], ms: number): string => {
  const revisions = revisionsIn(instances).map(
    (one) => `${plural(one.instances, 'server')} ${one.instances === 1 ? 'runs' : 'run'} ${one.revision}`,
  );
  const refusing = instances.find(({ error }) => error !== null);
  const why = refusing ? ` Server ${refusing.name} refused another policy: ${refusing.error}` : '';
  return `The servers have run different policies for ${lengthOf(ms)}: ${revisions.join(', ')}.${why}`;
};

export const policyJoined = (ms: number): string =>
  `All servers use the same policy again. The alert was sent ${lengthOf(ms)} ago.`;

export const providerDown = (name: string, ms: number, shut: number, endpoints: number): string =>
  `All requests to provider ${name} have failed for ${lengthOf(ms)}.${shut === 0 ? '' : ` ${unavailable(shut, endpoints)}`}`;

function unavailable(shut: number, endpoints: number): string {
  if (endpoints === 1) return 'Its endpoint is unavailable.';
  const which = shut === endpoints ? `All of its ${endpoints} endpoints` : `${shut} of its ${endpoints} endpoints`;
  return `${which} ${shut === 1 ? 'is' : 'are'} unavailable.`;
}

export const providerUnpaid = (name: string): string =>
  `The account at provider ${name} has no credit left. Add credit there. Signalbox tries the provider again once a minute.`;

export const providerAgain = (name: string, ms: number): string =>
  `Provider ${name} answers again. The alert was sent ${lengthOf(ms)} ago.`;

export const guardFailing = (name: string, { error, since, requestId }: FailingGuard, now: number): string =>
  `Guard ${name} has failed at every request for ${lengthOf(now - since)}. The last error, of ${requestId}: ${error}`;

export const guardAgain = (name: string, ms: number): string =>
  `Guard ${name} works again. The alert was sent ${lengthOf(ms)} ago.`;

const accountOf = (key: string | null): string => (key === null ? 'its key' : `the key ${key}`);

export const keyRefused = (provider: string, key: string | null, refused: number, endpoints: number): string =>
  refused === endpoints
    ? `Provider ${provider} refuses ${accountOf(key)}. The key may be revoked: replace it.`
    : `Provider ${provider} refuses ${accountOf(key)} for ${refused} of its ${endpoints} endpoints. The key may have no access to these models.`;

export const keyAccepted = (provider: string, key: string | null, ms: number): string =>
  `Provider ${provider} accepts ${accountOf(key)} again. The alert was sent ${lengthOf(ms)} ago.`;

export function errorRate(
  {
    share,
    errors,
    requests,
    mostFrequent,
  }: Pick<AnswersReading, 'errors' | 'requests' | 'mostFrequent'> & { readonly share: number },
  above: number,
  windowMs: number,
): string {
  const provider = mostFrequent?.provider ? ` at provider ${mostFrequent.provider}` : '';
  const most = mostFrequent
    ? ` The most frequent error was ${mostFrequent.code}${provider} (${mostFrequent.errors} of ${errors}).`
    : '';
  return `${percent(share)} of the requests in the last ${lengthOf(windowMs)} ended with an error (${errors} of ${requests}), more than ${percent(above)}.${most}`;
}

export const errorsAgain = (share: number): string => `Only ${percent(share)} of the requests end with an error again.`;

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

export function slowAnswers(
  { slowMs, slowest }: Pick<AnswersReading, 'slowMs' | 'slowest'>,
  aboveMs: number,
  windowMs: number,
): string {
  const most = slowest
    ? ` The slowest model was ${slowest.model}, with ${slowest.answers} of the ${plural(slowest.of, 'slow answer')}.`
    : '';
  return `One of 10 answers in the last ${lengthOf(windowMs)} began after ${seconds(slowMs)} or later, more than ${seconds(aboveMs)}.${most}`;
}

export const quickAgain = (ms: number): string => `9 of 10 answers begin within ${seconds(ms)} again.`;

/** @param title the key or endpoint; absent for all requests together */
export const cachedShare = (share: number, below: number, windowMs: number, title?: string): string => {
  const [of, whose] = title === undefined ? ['of', 'your'] : [`of ${title} in`, 'its'];
  return `Providers had only ${percent(share)} of the input tokens ${of} the last ${lengthOf(windowMs)} in their caches, less than ${percent(below)}. The beginning of ${whose} prompts may have changed.`;
};

export const cachedAgain = (share: number, title?: string): string =>
  `Providers have ${percent(share)} of the input tokens${title === undefined ? '' : ` of ${title}`} in their caches again.`;
