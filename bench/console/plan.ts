import type { AttemptRecord } from '../../src/core/decision/attempt.ts';
import type { DecisionOutcome } from '../../src/core/decision/outcome.ts';
import type { DecisionRecord } from '../../src/core/decision/record.ts';
import { idAt } from '../../src/core/id.ts';
import { costOf } from '../../src/core/money/price.ts';
import type { Usage } from '../../src/core/money/usage.ts';
import type { Base, MadeKey, Template } from './base.ts';
import { type Random, spread, WeightedDraw } from './random.ts';
import {
  BASELINE,
  DAY_MS,
  DAYS,
  HOUR_MS,
  JUMP_FACTOR,
  JUMP_FOR_MS,
  JUMPING_KEY,
  MODELS,
  rhythmAt,
  SLOW_FACTOR,
  SLOW_FOR_MS,
  SLOW_PROVIDER,
} from './world.ts';

/** A planned request: the record of the request, and the money that the request cost. */
export interface PlannedRequest {
  readonly record: DecisionRecord;
  readonly outcome: DecisionOutcome;
  readonly key: MadeKey;
  readonly selector: string;
  /** The model that was paid for; null if nothing was paid. */
  readonly paid: string | null;
}

export const endOf = (now: number): number => now - 60_000;

/** Returns the number of requests in each hour, beginning `DAYS` ago. */
function hoursOf(
  decisions: number,
  now: number,
): readonly { readonly from: number; readonly to: number; readonly count: number }[] {
  const first = Math.floor((now - DAYS * DAY_MS) / HOUR_MS) * HOUR_MS + HOUR_MS;
  const hours: { from: number; to: number; weight: number }[] = [];
  for (let from = first; from < endOf(now); from += HOUR_MS) {
    const to = Math.min(from + HOUR_MS, endOf(now));
    hours.push({ from, to, weight: (rhythmAt(from) * (to - from)) / HOUR_MS });
  }
  const whole = hours.reduce((sum, { weight }) => sum + weight, 0);
  let [weight, given] = [0, 0];
  return hours.map((hour) => {
    weight += hour.weight;
    const count = Math.round((decisions * weight) / whole) - given;
    given += count;
    return { ...hour, count };
  });
}

/** The time from admission to the first attempt, in ms. */
const ADMISSION_MS = 3;
/** The number of hours per transaction. With ten million requests, more hours per transaction would take too much memory. */
const HOURS_AT_ONCE = 6;

/** The requests of 30 days in the order of time. The requests are the same for the same seed, except for IDs of keys. */
export class Plan {
  readonly #base: Base;
  readonly #random: Random;
  readonly #now: number;
  readonly #bySelector: ReadonlyMap<string, readonly Template[]>;
  readonly #before: WeightedDraw;
  readonly #since: WeightedDraw;
  /** The last ID that was used. */
  #last = 0;

  constructor(base: Base, now: number, random: Random) {
    this.#base = base;
    this.#now = now;
    this.#random = random;
    this.#bySelector = Map.groupBy(base.templates, ({ selector }) => selector);
    const weights = base.keys.map(({ weight }) => weight);
    this.#before = new WeightedDraw(weights);
    this.#since = new WeightedDraw(weights.map((weight, at) => (this.#jumps(at) ? weight * JUMP_FACTOR : weight)));
  }

  /** Yields stretches of time one after the other. All requests of a stretch must be read before the next stretch. */
  *stretches(decisions: number): Generator<Generator<PlannedRequest>> {
    const hours = hoursOf(decisions, this.#now);
    for (let at = 0; at < hours.length; at += HOURS_AT_ONCE) yield this.#stretch(hours.slice(at, at + HOURS_AT_ONCE));
  }

  *#stretch(hours: ReturnType<typeof hoursOf>) {
    for (const hour of hours) yield* this.#hour(hour);
  }

