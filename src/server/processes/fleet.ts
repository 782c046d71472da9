import { type Timer, type Timers, within } from '../../core/time/timers.ts';
import { UsageError } from '../../core/usage-error.ts';
import type { Log } from '../../host/telemetry/log.ts';
import { Member, type StartProcess } from './member.ts';
import type { ProcessPage } from './metrics-page.ts';

/** If a process served for at least this time (ms) before it ended, its successor starts at once. */
const STEADY_MS = 60_000;
/**
 * The pause before a start is tried again, ms. The pause before the next start of a process doubles with each failure. When a process that
 * served ends for the first time, the fleet starts its successor without a pause.
 */
const PAUSE_MIN_MS = 1_000;
const PAUSE_MAX_MS = 30_000;
/** If a process does not return its metrics within this time, the page omits them, ms. */
const METRICS_MS = 2_000;
/** The time in addition to the drain for everything else that a process does at its end, ms. */
const END_MS = 30_000;
/** The time that a process has to release its slot at the database if it ends at once, ms. */
const RELEASE_MS = 1_000;

interface FleetParts {
  readonly count: number;
  readonly drainMs: number;
  readonly start: StartProcess;
  /**
   * The numbers of data folders that still have settlements in their spools. A process with the number of such a data folder books those
   * settlements.
   */
  readonly waiting: () => Promise<readonly number[]>;
  /** Whether a process of another parent still uses the data folder of this number. */
  readonly isTaken: (number: number) => boolean;
  /** Milliseconds on a clock whose value never decreases. */
  readonly clock: () => number;
  readonly timers: Timers;
  readonly log: Log;
}

/** The pause until the next process of a number is started. */
interface Pause {
  readonly timer: Timer;
  /** How many processes of this number failed in a row, counted for the next process. */
  readonly failures: number;
}

const pauseAfter = (failures: number): number =>
  failures === 0 ? 0 : Math.min(PAUSE_MAX_MS, PAUSE_MIN_MS * 2 ** (failures - 1));

const stopping = (): UsageError => new UsageError('The server is stopping.');

/** The processes that share one port. The fleet keeps their number constant, and replaces them at a restart. State: processes. */
export class Fleet {
  /** Resolves once all processes serve at the same time. */
  readonly allServe: Promise<void>;
  readonly #parts: FleetParts;
  readonly #noteAllServe: () => void;
  /** The running processes. Each number is either in this map or in `#pauses`. */
  readonly #members = new Map<number, Member>();
  readonly #pauses = new Map<number, Pause>();
  /** The numbers of the data folders with unbooked settlements, as of the latest read. */
  #waiting: readonly number[] = [];
  #isStopping = false;
  #isRestarting = false;

