import { messageOf } from '../../core/thrown.ts';
import { type MessageToChild, type MessageToParent, messageToParent } from './messages.ts';

/** A process that was started, as the system gives it. */
interface StartedProcess {
  /** Null where the system could not start it. */
  readonly pid: number | null;
  /** Resolves with its exit code. */
  readonly exited: Promise<number>;
  /** The last line of its standard error; null without any. */
  problem(): string | null;
  send(message: MessageToChild): void;
  kill(): void;
}

/** Starts a process with a number; the listener gets its messages. Throws where the system refuses to start one. */
export type StartProcess = (number: number, onMessage: (message: unknown) => void) => StartedProcess;

/** One process of several, from its start to its end. State: process. */
export class Member {
  readonly number: number;
  /** Resolves with its address, or with null where it ends before it serves. */
  readonly serving: Promise<string | null>;
  /** Resolves with true once it waits for a place at the database, with false where it serves or ends without. */
  readonly waits: Promise<boolean>;
  readonly exited: Promise<number>;
  /** How many of its number have ended before it, one soon after the other. */
  readonly failures: number;
  /** Whether its end is wanted, or is told to who waits for it. */
  isLeaving = false;
  hasEnded = false;
  /** Whether it hears what it is asked. */
  hasServed = false;
  readonly #started: StartedProcess;
  readonly #pages = new Map<number, (page: string | null) => void>();
  #asked = 0;

  constructor(start: StartProcess, number: number, failures = 0) {
    this.number = number;
    this.failures = failures;
    const { promise, resolve } = Promise.withResolvers<string | null>();
    const { promise: waits, resolve: answer } = Promise.withResolvers<boolean>();
    this.#started = startedBy(start, number, (received) => {
      const message = messageToParent(received);
      if (message?.kind === 'waiting') answer(true);
      else if (message) this.#take(message, resolve);
    });
    this.serving = promise;
    this.waits = Promise.race([waits, promise.then(() => false)]);
    this.exited = this.#started.exited.then((code) => {
      this.hasEnded = true;
      resolve(null);
      for (const answer of this.#pages.values()) answer(null);
      return code;
    });
  }

  get pid(): number | null {
    return this.#started.pid;
  }

  /** Why it could not start; null once it has served, or where it did not say. */
  get problem(): string | null {
    return this.hasServed ? null : this.#started.problem();
  }

  /** Does nothing once it has ended. */
  send(message: MessageToChild): void {
    try {
      this.#started.send(message);
    } catch {
      // Its end is told by `exited`.
    }
  }

  kill(): void {
    this.#started.kill();
  }

  /** Asks for its page of metrics. Resolves with null where it ends before. */
  metrics(): Promise<string | null> {
    const id = ++this.#asked;
    const { promise, resolve } = Promise.withResolvers<string | null>();
    this.#pages.set(id, (page) => {
      this.#pages.delete(id);
      resolve(page);
    });
    this.send({ kind: 'metrics', id });
    return promise;
  }

  #take(message: Exclude<MessageToParent, { kind: 'waiting' }>, serves: (address: string) => void): void {
    if (message.kind === 'serving') {
      this.hasServed = true;
      serves(message.address);
    } else this.#pages.get(message.id)?.(message.page);
  }
}

/** A process that the system refuses to start is one that ends at once. */
function startedBy(start: StartProcess, number: number, onMessage: (message: unknown) => void): StartedProcess {
  try {
    return start(number, onMessage);
  } catch (error) {
    return { pid: null, exited: Promise.resolve(1), problem: () => messageOf(error), send() {}, kill() {} };
  }
}
