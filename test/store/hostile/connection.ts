import { StoreError } from '../../../src/store/store.ts';
import { sleep, type WorldClock } from './clock.ts';
import type { Faults } from './faults.ts';

/** What a connection needs from its world. */
export interface Weather {
  readonly clock: WorldClock;
  faults: Faults;
  /** Returns a number in [0, 1) that follows from the seed. */
  random(): number;
}

/** Pause between two attempts to write what waits, ms. */
const RETRY_MS = 100;

interface Job {
  readonly delay: number;
  readonly isPatient: boolean;
  readonly run: () => void;
}

const never = <R>(): Promise<R> => new Promise(() => {});

/**
 * The connection between one instance and its store. Commits and appends run one after the other in the order of the calls; reads may
 * overtake them. Without delays, a call reaches the store in the same turn, as in a store in memory.
 */
export class Connection {
  /** Returns whether the store refuses this instance's commits because its lease has ended. */
  fence: () => boolean = () => false;
  readonly #weather: Weather;
  readonly #jobs: Job[] = [];
  #isMoving = false;
  #isCrashed = false;
  #awayUntil = Number.NEGATIVE_INFINITY;
  #pausedUntil = Number.NEGATIVE_INFINITY;

  constructor(weather: Weather) {
    this.#weather = weather;
  }

  get isCrashed(): boolean {
    return this.#isCrashed;
  }

  get isAway(): boolean {
    return this.#awayUntil > this.#weather.clock.now();
  }

  get isPaused(): boolean {
    return this.pausedFor > 0;
  }

  /** How much longer the process is paused, ms. */
  get pausedFor(): number {
    return Math.max(0, this.#pausedUntil - this.#weather.clock.now());
  }

  /** How long the process has been running with a reachable store, ms; negative while it is paused or the store is away. */
  get clearFor(): number {
    return this.#weather.clock.now() - Math.max(this.#awayUntil, this.#pausedUntil);
  }

  /** Ends the instance: none of its calls returns any more, and appends that have not reached the store are lost. */
  crash(): void {
    this.#isCrashed = true;
    this.#jobs.length = 0;
  }

  /** Makes the store unreachable for `ms`. Calls are refused and appends wait. */
  loseStore(ms: number): void {
    this.#awayUntil = this.#weather.clock.now() + ms;
  }

  /** Pauses the process for `ms`: the store still carries out what it received, but no answer arrives. */
  pause(ms: number): void {
    this.#pausedUntil = this.#weather.clock.now() + ms;
  }

  /** Runs a commit when its turn comes, then returns its answer. */
  call<R>(deed: () => Promise<R>): Promise<R> {
    const { faults, random } = this.#weather;
    const isRefused = random() < faults.refused;
    const isLost = random() < faults.lostAnswer;
    return new Promise((resolve, reject) => {
      this.#push({
        delay: this.#delay(faults.slowBefore),
        isPatient: false,
        run: () => {
          const done =
            isRefused || this.isAway ? Promise.reject(away()) : this.fence() ? Promise.reject(fenced()) : deed();
          this.#answer(done, isLost).then(resolve, reject);
        },
      });
    });
  }

  /** Runs work that its caller does not wait for: in its turn, once the store is reachable. */
  send(deed: () => void): void {
    this.#push({ delay: this.#delay(this.#weather.faults.slowBefore), isPatient: true, run: deed });
  }

  /** Runs work that cannot be refused, and returns its answer: in its turn, and retried until the store is reachable. */
  ask<R>(deed: () => Promise<R>): Promise<R> {
    if (this.#isCrashed) return never();
    return new Promise((resolve, reject) => {
      const run = () => void this.#answer(deed(), false).then(resolve, reject);
      this.#push({ delay: this.#delay(this.#weather.faults.slowBefore), isPatient: true, run });
    });
  }

  /** Returns the answer of a read. The answer may be refused, slow or outdated when it arrives. */
  read<R>(answer: Promise<R>): Promise<R> {
    if (!this.isAway) return this.#answer(answer, false);
    answer.catch(() => {});
    return Promise.reject(away());
  }

  /** Resolves with true once everything sent so far is done; with false while the store is away. */
  sent(): Promise<boolean> {
    if (this.#isCrashed) return never();
    if (this.isAway || this.fence()) return Promise.resolve(false);
    return new Promise((resolve) => {
      this.#push({ delay: 0, isPatient: true, run: () => this.#answer(Promise.resolve(true), false).then(resolve) });
    });
  }

  async #answer<R>(done: Promise<R>, isLost: boolean): Promise<R> {
    const delay = this.#delay(this.#weather.faults.slowAfter);
    try {
      const result = await done;
      await this.#back(delay);
      if (isLost) throw lost();
      return result;
    } catch (error) {
      await this.#back(delay);
      throw error;
    }
  }

  /** Resolves once the process continues; never if it has crashed. */
  async awake(): Promise<void> {
    const { clock } = this.#weather;
    while (this.isPaused) await sleep(clock, this.pausedFor);
    if (this.#isCrashed) await never();
  }

  async #back(delay: number): Promise<void> {
    const { clock } = this.#weather;
    if (delay > 0) await sleep(clock, delay);
    await this.awake();
  }

  #delay(chance: number): number {
    const { faults, random } = this.#weather;
    return random() < chance ? Math.ceil(random() * faults.delayMs) : 0;
  }

  #push(job: Job): void {
    if (this.#isCrashed) return;
    this.#jobs.push(job);
    if (!this.#isMoving) void this.#move();
  }

  async #move(): Promise<void> {
    const { clock } = this.#weather;
    this.#isMoving = true;
    try {
      for (let job = this.#jobs[0]; job; job = this.#jobs[0]) {
        if (job.delay > 0) await sleep(clock, job.delay);
        // If the instance's epoch has ended, the work runs under its next epoch.
        while (job.isPatient && (this.isAway || this.fence()) && !this.#isCrashed) await sleep(clock, RETRY_MS);
        if (this.#isCrashed) return;
        this.#jobs.shift();
        job.run();
      }
    } finally {
      this.#isMoving = false;
    }
  }
}

const away = () => new StoreError('the store cannot be reached');
const fenced = () => new StoreError('the lease of this instance is over', { reason: 'fenced' });
/** The work is done, but its caller cannot know it. */
const lost = () => new StoreError('the connection broke before the store had answered', { reason: 'unknown' });
