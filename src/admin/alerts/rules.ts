import { toCredits } from '../../core/money/credits.ts';
import { usdWriter } from '../../core/money/usd.ts';
import type { AlertSubject } from '../../core/people/alert.ts';
import type { AlertRule } from '../../core/policy/alerts.ts';
import { DAY_MS, iso } from '../../core/time/clock.ts';
import type { AlertMark, AlertMarkChange } from '../../store/alerts.ts';
import type { InstanceName } from '../../store/instance.ts';
import { revisionsIn } from '../../store/instance-reports.ts';
import * as lines from './lines.ts';
import type { AlertReadings, BudgetWindowReading, CachedShare, SubjectShare } from './readings.ts';

/** A problem that begins again within this time after its end is a flap, and is reported only if it lasts until then, ms. */
export const FLAP_MS = 120_000;
/** After a message about budgets or keys, a rule waits this long and then sends all new findings together, ms. */
export const GATHER_MS = 300_000;
/** The most subjects in one message. The next message has the remaining subjects. */
const FINDINGS_MAX = 2_000;
/** With fewer input tokens in a window, the share of cached tokens is not meaningful. */
export const CACHED_INPUT_MIN = 100_000;
/** With fewer requests of a key or an endpoint in a window, a single long prompt could decide its share. */
export const CACHED_PROMPTS_MIN = 20;
/** The share of cached tokens counts as recovered only at this multiple of the rule's limit. The margin prevents repeated alerts. */
const CACHED_AGAIN = 1.1;
/** A figure with an upper limit counts as recovered only at this multiple of the rule's limit. */
const WELL_AGAIN = 0.8;
/** With fewer requests or answers in a window, a single failure or slow answer could decide. */
const ANSWERS_MIN = 20;
/** Stored as the end of a window that never ends: the last moment with a year of four digits. */
const FOREVER = Date.UTC(9999, 11, 31);

/** A subject of an alert, and the mark that records that the subject was reported. */
export interface AlertFinding {
  readonly change: AlertMarkChange;
  readonly line: string;
  readonly subject: AlertSubject;
}

/** A message that is due. */
export interface DueAlert {
  readonly rule: AlertRule;
  readonly type: 'alert' | 'recovery';
  /** The findings of the alert, at least one, with the most urgent finding first. */
  readonly findings: readonly AlertFinding[];
}

export interface AlertJudgement {
  readonly alerts: readonly DueAlert[];
  /** Open marks whose rule or subject no longer exists. The marks of deleted rules or subjects are closed without a message. */
  readonly stale: readonly AlertMarkChange[];
}

export interface AlertMemory {
  /** Marks of what was already reported, by ID. */
  readonly marks: ReadonlyMap<string, AlertMark>;
  /** Whether this instance may close an open mark: it may close its own marks and the marks of instances that have ended. */
  mayClose(mark: AlertMark): boolean;
  /** The instance that checks the rules. */
  readonly owner: InstanceName;
  /** ms since 1970 */
  readonly now: number;
}

/**
 * Returns the alerts that are due. This function is pure. A rule reports a budget once for each threshold and window, and a key once for
 * each of its configured days before expiry. A rule reports a lasting problem when the problem begins and when it ends. A problem that
 * begins again within `FLAP_MS` is reported only if it lasts until then.
 */
export function dueAlerts(rules: readonly AlertRule[], readings: AlertReadings, memory: AlertMemory): AlertJudgement {
  const judges = rules.map((rule) => new RuleJudge(rule, memory));
  const alerts = judges.flatMap((judge) => judge.judge(readings));
  const lasting = new Set(judges.flatMap(({ lasting }) => [...lasting]));
  const stale = [...memory.marks.values()]
    .filter((mark) => mark.state === 'open' && !lasting.has(mark.id) && memory.mayClose(mark))
    .map((mark): AlertMarkChange => ({ seen: mark, mark: { ...mark, state: 'closed', until: memory.now + FLAP_MS } }));
  return { alerts, stale };
}

