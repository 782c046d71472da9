import type { Plugin } from '../contract/kinds.ts';
import type { Timers } from '../core/timers.ts';
import type { Log } from '../host/telemetry/log.ts';
import type { Sink } from '../host/telemetry/sink.ts';
import type { OpenStore, SpoolNotes } from '../store/driver.ts';
import type { DataPlace } from './data.ts';
import type { Parent } from './processes/child.ts';

/** The parts of the process that a server uses. */
export interface Host {
  readonly version: string;
  /** The plugins that come with Signalbox. */
  readonly shipped: readonly Plugin[];
  readonly out: Terminal;
  readonly err: Terminal;
  /** The environment. */
  env(name: string): string | undefined;
  /** Milliseconds since 1970; never goes back, though the system's clock may. */
  readonly now: () => number;
  /** Milliseconds on a clock that never goes back. */
  readonly clock: () => number;
  /** Sets all work of later that decides something. */
  readonly timers: Timers;
  /** Opens the destination of the log's lines. */
  openSink(): Sink;
  /** Opens the store that a server keeps its state in. Absent: the database in its data folder. */
  readonly openStore?: (
    place: DataPlace,
    log: Log,
    spoolNotes: SpoolNotes,
    host: Pick<Host, 'now' | 'timers' | 'version' | 'parent'>,
  ) => Promise<OpenStore>;
  /** Listens to a signal, an error that was not caught (the value), or the end of the process. */
  on(event: ProcessEvent, listener: (value: unknown) => void): void;
  /** The process that started this one beside others at its port. */
  readonly parent?: Parent;
  /** Seconds after which a client that reads nothing is disconnected. Absent: 60 for a stream, 30 for any other answer. */
  readonly stalledS?: number;
  /** Gives back memory that no code in use needs; compiled code is compiled again at its next call. Absent: it is kept. */
  readonly shrink?: () => void;
  /** Ends the process. */
  exit(code: number): void;
}

type ProcessEvent = 'SIGHUP' | 'SIGINT' | 'SIGTERM' | 'unhandledRejection' | 'uncaughtException' | 'exit';

export interface Terminal {
  write(text: string): void;
  readonly isTerminal: boolean;
}
