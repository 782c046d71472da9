import type { Diagnostic } from '../policy/diagnostics.ts';
import type { PolicyChange } from './diff.ts';

/** What made the policy be looked at. */
export type ReloadCause = 'start' | 'edit' | 'signal' | 'request';

const MOST_EXPLICIT_FIRST: readonly ReloadCause[] = ['start', 'request', 'signal', 'edit'];

/** The cause of an attempt that several asked for: the most explicit one. */
export function mostExplicit(asked: readonly { readonly cause: ReloadCause }[]): ReloadCause {
  return MOST_EXPLICIT_FIRST.find((cause) => asked.some((one) => one.cause === cause)) ?? 'edit';
}

/** One look at the policy's files, and what came of it. */
export interface ReloadAttempt {
  /** When it ended, ms since 1970. */
  readonly time: number;
  readonly tookMs: number;
  readonly cause: ReloadCause;
  readonly result: 'applied' | 'unchanged' | 'refused';
  /** The revision in force afterwards. */
  readonly revision: string;
  /** One sentence; of a refusal, why. */
  readonly message: string;
  readonly diagnostics: readonly Diagnostic[];
  /** From the revision before; empty unless applied. */
  readonly changes: readonly PolicyChange[];
}

/** The policy in force and how the last look at its files ended. */
export interface PolicyStatus {
  readonly revision: string;
  /** Since when it is in force, ms since 1970. */
  readonly since: number;
  /** Paths, ascending. */
  readonly files: readonly string[];
  readonly warnings: readonly Diagnostic[];
  /** Plugins whose code on disk is not the one that runs. */
  readonly outdatedPlugins: readonly string[];
  readonly last: ReloadAttempt;
  /** The one before, and how it became this one; null when this is the first. */
  readonly previous: { readonly revision: string; readonly changes: readonly PolicyChange[] } | null;
  /** How many attempts ended in which way since the start. */
  readonly counts: Readonly<Record<ReloadAttempt['result'], number>>;
  /** When the files were last found to be in force, ms since 1970. */
  readonly lastSuccess: number;
}

/** A reload that was asked for on condition of a revision that is no longer, or not yet, in force. */
export class StaleRevision extends Error {
  override readonly name = 'StaleRevision';
  readonly revision: string;
  constructor(revision: string) {
    super(`The revision in force is ${revision}.`);
    this.revision = revision;
  }
}