/** The state of a lasting problem; null if unknown. */
interface LastingState {
  readonly isDown: boolean | null;
  /** The sentences for the beginning and the end of the problem. `ms` is how long the problem lasted. */
  readonly down: string;
  readonly up: (ms: number) => string;
  readonly details: AlertSubject;
}

type ErrorRule = Extract<AlertRule, { readonly on: 'error_rate' }>;
type SlowRule = Extract<AlertRule, { readonly on: 'slow_answers' }>;
type CachedRule = Extract<AlertRule, { readonly on: 'cached_share' }>;

/** Checks one rule. */
class RuleJudge {
  /** IDs of the marks of all problems that the rule can currently report as lasting. */
  readonly lasting = new Set<string>();
  readonly #rule: AlertRule;
  readonly #memory: AlertMemory;
  readonly #found: AlertFinding[] = [];
  readonly #over: AlertFinding[] = [];

  constructor(rule: AlertRule, memory: AlertMemory) {
    this.#rule = rule;
    this.#memory = memory;
  }

  judge(readings: AlertReadings): DueAlert[] {
    const rule = this.#rule;
    if (rule.on === 'budget_share' || rule.on === 'budget_forecast' || rule.on === 'key_expiry') {
      if (this.#isGathering()) return [];
      if (rule.on === 'key_expiry') this.#keys(rule.days, readings);
      else this.#budgets(rule.on === 'budget_share' ? rule.at : null, rule.budgets, readings);
    } else if (rule.on === 'policy_refused') this.#policy(readings);
    else if (rule.on === 'policy_split') this.#split(rule.afterMs, readings);
    else if (rule.on === 'provider_down') this.#providers(rule.afterMs, readings);
    else if (rule.on === 'guard_failing') this.#guards(rule.afterMs, readings);
    else if (rule.on === 'key_refused') this.#refusedKeys(readings);
    else if (rule.on === 'error_rate') this.#errors(rule, readings);
    else if (rule.on === 'slow_answers') this.#slow(rule, readings);
    else this.#cached(rule, readings);
    const alerts: DueAlert[] = [
      { rule, type: 'alert', findings: this.#found.slice(0, FINDINGS_MAX) },
      { rule, type: 'recovery', findings: this.#over },
    ];
    return alerts.filter(({ findings }) => findings.length > 0);
  }

  /** @param at the thresholds as shares of the limit; null to compare the forecast with the limit */
  #budgets(at: readonly number[] | null, names: readonly string[], { budgets }: AlertReadings): void {
    const named = budgets().filter(({ name, limit }) => limit > 0 && (names.length === 0 || names.includes(name)));
    for (const one of named.sort((a, b) => b.spent / b.limit - a.spent / a.limit)) {
      const details = budgetDetails(one);
      const until = Math.min(one.ends + DAY_MS, FOREVER);
      const idOf = (step: number | 'forecast') => this.#id(one.name, one.subject, one.starts, step);
      if (at) {
        // A budget that refuses requests counts as used up, although an amount that is too small for a request is left.
        const step = at.findLast((share) => one.spent >= share * one.limit || (share === 1 && one.refused !== null));
        if (step === undefined) continue;
        // A rule does not report a lower threshold after a higher threshold, even if the limit was raised in between.
        if (at.some((share) => share >= step && this.#memory.marks.has(idOf(share)))) continue;
        this.#note(idOf(step), until, lines.budgetShare(one), { ...details, at: step });
      } else if (one.forecast !== null && one.forecast > one.limit && one.spent < one.limit && one.refused === null) {
        this.#note(idOf('forecast'), until, lines.budgetForecast(one, one.forecast), {
          ...details,
          forecast_credits: toCredits(one.forecast),
          forecast_usd: usdWriter(one.usdPerCredit)(one.forecast),
        });
      }
    }
  }

  #keys(days: readonly number[], { keys }: AlertReadings): void {
    const { now, marks } = this.#memory;
    for (const { id, name, createdAt, expiresAt } of [...keys()].sort((a, b) => a.expiresAt - b.expiresAt)) {
      if (expiresAt <= now) continue;
      // A key that was created to live for only an hour needs no warning that it expires soon.
      const steps = days.filter((one) => one * DAY_MS < expiresAt - createdAt);
      const step = steps.findLast((one) => expiresAt - now <= one * DAY_MS);
      if (step === undefined) continue;
      const idOf = (one: number) => this.#id(id, expiresAt, one);
      if (steps.some((one) => one <= step && marks.has(idOf(one)))) continue;
      const details = { key_id: id, name, expires_at: iso(expiresAt), days: step };
      this.#note(idOf(step), expiresAt + DAY_MS, lines.keyExpiry(name, id, expiresAt, now), details);
    }
  }

  #policy({ refusal }: AlertReadings): void {
    this.#noteLasting(this.#id('policy'), {
      isDown: refusal !== null,
      down: lines.policyRefused(refusal),
      up: lines.policyAgain,
      details: refusal
        ? { message: refusal.message, first: refusal.first, time: iso(refusal.time) }
        : { message: null, first: null, time: null },
    });
  }

  #split(afterMs: number, { split }: AlertReadings): void {
    const { now } = this.#memory;
    this.#noteLasting(this.#id('split'), {
      isDown: split !== null && now - split.since >= afterMs,
      down: lines.policySplit(split?.instances ?? [], now - (split?.since ?? now)),
      up: lines.policyJoined,
      details: { policies: revisionsIn(split?.instances ?? []).length, instances: split?.instances.length ?? 0 },
    });
  }

  #providers(afterMs: number, { providers }: AlertReadings): void {
    const { now } = this.#memory;
    for (const { name, isUp, isUnpaid, downSince, shut, endpoints } of providers) {
      // An account without credit does not recover by waiting, so it is reported at once.
      const isDown = downSince !== null && (isUnpaid || now - downSince >= afterMs);
      this.#noteLasting(this.#id(name), {
        isDown: isDown || (isUp ? false : null),
        down: isUnpaid
          ? lines.providerUnpaid(name)
          : lines.providerDown(name, now - (downSince ?? now), shut, endpoints),
        up: (ms) => lines.providerAgain(name, ms),
        details: { provider: name, endpoints_shut: shut, endpoints },
      });
    }
  }

  #guards(afterMs: number, { guards }: AlertReadings): void {
    const { now } = this.#memory;
    for (const { name, failing } of guards) {
      const isDown = failing !== null && now - failing.since >= afterMs;
      this.#noteLasting(this.#id('guard', name), {
        isDown: isDown || (failing === null ? false : null),
        down: failing ? lines.guardFailing(name, failing, now) : '',
        up: (ms) => lines.guardAgain(name, ms),
        details: { guard: name, error: failing?.error ?? null, request_id: failing?.requestId ?? null },
      });
    }
  }

  #refusedKeys({ providerKeys }: AlertReadings): void {
    for (const { provider, key, state, refused, endpoints } of providerKeys) {
      this.#noteLasting(this.#id('key', provider, key ?? ''), {
        isDown: state === 'unknown' ? null : state === 'refused',
        down: lines.keyRefused(provider, key, refused, endpoints),
        up: (ms) => lines.keyAccepted(provider, key, ms),
        details: { provider, account: key, endpoints_refused: refused, endpoints },
      });
    }
  }

  #errors({ above, windowMs }: ErrorRule, readings: AlertReadings): void {
    const { requests, errors, mostFrequent } = readings.answersWithin(windowMs);
    const share = requests === 0 ? 0 : errors / requests;
    const { code: error = null, provider = null } = mostFrequent ?? {};
    this.#noteLasting(this.#id('errors'), {
      isDown: overLimit(share, above, requests >= ANSWERS_MIN),
      down: lines.errorRate({ share, errors, requests, mostFrequent }, above, windowMs),
      up: () => lines.errorsAgain(share),
      details: { share, above, requests, errors, error, provider },
    });
  }

  #slow({ aboveMs, windowMs }: SlowRule, readings: AlertReadings): void {
    const { answers, slowMs, slowest } = readings.answersWithin(windowMs);
    this.#noteLasting(this.#id('slow'), {
      isDown: overLimit(slowMs, aboveMs, answers >= ANSWERS_MIN),
      down: lines.slowAnswers({ slowMs, slowest }, aboveMs, windowMs),
      up: () => lines.quickAgain(slowMs),
      details: {
        p90_seconds: slowMs / 1_000,
        above_seconds: aboveMs / 1_000,
        answers,
        model: slowest?.model ?? null,
      },
    });
  }

  #cached({ below, windowMs, each }: CachedRule, readings: AlertReadings): void {
    if (each === null) {
      this.#cachedShare(this.#id('cached'), readings.tokensWithin(windowMs), below, windowMs);
      return;
    }
    for (const one of readings.sharesWithin(each, windowMs)) {
      this.#cachedShare(this.#id('cached', each, one.id), one, below, windowMs, one);
    }
  }

  /** @param subject the key or endpoint; absent for all requests together */
  #cachedShare(
    id: string,
    { input, cached, prompts }: CachedShare,
    below: number,
    windowMs: number,
    subject?: SubjectShare,
  ): void {
    const share = input === 0 ? 0 : cached / input;
    const isKnown = input >= CACHED_INPUT_MIN && (!subject || prompts >= CACHED_PROMPTS_MIN);
    const isWell = share >= Math.min(1, below * CACHED_AGAIN);
    this.#noteLasting(id, {
      isDown: isKnown ? share < below || (isWell ? false : null) : null,
      down: lines.cachedShare(share, below, windowMs, subject?.title),
      up: () => lines.cachedAgain(share, subject?.title),
      details: { ...subject?.details, share, below, input_tokens: input, cached_tokens: cached },
    });
  }

  #id(...parts: readonly (string | number)[]): string {
    return JSON.stringify([this.#rule.name, this.#rule.on, ...parts]);
  }

  /** Whether the rule sent its last message recently. After a recent message, more findings of the same kind are likely to follow. */
  #isGathering(): boolean {
    const { marks, now } = this.#memory;
    const start = this.#id().slice(0, -1);
    return marks.values().some(({ id, since }) => now - since < GATHER_MS && id.startsWith(start));
  }

  /** Notes a finding that is reported once. */
  #note(id: string, until: number, line: string, subject: AlertSubject): void {
    const { marks, now, owner } = this.#memory;
    if (marks.has(id)) return;
    this.#found.push({ change: { seen: null, mark: { id, state: 'noted', since: now, until, owner } }, line, subject });
  }

  /** Notes a problem that is reported when it begins and when it ends. */
  #noteLasting(id: string, { isDown, down, up, details }: LastingState): void {
    this.lasting.add(id);
    const { marks, now, owner, mayClose } = this.#memory;
    const seen = marks.get(id) ?? null;
    // The mark of a problem that is over has the end of its flap as `until`.
    if (isDown && seen?.state !== 'open' && (!seen || now >= seen.until)) {
      const mark: AlertMark = { id, state: 'open', since: now, until: now, owner };
      this.#found.push({ change: { seen, mark }, line: down, subject: details });
    }
    if (isDown === false && seen?.state === 'open' && mayClose(seen)) {
      const mark: AlertMark = { ...seen, state: 'closed', until: now + FLAP_MS, owner };
      this.#over.push({ change: { seen, mark }, line: up(now - seen.since), subject: details });
    }
  }
}

/** Whether a figure is above its limit; null if that is unknown, and between the limit and a recovery. */
function overLimit(figure: number, above: number, isKnown: boolean): boolean | null {
  if (!isKnown) return null;
  return figure > above || (figure <= above * WELL_AGAIN ? false : null);
}

const budgetDetails = ({
  name,
  subject,
  called,
  limit,
  spent,
  starts,
  ends,
  usdPerCredit,
}: BudgetWindowReading): AlertSubject => ({
  budget: name,
  subject,
  subject_name: called,
  spent_credits: toCredits(spent),
  spent_usd: usdWriter(usdPerCredit)(spent),
  limit_credits: toCredits(limit),
  limit_usd: usdWriter(usdPerCredit)(limit),
  window_starts: starts === 0 ? null : iso(starts),
  window_ends: Number.isFinite(ends) ? iso(ends) : null,
});
