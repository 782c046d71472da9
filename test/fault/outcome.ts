import type { ProviderFailure } from '../../src/contract/parts.ts';
import type { ErrorCode } from '../../src/core/errors.ts';
import { CONTRACT } from '../support/error-contract.ts';
import type { Dialect } from './dialect.ts';
import type { ServerConnection } from './raw-upstream.ts';

export type FailureKind = ProviderFailure['kind'];
export const KINDS = [
  'auth',
  'credit',
  'rejected',
  'context',
  'not_found',
  'rate_limited',
  'overloaded',
  'server',
  'malformed',
  'cut',
  'connect',
  'timeout',
] as const satisfies readonly FailureKind[];

/**
 * What an attempt is charged: nothing; the reported usage; the usage reported at its start; the reported prompt with the output counted by
 * the gateway; both counted by the gateway; the charge of a broken answer (the prompt, and at least the received output, at most the cap);
 * or the whole hold.
 */
export type Charge = 'nothing' | 'reported' | 'begun' | 'completed' | 'counted' | 'broken' | 'reserved';

/** The required outcome of an attempt with a fault. */
export type Outcome =
  /** The answer is complete, however unusual. */
  | {
      readonly ends: 'answered';
      readonly charged: Charge;
      /** The first attempt failed with this kind; the next attempt at the same endpoint succeeded. */
      readonly after?: FailureKind;
    }
  /** No part of an answer was shown, so another endpoint may be tried, unless the request itself is at fault. */
  | { readonly ends: 'failed'; readonly kind: FailureKind; readonly code: ErrorCode; readonly charged: Charge }
  /** Content was shown, so the caller sees where the answer broke. */
  | { readonly ends: 'cut'; readonly kind: FailureKind; readonly code: ErrorCode; readonly charged: Charge };

/** A request, as the upstream sees it. */
export interface UpstreamRequest {
  readonly dialect: Dialect;
  readonly stream: boolean;
  /** The number of the request on its connection, from 1. */
  readonly nth: number;
  /** Resolves once the caller has read content. Faults that break a connection wait for it. */
  readonly seen: Promise<void>;
}

/** The level at which an upstream misbehaves. */
export type Upstream =
  /** An HTTP server with faulty answers. */
  | { readonly speaks: 'http'; answer(request: UpstreamRequest): Response | Promise<Response> }
  /** A TCP server that violates HTTP. */
  | { readonly speaks: 'bytes'; play(connection: ServerConnection, request: UpstreamRequest): void | Promise<void> }
  /** No server listens at the address. */
  | { readonly speaks: 'nothing'; readonly address: 'nobody' | 'unresolvable' | 'untrusted' | 'plain' };

export interface Fault {
  readonly name: string;
  /** What the upstream does, as a clause such as "answers 500". The clause is shown in `docs/operate/provider-faults.md`. */
  readonly does: string;
  readonly upstream: Upstream;
  /** The deadlines, ms. The deadlines are generous unless the fault concerns time. */
  readonly deadlines?: Deadlines;
  /** The name of a tool that the request offers. */
  readonly tool?: string;
  /** True to send a good request first, so that there is a connection to reuse. */
  readonly warm?: true;
  /** The wait that the upstream requests, ms. The wait is longer than the gateway would wait before a retry. */
  readonly pauseMs?: number;
  /** True if the fault breaks what clients of its dialect rely on. If events are passed through unchanged, callers see it. */
  readonly isUnruly?: true;
  /** The text of a complete answer, if it is unusual. */
  readonly text?: string;
  readonly json: Outcome;
  readonly stream: Outcome;
  /** Exceptions by dialect. */
  readonly except?: Readonly<Partial<Record<Dialect['name'], Exception>>>;
}

export interface Exception {
  /** The reason as a clause such as "it reports the prompt at once". */
  readonly because: string;
  /** Null if the fault does not apply. */
  readonly json?: Outcome | null;
  readonly stream?: Outcome | null;
}

export interface Deadlines {
  readonly firstTokenMs: number;
  readonly idleMs: number;
  readonly totalMs: number;
}

