import type { Diagnostic } from '../diagnostics.ts';
import type { PolicyChange } from './diff.ts';
import type { SecretStatus } from './secret-files.ts';

/** The trigger of a reload. */
export type ReloadCause = 'start' | 'edit' | 'push' | 'signal' | 'request';

const MOST_EXPLICIT_FIRST: readonly ReloadCause[] = ['start', 'request', 'signal', 'push', 'edit'];

/** The most explicit cause among several requests. */
export function mostExplicit(requests: readonly { readonly cause: ReloadCause }[]): ReloadCause {
  return MOST_EXPLICIT_FIRST.find((cause) => requests.some((one) => one.cause === cause)) ?? 'edit';
}

/** One attempt to reload the policy, with its result. */
export interface ReloadAttempt {
  /** When it ended, ms since 1970. */
  readonly time: number;
  readonly tookMs: number;
  readonly cause: ReloadCause;
  readonly result: 'applied' | 'unchanged' | 'refused';
  /** The revision in force afterwards. */
  readonly revision: string;
  /** One sentence; for a refusal, the reason. */
  readonly message: string;
  readonly diagnostics: readonly Diagnostic[];
  /** From the previous revision; empty unless applied. */
  readonly changes: readonly PolicyChange[];
}

/** The policy in force, and the last attempt. */
export interface PolicyStatus {
  readonly revision: string;
  /** When it came into force, ms since 1970. */
  readonly since: number;
  /** Paths, ascending. */
  readonly files: readonly string[];
  readonly warnings: readonly Diagnostic[];
  /** Whether it has failed its own cases, which ran after it began to serve. */
  readonly failsCases: boolean;
  /** Plugins whose code on disk differs from the running code. */
  readonly outdatedPlugins: readonly string[];
  readonly last: ReloadAttempt;
  /** The previous revision, and the changes since; null for the first. */
  readonly previous: { readonly revision: string; readonly changes: readonly PolicyChange[] } | null;
  /** Attempts since the start, by result. */
  readonly counts: Readonly<Record<ReloadAttempt['result'], number>>;
  /** When an attempt last found the files in force, ms since 1970. */
  readonly lastSuccess: number;
  /** The secrets that are read from files. */
  readonly secrets: readonly SecretStatus[];
}

/** A conditional reload expected another revision to be in force. */
export class StaleRevision extends Error {
  override readonly name = 'StaleRevision';
  readonly revision: string;
  constructor(revision: string) {
    super(`The revision in force is ${revision}.`);
    this.revision = revision;
  }
}
