import { pause, type Timers, within } from '../../core/timers.ts';
import { UsageError } from '../../core/usage-error.ts';
import type { Log } from '../../telemetry/log.ts';
import { Member, type StartProcess } from './member.ts';
import type { ProcessPage } from './metrics-page.ts';

/** A process that served for so long has started well: the next one is started at once. */
const STEADY_MS = 60_000;
/** The pause before another start, ms; it doubles. The first one has none. */
const PAUSE_MIN_MS = 1_000;
const PAUSE_MAX_MS = 30_000;
/** A process that is asked for metrics and stands still is left out, ms. */
const METRICS_MS = 2_000;
/** Beyond its drain, for all else that a process does at its end, ms. */
const END_MS = 30_000;
/** A process that ends at once gives its place at the database back before, ms. */
const RELEASE_MS = 1_000;

interface FleetParts {
  readonly count: number;
  readonly drainMs: number;
  readonly start: StartProcess;
  /** Numbers whose folders have settlements, which a process of that number books. */
  readonly waiting: () => Promise<readonly number[]>;
  /** Whether a process of another parent still has the folder of a number. */
  readonly isTaken: (number: number) => boolean;
  /** Milliseconds on a clock that never goes back. */
  readonly clock: () => number;
  readonly timers: Timers;
  readonly log: Log;
}

/** The processes that serve at one port: it keeps their number, and replaces them. State: processes. */
export class Fleet {
  readonly #parts: FleetParts;
  readonly #members = new Map<number, Member>();
  /** As it was found last. */
  #waiting: readonly number[] = [];
  #isStopping = false;
  #isRestarting = false;

  constructor(parts: FleetParts) {
    this.#parts = parts;
  }

  /**
   * Resolves with true once all serve, with false where it is stopped before. The first one starts alone: it makes the tables and
   * the first key. Throws UsageError.
   */
  async start(): Promise<boolean> {
    this.#waiting = await this.#parts.waiting();
    await this.#startOne();
    await Promise.all(Array.from({ length: this.#parts.count - 1 }, () => this.#startOne()));
    return !this.#isStopping;
  }

  /**
   * Replaces one process after the other, each once its successor serves. Yields a sentence on each step. Throws UsageError; then the rest
   * goes on as it was.
   * @param left aborts once nobody listens any more
   */
  async *restart(left?: AbortSignal): AsyncGenerator<string> {
    if (this.#isRestarting) throw new UsageError('A restart is under way already.');
    this.#isRestarting = true;
    let successor: Member | null = null;
    // It would be one too many.
    left?.addEventListener('abort', () => void (successor?.hasServed || successor?.kill()));
    try {
      this.#waiting = await this.#parts.waiting();
      let count = 0;
      for (const old of [...this.#members.values()].sort((a, b) => a.number - b.number)) {
        // It has ended since, and was started anew.
        if (this.#members.get(old.number) !== old) continue;
        if (left?.aborted) return;
        successor = this.#launch();
        if (await successor.waits)
          yield `All places for servers at the database are taken: process ${successor.number} waits until one is free.`;
        if (!(await this.#serves(successor)))
          throw new UsageError('The new process could not start; its error is in the log. The others go on.');
        await this.#leave(old);
        yield `Process ${old.number} is replaced by process ${successor.number}.`;
        count++;
      }
      yield `All ${count} processes are replaced.`;
    } finally {
      this.#isRestarting = false;
    }
  }

  /** Has every process read its policy and its secrets again. */
  reload(): void {
    for (const member of this.#members.values()) member.send({ kind: 'reload' });
  }

  /**
   * Stops all; at a second call without waiting for requests, and those that do not serve yet by force. Resolves with the greatest exit code of the
   * others.
   */
  async stop(): Promise<number> {
    const members = [...this.#members.values()].filter(({ hasEnded }) => !hasEnded);
    const serving = members.filter(({ hasServed }) => hasServed);
    for (const member of members) {
      member.isLeaving = true;
      if (!member.hasServed) member.kill();
      else if (this.#isStopping) void this.#end(member);
      else member.send({ kind: 'stop' });
    }
    this.#isStopping = true;
    await Promise.all(members.map(({ exited }) => exited));
    return Math.max(0, ...(await Promise.all(serving.map(({ exited }) => exited))));
  }

  /** The pages of metrics of those that answer in time. */
  async pages(): Promise<ProcessPage[]> {
    const asked = [...this.#members.values()].map(async (member) => {
      const text = await within(this.#parts.timers, METRICS_MS, member.metrics(), null);
      return text === null ? [] : [{ instance: `${member.number}`, text }];
    });
    return (await Promise.all(asked)).flat();
  }

  async #startOne(): Promise<void> {
    if ((await this.#serves(this.#launch())) || this.#isStopping) return;
    await this.stop();
    throw new UsageError('A process could not start.');
  }

  /** Starts one that is not tried again. */
  #launch(): Member {
    const member = this.#add(this.#freeNumber());
    member.isLeaving = true;
    return member;
  }

  /** Resolves with false where it could not start. */
  async #serves(member: Member): Promise<boolean> {
    if ((await member.serving) === null) return false;
    member.isLeaving = this.#isStopping;
    return true;
  }

  #freeNumber(): number {
    const isFree = (number: number) => !this.#members.has(number) && !this.#parts.isTaken(number);
    const waiting = this.#waiting.find(isFree);
    if (waiting !== undefined) return waiting;
    for (let number = 1; ; number++) if (isFree(number)) return number;
  }

  #add(number: number, failures = 0): Member {
    const member = new Member(this.#parts.start, number, failures);
    this.#members.set(number, member);
    void this.#watch(member);
    return member;
  }

  /** Starts another process where one ends by itself. */
  async #watch(member: Member): Promise<void> {
    const { clock, timers, log } = this.#parts;
    const { number } = member;
    let since = Number.POSITIVE_INFINITY;
    void member.serving.then((address) => {
      if (address !== null) since = clock();
    });
    const code = await member.exited;
    if (member.isLeaving) {
      this.#members.delete(number);
      return;
    }
    const failures = clock() - since >= STEADY_MS ? 0 : member.failures;
    const pauseMs = failures === 0 ? 0 : Math.min(PAUSE_MAX_MS, PAUSE_MIN_MS * 2 ** (failures - 1));
    log.error('a process has ended and is started again', {
      process: number,
      pid: member.pid,
      code,
      pause_ms: pauseMs,
    });
    if (pauseMs > 0) await pause(timers, pauseMs);
    if (this.#isStopping) this.#members.delete(number);
    else this.#add(number, failures + 1);
  }

  async #end(member: Member): Promise<void> {
    member.send({ kind: 'end' });
    await within(this.#parts.timers, RELEASE_MS, member.exited, null);
    member.kill();
  }

  /** Resolves once it has ended, by force where it takes too long. */
  async #leave(member: Member): Promise<void> {
    const { drainMs, timers, log } = this.#parts;
    member.isLeaving = true;
    member.send({ kind: 'leave' });
    // It waits for its requests, and then ends the rest of them.
    const code = await within(timers, 2 * drainMs + END_MS, member.exited, null);
    if (code !== null) return;
    log.error('a process did not end and was killed', { process: member.number });
    member.kill();
    await member.exited;
  }
}
