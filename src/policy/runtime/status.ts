import type { Diagnostic } from '../report/diagnostics.ts';
import type { PolicyChange } from './diff.ts';
import type { SecretStatus } from './secret-files.ts';

/** The event that triggered a reload. */
export type ReloadCause = 'start' | 'edit' | 'push' | 'signal' | 'request';

const MOST_EXPLICIT_FIRST: readonly ReloadCause[] = ['start', 'request', 'signal', 'push', 'edit'];

/** Returns the most explicit cause among several requests. */
export function mostExplicit(requests: readonly { readonly cause: ReloadCause }[]): ReloadCause {
  return MOST_EXPLICIT_FIRST.find((cause) => requests.some((one) => one.cause === cause)) ?? 'edit';
}

/** One attempt to reload the policy, with its result. */
export interface ReloadAttempt {
  /** When the attempt ended, ms since 1970. */
  readonly time: number;
  readonly tookMs: number;
  readonly cause: ReloadCause;
  readonly result: 'applied' | 'unchanged' | 'refused';
  /** The revision that is active after the attempt. */
  readonly revision: string;
  /** The result of the attempt in one sentence; for a refusal, the reason. */
  readonly message: string;
  readonly diagnostics: readonly Diagnostic[];
  /** The changes from the previous revision; empty unless the policy was applied. */
  readonly changes: readonly PolicyChange[];
}

/** The active policy, and the last attempt. */
export interface PolicyStatus {
  readonly revision: string;
  /** When the policy became active, ms since 1970. */
  readonly since: number;
  /** Paths of the policy's files, ascending. */
  readonly files: readonly string[];
  readonly warnings: readonly Diagnostic[];
  /** Whether the policy failed its own test cases, which ran after it began to serve. */
  readonly failsCases: boolean;
  /** Plugins whose code on disk differs from the running code. */
  readonly outdatedPlugins: readonly string[];
  readonly last: ReloadAttempt;
  /** The previous revision, and the changes since that revision; null for the first revision. */
  readonly previous: { readonly revision: string; readonly changes: readonly PolicyChange[] } | null;
  /** Number of attempts since the start, by result. */
  readonly counts: Readonly<Record<ReloadAttempt['result'], number>>;
  /** When an attempt last found that the files match the active policy, ms since 1970. */
  readonly lastSuccess: number;
  /** The secrets that are read from files. */
  readonly secrets: readonly SecretStatus[];
}

/** The error of a conditional reload that expected another active revision. */
export class StaleRevision extends Error {
  override readonly name = 'StaleRevision';
  readonly revision: string;
  constructor(revision: string) {
    super(`The active revision is ${revision}.`);
    this.revision = revision;
  }
}
