import { messageOf } from '../../core/thrown.ts';
import { type MessageToChild, type MessageToParent, messageToParent } from './messages.ts';

/** A started process, as the operating system reports it. */
interface StartedProcess {
  /** The process ID; null if the system could not start the process. */
  readonly pid: number | null;
  /** Resolves with the exit code of the process. */
  readonly exited: Promise<number>;
  /** The last line that the process wrote to its standard error; null if it wrote none. */
  problem(): string | null;
  send(message: MessageToChild): void;
  kill(): void;
}

/**
 * Starts the process of a number; `onMessage` receives the messages of the process. `StartProcess` throws if the system refuses to start a
 * process.
 */
export type StartProcess = (number: number, onMessage: (message: unknown) => void) => StartedProcess;

/** One of several processes that share a port, from its start to its end. State: process. */
export class Member {
  readonly number: number;
  /** Resolves with the process's address, or with null if it ends before it serves. */
  readonly serving: Promise<string | null>;
  /**
   * Resolves with true if the process waits for a slot at the database; with false once the process serves, or ends without having waited.
   */
  readonly waits: Promise<boolean>;
  readonly exited: Promise<number>;
  /** How many processes of this number ended shortly before this process, one soon after the other. */
  readonly failures: number;
  /** Whether the end of the process is intended, or is reported to the caller who waits for this process. */
  isLeaving = false;
  hasEnded = false;
  /** Whether the process has served, so that it handles messages. */
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

  /** Why the process could not start; null once the process has served, or if it gave no reason. */
  get problem(): string | null {
    return this.hasServed ? null : this.#started.problem();
  }

  /** Sends a message to the process. `send` does nothing once the process has ended. */
  send(message: MessageToChild): void {
    try {
      this.#started.send(message);
    } catch {
      // A process that has ended cannot receive messages; `exited` reports its end.
    }
  }

  kill(): void {
    this.#started.kill();
  }

  /** Requests the metrics page of the process. Resolves with null if the process ends before it answers. */
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

/** If the system refuses to start a process, returns a process that has already ended. */
function startedBy(start: StartProcess, number: number, onMessage: (message: unknown) => void): StartedProcess {
  try {
    return start(number, onMessage);
  } catch (error) {
    return { pid: null, exited: Promise.resolve(1), problem: () => messageOf(error), send() {}, kill() {} };
  }
}
