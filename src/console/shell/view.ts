import type { ComponentType } from 'preact';
import type { Action } from '../../admin/use-cases/roles.ts';

/** One of the seven words of the rail. */
export interface ConsoleView {
  /** Its folder in `src/console/views/`. */
  readonly name: string;
  readonly title: string;
  /** Below the console. */
  readonly path: string;
  /** Whether paths below its own are parts of it. */
  readonly hasParts?: true;
  /**
   * The range that it shows where the address states none: `all` is the shortest one with all data, `last` the one that this browser had
   * last. Absent where it shows no period.
   */
  readonly range?: 'all' | 'last';
  /** The action that opens it; null for every role. */
  readonly action: Action | null;
  /** The roles that it is open to, as a sentence for those who find it closed. */
  readonly who?: string;
  /** Its code comes when it is opened. */
  load(): Promise<{ readonly default: ComponentType }>;
}
