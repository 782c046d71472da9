import type { DecisionOutcome } from '../../core/decision-record.ts';
import type { ErrorCode } from '../../core/errors.ts';
import type { Facts } from '../../core/facts.ts';
import type { PolicySnapshot } from '../../core/snapshot.ts';
import type { Usage } from '../../core/usage.ts';
import type { Trace, TraceStep } from '../../telemetry/trace.ts';
import type { Platform } from '../receipt.ts';

const CHAT_ROUTE = '/v1/chat/completions';

/** What was judged of a request, whether a model was found or none. */
export interface Judged {
  /** With the rules that applied. */
  readonly facts: Facts;
  readonly snapshot: PolicySnapshot;
  /** How many models each kind of rejection had something against, in the order of `REJECTIONS`. */
  readonly rejections: ArrayLike<number>;
}

/** What came of a request that was carried out. */
export interface Settled {
  readonly outcome: DecisionOutcome;
  readonly platform: Platform;
}

/**
 * What is seen of one request, from its first byte until it is paid for and answered, whichever is last. Its line in
 * the log, its part of the metrics and its trace are all told from here, once, by the Observer.
 */
export class Observation {
  /** Of the request; outside it is `req_…`. */
  readonly id: number;
  /** When it came, ms on the gateway's clock. */
  readonly at: number;
  readonly method: string;
  /** Null while nothing is traced. */
  readonly trace: Trace | null;
  /** The pattern of its route, such as `/v1/decisions/:id`; `other` for what leads nowhere. */
  route = 'other';
  /** Of whoever it came from, once that is known: a key's ID, or a wallet's address. */
  keyId: string | null = null;
  /** HTTP status; 0 while nobody was answered. */
  status = 0;
  /** Of the error that was told in place of an answer; null for none. A stream that broke has its error in the outcome. */
  code: ErrorCode | null = null;
  /** Once it is known what it asks for, and of whom; null for what never came so far. */
  judged: Judged | null = null;
  /** `dec_…`, once there is a decision that is kept: what is refused for want of money leaves none. */
  decisionId: string | null = null;
  settled: Settled | null = null;
  /** What attempts that failed were charged for, as their providers reported it; null while there are none. */
  wasted: Usage[] | null = null;
  /** A kept answer was given again. */
  isReplayed = false;
  /** Its answer comes in pieces. */
  isStream = false;
  /** When its decision was asked for, ms on the gateway's clock; NaN before. */
  begunAt = Number.NaN;
  /** When the first call upstream was made; NaN when there was none. */
  dispatchedAt = Number.NaN;
  /** It was told of. */
  isOver = false;

  constructor(id: number, at: number, method: string, trace: Trace | null) {
    this.id = id;
    this.at = at;
    this.method = method;
    this.trace = trace;
  }

  waste(usage: Usage): void {
    this.wasted ??= [];
    this.wasted.push(usage);
  }

  /** It asked for a chat, whatever became of that. Another method on that route asks for nothing that there is. */
  get isChat(): boolean {
    return this.route === CHAT_ROUTE && this.method === 'POST';
  }

  /** Its caller left before there was anything to tell him. */
  get isUnanswered(): boolean {
    return this.status === 0 && this.code === null;
  }

  step(step: TraceStep): void {
    this.trace?.step(step);
  }
}

/** The selector that was asked for; `pinned` where a model was. */
export const selectorOf = ({ facts }: Judged): string => (facts.pinned ? 'pinned' : facts.model);