  constructor(parts: FleetParts) {
    this.#parts = parts;
    ({ promise: this.allServe, resolve: this.#noteAllServe } = Promise.withResolvers<void>());
  }

  /**
   * Starts the processes. The first process starts alone, because it creates the tables and the first key. The other processes follow, and
   * the fleet starts them again until they serve.
   * @returns true once the first process serves; false if the fleet is stopped before that
   * @throws UsageError if the first process fails
   */
  async start(): Promise<boolean> {
    this.#waiting = await this.#parts.waiting();
    const first = this.#launch();
    const hasServed = await this.#serves(first);
    if (this.#isStopping) return false;
    if (!hasServed) throw new UsageError(`A process could not start${first.pid === null ? `: ${first.problem}` : ''}.`);
    for (let more = this.#parts.count - 1; more > 0; more--) this.#add(this.#freeNumber());
    return true;
  }

  /**
   * Replaces one process after the other, each as soon as its successor serves. `restart` starts a process that has ended again without its
   * pause. `restart` yields a sentence on each step.
   * @param left aborts once the command that requested the restart no longer listens
   * @throws UsageError; the processes that were not yet replaced then go on
   */
  async *restart(left?: AbortSignal): AsyncGenerator<string> {
    if (this.#isRestarting) throw new UsageError('A restart is already in progress.');
    this.#isRestarting = true;
    let successor: Member | null = null;
    // If the successor stayed, the fleet would have one process too many.
    left?.addEventListener('abort', () => void (successor?.hasServed || successor?.kill()));
    try {
      this.#waiting = await this.#parts.waiting();
      let count = 0;
      const before = new Map(this.#members);
      const running = [...before.keys()].sort((a, b) => a - b);
      for (const number of [...this.#pauses.keys(), ...running]) {
        const old = this.#members.get(number);
        // This process was started after the restart began, so it is new enough.
        if (old && old !== before.get(number)) continue;
        if (left?.aborted) return;
        if (this.#isStopping) throw stopping();
        successor = old ? this.#launch() : this.#startNow(number);
        if (await successor.waits)
          yield `All places for servers at the database are taken: process ${successor.number} waits until one is free.`;
        if (!(await this.#serves(successor))) throw this.#notStarted(successor);
        if (old) await this.#retire(number);
        yield old
          ? `Process ${number} is replaced by process ${successor.number}.`
          : `Process ${number} had ended and serves again.`;
        count++;
      }
      yield `All ${count} processes are replaced.`;
    } finally {
      this.#isRestarting = false;
    }
  }

  /** Makes every process read its policy and its secrets again. */
  reload(): void {
    for (const member of this.#members.values()) member.send({ kind: 'reload' });
  }

  /**
   * Stops all processes. A second call of `stop` does not wait for requests, and kills processes that do not serve yet. `stop` resolves
   * with the greatest exit code of the processes that were not killed.
   */
  async stop(): Promise<number> {
    for (const { timer } of this.#pauses.values()) timer.close();
    this.#pauses.clear();
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

  /** Returns the metrics pages of the processes that answer in time. */
  async pages(): Promise<ProcessPage[]> {
    const serving = [...this.#members.values()].filter(({ hasServed }) => hasServed);
    const asked = serving.map(async (member) => {
      const text = await within(this.#parts.timers, METRICS_MS, member.metrics(), null);
      return text === null ? [] : [{ instance: `${member.number}`, text }];
    });
    return (await Promise.all(asked)).flat();
  }

  /** Starts a process that the fleet does not start again if the process fails. */
  #launch(): Member {
    const member = this.#add(this.#freeNumber());
    member.isLeaving = true;
    return member;
  }

  /** Resolves with false if the process could not start, or if all processes are stopping. */
  async #serves(member: Member): Promise<boolean> {
    if ((await member.serving) === null || this.#isStopping) return false;
    member.isLeaving = false;
    return true;
  }

  #notStarted({ problem }: Member): UsageError {
    if (this.#isStopping) return stopping();
    const why = problem === null ? '; its error is in the log.' : `: ${problem}`;
    return new UsageError(`The new process could not start${why} The other processes keep running.`);
  }

  #freeNumber(): number {
    const isFree = (number: number) =>
      !this.#members.has(number) && !this.#pauses.has(number) && !this.#parts.isTaken(number);
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

  /** Starts the process of a number without waiting for the end of its pause. */
  #startNow(number: number): Member {
    const pause = this.#pauses.get(number);
    pause?.timer.close();
    this.#pauses.delete(number);
    return this.#add(number, pause?.failures);
  }

  /** Starts another process if a process ends without having been stopped. */
  async #watch(member: Member): Promise<void> {
    const { clock, timers, log } = this.#parts;
    const { number, pid, failures } = member;
    let since = Number.POSITIVE_INFINITY;
    void member.serving.then((address) => {
      if (address === null) return;
      since = clock();
      this.#checkAllServe();
    });
    const code = await member.exited;
    this.#members.delete(number);
    if (member.isLeaving || this.#isStopping) return;
    const { hasServed, problem } = member;
    const before = clock() - since >= STEADY_MS ? 0 : failures;
    // A process that served is replaced at once, because its absence reduces capacity. A process that never served is unlikely to succeed
    // at once.
    const pauseMs = pauseAfter(hasServed ? before : before + 1);
    const event = hasServed
      ? 'a process has ended and is started again'
      : 'a process could not start and is tried again';
    log.error(event, { process: number, pid, code, ...(problem !== null && { error: problem }), pause_ms: pauseMs });
    const timer = timers.after(pauseMs, () => this.#startNow(number));
    this.#pauses.set(number, { timer, failures: before + 1 });
  }

  #checkAllServe(): void {
    const members = [...this.#members.values()];
    const isFull = members.length >= this.#parts.count && members.every(({ hasServed }) => hasServed);
    if (isFull && this.#pauses.size === 0) this.#noteAllServe();
  }

  /** Ends the process of a number, or its pause before the next start. */
  async #retire(number: number): Promise<void> {
    this.#pauses.get(number)?.timer.close();
    this.#pauses.delete(number);
    const member = this.#members.get(number);
    if (member?.hasServed) return this.#leave(member);
    if (!member) return;
    member.isLeaving = true;
    member.kill();
    await member.exited;
  }

  async #end(member: Member): Promise<void> {
    member.send({ kind: 'end' });
    await within(this.#parts.timers, RELEASE_MS, member.exited, null);
    member.kill();
  }

  /** Resolves once the process has ended. If the process takes too long to end, the fleet kills it. */
  async #leave(member: Member): Promise<void> {
    const { drainMs, timers, log } = this.#parts;
    member.isLeaving = true;
    member.send({ kind: 'leave' });
    // The process first waits for its requests, and then ends the requests that remain. Waiting for requests and ending requests may each
    // take `drainMs`.
    const code = await within(timers, 2 * drainMs + END_MS, member.exited, null);
    if (code !== null) return;
    log.error('a process did not end and was killed', { process: member.number });
    member.kill();
    await member.exited;
  }
}
