import { StoreError } from '../../../src/store/store.ts';
import { sleep, type WorldClock } from './clock.ts';
import type { Faults } from './faults.ts';

/** What a connection needs of its world. */
export interface Weather {
  readonly clock: WorldClock;
  faults: Faults;
  /** A number in [0, 1), by the seed. */
  random(): number;
}

/** Between two tries to write what waits, ms. */
const RETRY_MS = 100;

interface Job {
  readonly delay: number;
  readonly isPatient: boolean;
  readonly run: () => void;
}

const never = <R>(): Promise<R> => new Promise(() => {});

/**
 * The way between one instance and its store. Commits and appends go one behind the other, as they were given; reads overtake them.
 * Without delays a call reaches the store in the turn in which it is made, as in a store in memory.
 */
export class Connection {
  /** Whether the store refuses commits of this instance, because its lease is over. */
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

  /** How long the process still stands still, ms. */
  get pausedFor(): number {
    return Math.max(0, this.#pausedUntil - this.#weather.clock.now());
  }

  /** How long the process has run and the store was there, ms; negative while it is not so. */
  get clearFor(): number {
    return this.#weather.clock.now() - Math.max(this.#awayUntil, this.#pausedUntil);
  }

  /** Ends the instance: no call of it returns any more, and appends that have not reached the store are lost. */
  crash(): void {
    this.#isCrashed = true;
    this.#jobs.length = 0;
  }

  /** The store cannot be reached for so long. Calls are refused, appends wait. */
  loseStore(ms: number): void {
    this.#awayUntil = this.#weather.clock.now() + ms;
  }

  /** The process stands still for so long: the store goes on with what it was given, and no answer arrives. */
  pause(ms: number): void {
    this.#pausedUntil = this.#weather.clock.now() + ms;
  }

  /** A commit: in its turn, then its answer. */
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

  /** What its maker does not wait for. It is done in its turn, once the store is there. */
  send(deed: () => void): void {
    this.#push({ delay: this.#delay(this.#weather.faults.slowBefore), isPatient: true, run: deed });
  }

  /** What cannot be refused, however often its store must be asked: it is done in its turn, once the store is there, and answered. */
  ask<R>(deed: () => Promise<R>): Promise<R> {
    if (this.#isCrashed) return never();
    return new Promise((resolve, reject) => {
      const run = () => void this.#answer(deed(), false).then(resolve, reject);
      this.#push({ delay: this.#delay(this.#weather.faults.slowBefore), isPatient: true, run });
    });
  }

  /** A read that the store has answered: its answer may be refused, slow, or out of date when it arrives. */
  read<R>(answer: Promise<R>): Promise<R> {
    if (!this.isAway) return this.#answer(answer, false);
    answer.catch(() => {});
    return Promise.reject(away());
  }

  /** Resolves with true once all that was sent is done; with false while the store is away. */
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

  /** Resolves once the process goes on; never, where it has crashed. */
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
        // Under the next epoch of this instance, where its own is over.
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
/** The deed is done, and its caller cannot know. */
const lost = () => new StoreError('the connection broke before the store had answered', { reason: 'unknown' });