  *#hour({ from, to, count }: { readonly from: number; readonly to: number; readonly count: number }) {
    for (let at = 0; at < count; at++) {
      yield this.#request(Math.floor(from + ((to - from) * (at + this.#random())) / count));
    }
  }

  #jumps(at: number): boolean {
    return at === JUMPING_KEY % this.#base.keys.length;
  }

  #request(time: number): PlannedRequest {
    const random = this.#random;
    const isSince = time >= this.#now - JUMP_FOR_MS;
    const at = (isSince ? this.#since : this.#before).draw(random);
    const key = this.#base.keys[at]!;
    const pinShare = this.#jumps(at) && isSince ? 0.8 : key.pinShare;
    const template = this.#templateOf(random() < pinShare ? key.pin : key.selector);
    this.#last = Math.max(this.#last + 128, idAt(time));
    const { record, selector } = template;
    const { outcome, paid } = this.#outcomeOf(record, time);
    const session =
      key.use === 'agents' ? `run-${Math.floor(time / DAY_MS) % 1_000}-${Math.floor(random() * 3)}` : null;
    const labels = { use: key.use };
    const planned = {
      ...record,
      id: this.#last,
      time,
      keyId: key.id,
      team: key.teamId,
      user: key.userId,
      session,
      labels,
      outcome,
    };
    return { record: planned, outcome, key, selector, paid };
  }

  #templateOf(selector: string): Template {
    const all = this.#bySelector.get(selector);
    const template = all?.[Math.floor(this.#random() * all.length)];
    if (!template) throw new Error(`no decision for ${selector}`);
    return template;
  }

  #outcomeOf(
    record: DecisionRecord,
    time: number,
  ): { readonly outcome: DecisionOutcome; readonly paid: string | null } {
    const draw = this.#random();
    const [next] = record.fallbacks;
    const is = {
      failed: draw < 0.006,
      abandoned: draw >= 0.006 && draw < 0.009,
      fallsBack: draw >= 0.009 && draw < 0.018,
    };
    const failed =
      is.failed || (is.fallsBack && next !== undefined)
        ? [this.#attempt(record.choice, time, ADMISSION_MS, 0, 'overloaded')]
        : [];
    const earlier = failed.reduce((sum, { ms }) => sum + ms, ADMISSION_MS);
    const before = record.outcome!;
    if (is.failed) {
      const none = { usage: null, charged: 0, saved: 0, firstPartMs: null, totalMs: earlier };
      return {
        outcome: { ...before, status: 'failed', error: 'upstream_failed', attempts: failed, ...none },
        paid: null,
      };
    }
    const paid = is.fallsBack && next !== undefined ? next : record.choice;
    const usage = this.#usageOf(before.usage!, is.abandoned);
    const attempt = this.#attempt(paid, time, earlier, usage.outputTokens, null);
    const charged = costOf(this.#base.tariffs.get(paid)!.price, usage);
    const outcome: DecisionOutcome = {
      ...before,
      status: is.abandoned ? 'abandoned' : 'completed',
      attempts: [...failed, attempt],
      usage,
      charged,
      saved: record.facts.named !== null ? 0 : costOf(this.#baseline, usage) - charged,
      firstPartMs: earlier + attempt.firstPartMs!,
      totalMs: earlier + attempt.ms,
    };
    return { outcome, paid };
  }

  get #baseline() {
    return this.#base.tariffs.get(BASELINE)!.price;
  }

  #usageOf(usage: Usage, isCut: boolean): Usage {
    const outputTokens = Math.max(1, Math.min(880, Math.round(260 * spread(this.#random) * (isCut ? 0.3 : 1))));
    return { ...usage, outputTokens, reasoningTokens: 0 };
  }

  #attempt(
    model: string,
    time: number,
    startMs: number,
    output: number,
    failure: AttemptRecord['failure'],
  ): AttemptRecord {
    const { provider, ttftMs, tokensPerSecond } = MODELS[model]!;
    const slow = provider === SLOW_PROVIDER && time >= this.#now - SLOW_FOR_MS ? SLOW_FACTOR : 1;
    const first = Math.round(ttftMs * slow * spread(this.#random));
    const ms = failure === null ? first + Math.round((output * 1_000 * slow) / tokensPerSecond) : Math.round(first / 2);
    const { upstream } = this.#base.tariffs.get(model)!;
    const finishReasons = failure === null ? ['stop'] : [];
    return {
      model,
      provider,
      upstream,
      startMs,
      ms,
      firstPartMs: failure === null ? first : null,
      failure,
      endpoint: 0,
      requestId: null,
      finishReasons,
    };
  }
}
