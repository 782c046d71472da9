import { PROBE_MS } from '../../../src/providers/health/lockout.ts';

/** Mistakes that a breaker could make. */
export type Bug =
  | 'many probes'
  | 'no cap'
  | 'no growth'
  | 'never forgets its ejections'
  | 'a quiet minute is not enough'
  | 'forgets its ejections at the first answer'
  | 'stale faults count'
  | 'forced faults open it again'
  | 'a first part counts as a complete answer'
  | 'a dropped probe keeps blocking others'
  | 'a lost probe keeps blocking others'
  | 'the window never slides'
  | 'no window'
  | 'proven by a first part'
  | 'a forced answer does not close it'
  | 'faults in a row are counted across answers';

type Entry =
  | { readonly what: 'open'; readonly at: number; readonly until: number }
  | { readonly what: 'close' | 'ok' | 'fault'; readonly at: number };

export interface NaiveAttempt {
  readonly began: number;
  /** How often the breaker had opened. */
  readonly openings: number;
  closings: number;
  readonly isProbe: boolean;
  hasAnswered: boolean;
  hasEnded: boolean;
  wasDropped: boolean;
}

/** A simple implementation of the breaker's rules, computed from the list of all events, without counters. */
export class NaiveBreaker {
  readonly #log: Entry[] = [];
  readonly #attempts: NaiveAttempt[] = [];
  readonly #bug: Bug | null;

  constructor(bug: Bug | null = null) {
    this.#bug = bug;
  }

  begin(force: boolean, now: number): NaiveAttempt | 'shut' {
    const isProbe = this.#isOpen() && !this.isShut(now);
    if (this.isShut(now) && !force) return 'shut';
    const openings = this.#openings();
    const attempt = {
      began: now,
      openings,
      closings: this.#closings(),
      isProbe,
      hasAnswered: false,
      hasEnded: false,
      wasDropped: false,
    };
    this.#attempts.push(attempt);
    return attempt;
  }

  isShut(now: number): boolean {
    return this.#isOpen() && (now < this.#lastOpening().until || this.#isProbing(now));
  }

  answered(attempt: NaiveAttempt, now: number): void {
    if (attempt.hasEnded || attempt.hasAnswered) return;
    attempt.hasAnswered = true;
    this.#closedBy(attempt, now);
    if (this.#bug === 'a first part counts as a complete answer') this.#log.push({ what: 'ok', at: now });
  }

  completed(attempt: NaiveAttempt, now: number): void {
    if (attempt.hasEnded) return;
    if (!attempt.hasAnswered) this.#closedBy(attempt, now);
    attempt.hasEnded = true;
    const isLate = attempt.openings !== this.#openings() || attempt.closings !== this.#closings();
    if (!this.#isOpen() && !isLate) this.#log.push({ what: 'ok', at: now });
  }

  failed(attempt: NaiveAttempt, now: number): void {
    if (attempt.hasEnded) return;
    const wasProbe = this.#probe() === attempt;
    attempt.hasEnded = true;
    if (this.#isOpen()) {
      const counts = this.#bug === 'forced faults open it again' && attempt.openings === this.#openings();
      if (wasProbe || counts) this.#open(now);
      return;
    }
    const isLate = attempt.openings !== this.#openings() || attempt.closings !== this.#closings();
    if (isLate && this.#bug !== 'stale faults count') return;
    this.#log.push({ what: 'fault', at: now });
    if (this.#isTooMuch(now)) this.#open(now);
  }

  dropped(attempt: NaiveAttempt): void {
    if (attempt.hasEnded) return;
    attempt.hasEnded = true;
    attempt.wasDropped = true;
  }

  #closedBy(attempt: NaiveAttempt, now: number): void {
    if (!this.#isOpen() || attempt.openings !== this.#openings()) return;
    if (this.#bug === 'a forced answer does not close it' && !attempt.isProbe) return;
    this.#log.push({ what: 'close', at: now });
    attempt.closings = this.#closings();
  }

  #open(at: number): void {
    const level = this.#level();
    const seconds = this.#bug === 'no growth' ? 1 : 2 ** level;
    const ms = 1_000 * (this.#bug === 'no cap' ? seconds : Math.min(30, seconds));
    this.#log.push({ what: 'open', at, until: at + ms });
  }

  #closings(): number {
    return this.#log.filter(({ what }) => what === 'close').length;
  }

  #openings(): number {
    return this.#log.filter(({ what }) => what === 'open').length;
  }

  #isOpen(): boolean {
    return this.#log.findLast(({ what }) => what === 'open' || what === 'close')?.what === 'open';
  }

  #lastOpening() {
    return this.#log.findLast((entry) => entry.what === 'open')!;
  }

  #isProbing(now: number): boolean {
    const probe = this.#bug === 'many probes' ? undefined : this.#probe();
    return probe !== undefined && (now < probe.began + PROBE_MS || this.#bug === 'a lost probe keeps blocking others');
  }

  /** Returns the attempt whose result counts: the last probe of this ejection. */
  #probe(): NaiveAttempt | undefined {
    const openings = this.#openings();
    const last = this.#attempts.findLast((one) => one.isProbe && one.openings === openings);
    const isOver = last?.hasEnded && !(last.wasDropped && this.#bug === 'a dropped probe keeps blocking others');
    return isOver ? undefined : last;
  }

  /** Returns the number of ejections since the endpoint last recovered. */
  #level(): number {
    if (this.#bug === 'never forgets its ejections') return this.#openings();
    const enough = this.#bug === 'forgets its ejections at the first answer' ? 1 : 10;
    let level = 0;
    let run = 0;
    let quietSince = 0;
    for (const { what, at } of this.#log) {
      run = what === 'ok' ? run + 1 : 0;
      const wasQuiet = what === 'fault' && at - quietSince >= 60_000;
      if (run >= enough || (wasQuiet && this.#bug !== 'a quiet minute is not enough')) level = 0;
      if (what === 'open') level++;
      if (what === 'close' || what === 'fault') quietSince = at;
    }
    return level;
  }

  #isTooMuch(now: number): boolean {
    const closing = this.#log.findLastIndex(({ what }) => what === 'close');
    const since = this.#log.slice(closing + 1);
    const oks = since.filter(({ what }) => what === 'ok').length;
    if (closing >= 0 && oks === 0 && this.#bug !== 'proven by a first part') return true;
    const row =
      this.#bug === 'faults in a row are counted across answers'
        ? since
        : since.slice(since.findLastIndex(({ what }) => what === 'ok') + 1);
    if (row.filter(({ what }) => what === 'fault').length >= 5) return true;
    if (this.#bug === 'no window') return false;
    const second = (at: number) => Math.floor(at / 1_000);
    const window = since.filter(({ at }) => this.#bug === 'the window never slides' || second(at) > second(now) - 10);
    const faults = window.filter(({ what }) => what === 'fault').length;
    return window.length >= 20 && 2 * faults >= window.length;
  }
}
