import type { Plugin } from '../contract/kinds.ts';
import type { Timers } from '../core/time/timers.ts';
import type { StepChoice } from '../gateway/request/steps.ts';
import type { Log } from '../host/telemetry/log.ts';
import type { Sink } from '../host/telemetry/sink.ts';
import type { OpenStore, SpoolNotes } from '../store/driver.ts';
import type { DataPlace } from './data.ts';
import type { Parent } from './processes/child.ts';

/** The parts of the process that a server uses. Tests replace these parts. */
export interface Host {
  readonly version: string;
  /** The plugins that come with Signalbox. */
  readonly shipped: readonly Plugin[];
  readonly out: Terminal;
  readonly err: Terminal;
  /** Reads an environment variable. */
  env(name: string): string | undefined;
  /** Milliseconds since 1970. The value never decreases, even if the system's clock is set back. */
  readonly now: () => number;
  /** Milliseconds on a clock whose value never decreases. */
  readonly clock: () => number;
  /** Starts every timer whose firing changes behaviour, so that tests control time. */
  readonly timers: Timers;
  /** Opens the destination that the log writes its lines to. */
  openSink(): Sink;
  /** Steps that replace `addedSteps`, for tests; absent in the program. */
  readonly steps?: StepChoice;
  /** Opens the store that a server keeps its state in. Without `openStore`, the server uses the database in its data folder. */
  readonly openStore?: (
    place: DataPlace,
    log: Log,
    spoolNotes: SpoolNotes,
    host: Pick<Host, 'now' | 'timers' | 'version' | 'parent'>,
  ) => Promise<OpenStore>;
  /** Listens for a signal, for an uncaught error (`value` is the error), or for the end of the process. */
  on(event: ProcessEvent, listener: (value: unknown) => void): void;
  /** The parent process, if this process is one of several that share a port. */
  readonly parent?: Parent;
  /**
   * Seconds after which a client that reads nothing is disconnected. Without `stalledS`, the server disconnects the client after 60 seconds
   * for a stream, and after 30 seconds for any other answer.
   */
  readonly stalledS?: number;
  /**
   * Releases memory that no code in use needs; the runtime compiles released code again at its next call. Without `shrink`, the process
   * keeps that memory.
   */
  readonly shrink?: () => void;
  /** Ends the process. */
  exit(code: number): void;
}

type ProcessEvent = 'SIGHUP' | 'SIGINT' | 'SIGTERM' | 'unhandledRejection' | 'uncaughtException' | 'exit';

export interface Terminal {
  write(text: string): void;
  readonly isTerminal: boolean;
}
