import type { Plugin } from '../contract/kinds.ts';

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
}

export interface Terminal {
  write(text: string): void;
  readonly isTerminal: boolean;
}
