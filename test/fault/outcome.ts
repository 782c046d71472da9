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
 * The charge of an attempt: nothing; the reported usage; the usage reported at its start; the reported prompt and the
 * output counted here; both counted here; that of a broken answer (the prompt, and of the output at least the received
 * part and at most the cap); or the whole hold.
 */
export type Charge = 'nothing' | 'reported' | 'begun' | 'completed' | 'counted' | 'broken' | 'reserved';

/** The required outcome of an attempt with a fault. */
export type Outcome =
  /** The answer is complete, however unusual. */
  | {
      readonly ends: 'answered';
      readonly charged: Charge;
      /** A first attempt failed so; the next one at the same endpoint did not. */
      readonly after?: FailureKind;
    }
  /** No part of an answer was shown: another endpoint may try, unless the request itself is at fault. */
  | { readonly ends: 'failed'; readonly kind: FailureKind; readonly code: ErrorCode; readonly charged: Charge }
  /** Content was shown: the caller sees where the answer broke. */
  | { readonly ends: 'cut'; readonly kind: FailureKind; readonly code: ErrorCode; readonly charged: Charge };

/** One request as the upstream sees it. */
export interface UpstreamRequest {
  readonly dialect: Dialect;
  readonly stream: boolean;
  /** Its number on the connection, from 1. */
  readonly nth: number;
  /** Resolves once the caller has read content; breaks wait for it. */
  readonly seen: Promise<void>;
}

/** The level at which an upstream misbehaves. */
export type Upstream =
  /** An HTTP server with faulty answers. */
  | { readonly speaks: 'http'; answer(request: UpstreamRequest): Response | Promise<Response> }
  /** A TCP server that violates HTTP. */
  | { readonly speaks: 'bytes'; play(connection: ServerConnection, request: UpstreamRequest): void | Promise<void> }
  /** No server. */
  | { readonly speaks: 'nothing'; readonly address: 'nobody' | 'unresolvable' | 'untrusted' | 'plain' };

export interface Fault {
  readonly name: string;
  /** What the upstream does, as a clause: "answers 500". For `docs/operate/incidents.md`. */
  readonly does: string;
  readonly upstream: Upstream;
  /** Milliseconds; generous ones where time is not the fault. */
  readonly deadlines?: Deadlines;
  /** The name of a tool that the request offers. */
  readonly tool?: string;
  /** A good request goes first, so that there is a connection to reuse. */
  readonly warm?: true;
  /** The requested wait: longer than the gateway would wait. */
  readonly pauseMs?: number;
  /** Whether it breaks what clients of its dialect rely on. Where events go out as they came, callers see them so. */
  readonly isUnruly?: true;
  /** The text of a complete answer, if unusual. */
  readonly text?: string;
  readonly json: Outcome;
  readonly stream: Outcome;
  /** Exceptions by dialect. */
  readonly except?: Readonly<Partial<Record<Dialect['name'], Exception>>>;
}

export interface Exception {
  /** As a clause: "it reports the prompt at once". */
  readonly because: string;
  /** Null where the fault does not apply. */
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
/** Short enough for a test, and long enough for another endpoint to answer. */
export const HASTY: Deadlines = { firstTokenMs: 1_000, idleMs: 1_000, totalMs: 5_000 };

export const answered = (charged: Charge = 'reported'): Outcome => ({ ends: 'answered', charged });

/** The first attempt failed so; the next one at the same endpoint did not. */
export const answeredAfter = (after: FailureKind): Outcome => ({ ends: 'answered', charged: 'reported', after });

const TIMED_OUT = { kind: 'timeout', code: 'upstream_timeout' } as const;

/** No answer came, and it is certain or agreed that nothing is owed. */
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

/** The request was accepted but not fully answered: its output is owed, and it must not be repeated blindly. */
export const lost = (kind: FailureKind): Outcome => failed(kind, 'upstream_failed', 'broken');

/** Nothing came in time. */
export const late: Outcome = { ends: 'failed', ...TIMED_OUT, charged: 'broken' };

/** Exceptions of a dialect that reports its prompt before anything else. */
export const onceBegun = (kind: FailureKind) => ({
  anthropic: { because: 'it reports the prompt at once', stream: begun(kind) },
});

/** Content came, then a broken connection or invalid data. */
export const cut = (kind: FailureKind): Outcome => ({ ends: 'cut', kind, code: 'upstream_failed', charged: 'broken' });

/** Content came, then a timeout. */
export const stalled: Outcome = { ends: 'cut', ...TIMED_OUT, charged: 'broken' };

/** Whether the request fails the same everywhere. */
export const isFinal = (outcome: Outcome): boolean => outcome.ends === 'failed' && outcome.kind === 'rejected';

/** Whether the caller may retry: not if it cost something, or only an operator can fix it. */
export const isRepeatable = ({ kind, code, charged }: Outcome & { ends: 'failed' }): boolean =>
  charged === 'nothing' && kind !== 'auth' && kind !== 'not_found' && CONTRACT[code][3];

/** Health's verdict on a failed attempt. */
export type Verdict = 'none' | 'a fault' | 'a cool-down' | 'misconfigured' | 'out of credit';

/** For each kind of failure: health's verdict, and the fault that shows it. */
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

/** Health's verdict on an outcome. */
export function verdictOn(outcome: Outcome): Verdict {
  const kind = outcome.ends === 'answered' ? outcome.after : outcome.kind;
  return kind === undefined ? 'none' : VERDICTS[kind].verdict;
}