/** Deadlines that only slow faults reach. */
export const PATIENT: Deadlines = { firstTokenMs: 30_000, idleMs: 30_000, totalMs: 40_000 };
/** Deadlines that are short enough for a test, and long enough for another endpoint to answer. */
export const HASTY: Deadlines = { firstTokenMs: 1_000, idleMs: 1_000, totalMs: 5_000 };

export const answered = (charged: Charge = 'reported'): Outcome => ({ ends: 'answered', charged });

/** The first attempt failed with this kind; the next attempt at the same endpoint succeeded. */
export const answeredAfter = (after: FailureKind): Outcome => ({ ends: 'answered', charged: 'reported', after });

const TIMED_OUT = { kind: 'timeout', code: 'upstream_timeout' } as const;

/** No answer came, and nothing is charged. */
export const failed = (
  kind: FailureKind,
  code: ErrorCode = 'upstream_failed',
  charged: Charge = 'nothing',
): Outcome => ({
  ends: 'failed',
  kind,
  code,
  charged,
});

/** No answer came after the event that reports the prompt. */
const begun = (kind: FailureKind): Outcome => failed(kind, 'upstream_failed', 'begun');

/**
 * The upstream accepted the request but did not answer it completely. The output is charged, and the request must not be repeated blindly.
 */
export const lost = (kind: FailureKind): Outcome => failed(kind, 'upstream_failed', 'broken');

/** Nothing came in time. */
export const late: Outcome = { ends: 'failed', ...TIMED_OUT, charged: 'broken' };

/** Exceptions for a dialect that reports its prompt before anything else. */
export const onceBegun = (kind: FailureKind) => ({
  anthropic: { because: 'it reports the prompt at once', stream: begun(kind) },
});

/** Content came, and then the connection broke or the data was invalid. */
export const cut = (kind: FailureKind): Outcome => ({ ends: 'cut', kind, code: 'upstream_failed', charged: 'broken' });

/** Content came, and then nothing until a deadline passed. */
export const stalled: Outcome = { ends: 'cut', ...TIMED_OUT, charged: 'broken' };

/** True if the request would fail everywhere. */
export const isFinal = (outcome: Outcome): boolean => outcome.ends === 'failed' && outcome.kind === 'rejected';

/** True if the caller may retry. A request that cost something, or that only an operator can fix, is not repeatable. */
export const isRepeatable = ({ kind, code, charged }: Outcome & { ends: 'failed' }): boolean =>
  charged === 'nothing' && kind !== 'auth' && kind !== 'not_found' && CONTRACT[code][3];

/** What endpoint health concludes from a failed attempt. */
export type Verdict = 'none' | 'a fault' | 'a cool-down' | 'misconfigured' | 'out of credit';

/** For each kind of failure: what endpoint health concludes, and a fault that shows it. */
export const VERDICTS: Readonly<Record<FailureKind, { readonly verdict: Verdict; readonly shownBy: string }>> = {
  auth: { verdict: 'misconfigured', shownBy: '401' },
  credit: { verdict: 'out of credit', shownBy: '402' },
  rejected: { verdict: 'none', shownBy: '400' },
  context: { verdict: 'none', shownBy: '413' },
  not_found: { verdict: 'a fault', shownBy: '404' },
  rate_limited: { verdict: 'a cool-down', shownBy: '429 with retry-after in seconds' },
  overloaded: { verdict: 'a fault', shownBy: '503' },
  server: { verdict: 'a fault', shownBy: '500' },
  malformed: { verdict: 'a fault', shownBy: 'malformed chunk' },
  cut: { verdict: 'a fault', shownBy: 'truncated SSE' },
  connect: { verdict: 'a fault', shownBy: 'refused' },
  timeout: { verdict: 'a fault', shownBy: '504' },
};

/** @returns what endpoint health concludes from an outcome */
export function verdictOn(outcome: Outcome): Verdict {
  const kind = outcome.ends === 'answered' ? outcome.after : outcome.kind;
  return kind === undefined ? 'none' : VERDICTS[kind].verdict;
}
