import type { ProviderFailure } from '../../src/contract/parts.ts';
import type { ErrorCode } from '../../src/core/errors.ts';
import { CONTRACT } from '../support/error-contract.ts';
import type { Dialect } from './dialect.ts';
import type { ServerConnection } from './raw-upstream.ts';
import type { RequiredFault } from './required-faults.ts';

export type FailureKind = ProviderFailure['kind'];
export const KINDS = [
  'auth',
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
 * What an attempt costs: nothing; the usage that its upstream reported; what it had reported at its beginning; the
 * prompt that it reported and the output counted here; both as counted here; as an answer that broke off (the prompt, and
 * of the output at least what was seen and at most the cap); or all that was set aside.
 */
export type Charge = 'nothing' | 'reported' | 'begun' | 'completed' | 'counted' | 'broken' | 'reserved';

/** How one attempt ends that meets a fault, as the gateway has to see it. */
export type Outcome =
  /** The answer is whole, whatever was odd about it. */
  | {
      readonly ends: 'answered';
      readonly charged: Charge;
      /** A first attempt failed so; the next one at the same endpoint did not. */
      readonly after?: FailureKind;
    }
  /** No part of an answer was shown: another endpoint may try, unless the request itself is at fault. */
  | { readonly ends: 'failed'; readonly kind: FailureKind; readonly code: ErrorCode; readonly charged: Charge }
  /** Content had been shown: the caller sees where the answer broke. */
  | { readonly ends: 'cut'; readonly kind: FailureKind; readonly code: ErrorCode; readonly charged: Charge };

/** One request as the upstream sees it. */
export interface UpstreamRequest {
  readonly dialect: Dialect;
  readonly stream: boolean;
  /** Which request on its connection it is, from 1. */
  readonly nth: number;
  /** Resolves once the caller has read content of the answer; breaks wait for it, so that they come after. */
  readonly seen: Promise<void>;
}

/** Who misbehaves, and at which level. */
export type Upstream =
  /** An HTTP server whose answers are odd. */
  | { readonly speaks: 'http'; answer(request: UpstreamRequest): Response | Promise<Response> }
  /** A TCP server that writes what no HTTP server would. */
  | { readonly speaks: 'bytes'; play(connection: ServerConnection, request: UpstreamRequest): void | Promise<void> }
  /** Nobody who would take a request. */
  | { readonly speaks: 'nothing'; readonly address: 'nobody' | 'unresolvable' | 'untrusted' | 'plain' };

export interface Fault {
  readonly name: string;
  /** The item of the list that it belongs to; see `list.ts`. */
  readonly of: RequiredFault;
  /** What the upstream does, as a clause: "answers 500". For `docs/failure-modes.md`. */
  readonly does: string;
  readonly upstream: Upstream;
  /** Milliseconds; generous ones where time is not the fault. */
  readonly deadlines?: Deadlines;
  /** More of the request. */
  readonly ask?: object;
  /** A good request goes first, so that there is a connection to reuse. */
  readonly warm?: true;
  /** How long it asks to be left alone: longer than the gateway would wait. */
  readonly pauseMs?: number;
  /** The text of a whole answer, where it is not the usual one. */
  readonly text?: string;
  readonly json: Outcome;
  readonly stream: Outcome;
  /** What is otherwise in a dialect, and why. */
  readonly except?: Readonly<Partial<Record<Dialect['name'], Exception>>>;
}

export interface Exception {
  /** As a clause: "it reports the prompt at once". */
  readonly because: string;
  /** Null where the fault makes no sense. */
  readonly json?: Outcome | null;
  readonly stream?: Outcome | null;
}

export interface Deadlines {
  readonly firstTokenMs: number;
  readonly idleMs: number;
  readonly totalMs: number;
}

/** Time that no fault but a slow one takes. */
export const PATIENT: Deadlines = { firstTokenMs: 30_000, idleMs: 30_000, totalMs: 40_000 };
/** So short that a test can wait for it, and still long enough for another endpoint to answer. */
export const HASTY: Deadlines = { firstTokenMs: 400, idleMs: 400, totalMs: 2_500 };

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

/** No answer came, behind the event that reports the prompt. */
const begun = (kind: FailureKind): Outcome => failed(kind, 'upstream_failed', 'begun');

/** The request was taken and not answered to its end: what it made is owed, and it should not be repeated blindly. */
export const lost = (kind: FailureKind): Outcome => failed(kind, 'upstream_failed', 'broken');

/** Nothing came in time. */
export const late: Outcome = { ends: 'failed', ...TIMED_OUT, charged: 'broken' };

/** Exceptions of a dialect that reports its prompt before anything else. */
export const onceBegun = (kind: FailureKind) => ({
  anthropic: { because: 'it reports the prompt at once', stream: begun(kind) },
});

/** Content came, and then the connection broke or what came made no sense. */
export const cut = (kind: FailureKind): Outcome => ({ ends: 'cut', kind, code: 'upstream_failed', charged: 'broken' });

/** Content came, and then no more in time. */
export const stalled: Outcome = { ends: 'cut', ...TIMED_OUT, charged: 'broken' };

/** Whether the same request meets the same end wherever it goes. */
export const isFinal = (outcome: Outcome): boolean => outcome.ends === 'failed' && outcome.kind === 'rejected';

/** Whether the caller may send the same again: what cost something, or only an operator can mend, it should not. */
export const isRepeatable = ({ kind, code, charged }: Outcome & { ends: 'failed' }): boolean =>
  charged === 'nothing' && kind !== 'auth' && kind !== 'not_found' && CONTRACT[code][3];

/** What health makes of an attempt that failed so. */
export type Verdict = 'none' | 'a fault' | 'a cool-down' | 'misconfigured';

/** Each kind of failure: what health makes of it, and the fault that shows it. */
export const VERDICTS: Readonly<Record<FailureKind, { readonly verdict: Verdict; readonly shownBy: string }>> = {
  auth: { verdict: 'misconfigured', shownBy: '401' },
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

/** What health makes of an outcome. */
export function verdictOn(outcome: Outcome): Verdict {
  const kind = outcome.ends === 'answered' ? outcome.after : outcome.kind;
  return kind === undefined ? 'none' : VERDICTS[kind].verdict;
}
