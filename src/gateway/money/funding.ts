import type { KeyedRequest } from '../../access/idempotency/idempotency.ts';
import type { IdempotentRun } from '../../access/idempotency/run.ts';
import type { PlatformPayment } from '../../core/decision/answer.ts';
import type { Decision } from '../../core/decision/decision.ts';
import type { SignalboxError } from '../../core/errors.ts';
import type { Microcredits } from '../../core/money/credits.ts';
import type { Caller } from '../../core/people/caller.ts';
import type { PolicySnapshot } from '../../core/policy/snapshot.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import type { Log } from '../../host/telemetry/log.ts';
import type { FundShortage } from '../../ledger/available-funds.ts';
import type { Hold } from '../../ledger/hold.ts';
import type { HoldRequest } from '../../ledger/hold-request.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Runtime } from '../../policy/runtime/runtime.ts';
import type { Write } from '../../store/store.ts';

/** The parts of a gateway that a funding uses. */
export interface FundingParts {
  /** Returns the active runtime. A request gets the runtime once and keeps it until the request ends. */
  lease(): Runtime;
  readonly ledger: Ledger;
  readonly log: Log;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** A request whose payer is not yet known. */
export interface FundingRequest {
  readonly request: ModelRequest;
  /** The API key that the request came with; null for none. */
  readonly key: Caller | null;
  /** The request's `Idempotency-Key`; null for none. A payment is valid only for the request with that key. */
  readonly idempotencyKey: string | null;
  /** The URL that the request was sent to. */
  readonly url: string;
  /** The headers of the HTTP request. They may contain a payment. */
  readonly headers: Pick<Headers, 'get'>;
  /**
   * Decides the request without carrying it out, for a quote.
   * @throws SignalboxError if no model is left, or the funds cover none
   */
  readonly decide: (terms: DecisionTerms) => Promise<QuotedDecision>;
}

/** A decision that is only priced. */
export interface QuotedDecision {
  readonly runtime: Runtime;
  readonly decision: Decision;
  /** The names of the guards that did not run, because they call a service. */
  readonly guardsNotRun: readonly string[];
}

/**
 * Finds who pays for requests; a gateway has one funding source. API keys and x402 are the implementations. `test/http/voucher-funding.ts`
 * is a small example of another kind.
 */
export interface FundingSource {
  /** The headers that describe a payment. Errors and repeated answers have these headers, too. */
  readonly headerNames: readonly string[];
  /**
   * Finds who pays for a request.
   * @throws SignalboxError for a contradictory request, or for a refused payment. If another payment would be accepted, the error says how
   * to pay.
   */
  of(request: FundingRequest): Funding | Promise<Funding>;
  /**
   * Checks the payer that a request names, for a recommendation.
   * @throws SignalboxError for an unknown name, or a name that the key may not use
   */
  checkNamed(request: ModelRequest, key: Caller): void;
  /** How callers without a key are admitted. */
  readonly keyless: KeylessAdmission;
  /** @throws SignalboxError `insufficient_permissions` for a payer that the operator has blocked */
  checkBlocked(caller: Caller): void;
  /** Returns the payments that a recommendation mentions under a policy; null if the policy accepts none. */
  adviceUnder(policy: Pick<PolicySnapshot, 'payments'>): FundingAdvice | null;
}

/** How the server admits callers who have no key and pay for each request. */
interface KeylessAdmission {
  /** Whether a policy admits callers without a key. */
  isOpen(policy: Pick<PolicySnapshot, 'payments'>): boolean;
  /** The largest body that is read from callers without a key, in bytes; Infinity if callers without a key have no limit of their own. */
  bodyBytesMax(policy: Pick<PolicySnapshot, 'payments'>): number;
  /** @throws SignalboxError for a payment in a form that is not accepted */
  checkHeaders(headers: Pick<Headers, 'has'>): void;
  /**
   * Returns a sentence that tells a caller whose key was refused how to pay instead.
   * @param keyHeader the name of the header that had the key, as it is shown
   */
  advice(keyHeader: string): string;
}

/** The payments that a recommendation mentions. It spends nothing itself. */
interface FundingAdvice {
  /** Whether a caller without a balance would be required to pay. */
  mayPay(caller: Caller): boolean;
  quoteOf(decision: Decision): PaymentEstimate;
}

/** `payment_quote`: the most that a quote for the request would amount to, before a balance pays part of it. */
export type PaymentEstimate = {
  readonly schemes: readonly string[];
  readonly max_credits: number;
  readonly max_atomic: readonly { readonly network: string; readonly asset: string; readonly amount_atomic: string }[];
};

/** The terms under which a request is decided. */
export interface DecisionTerms {
  readonly runtime: Runtime;
  /** The caller whose rules, limits and models apply to the decision. */
  readonly caller: Caller;
  /** The most that the request may cost in addition to the limit of its own `budget_limit`; null if only `budget_limit` applies. */
  readonly cap: Microcredits | null;
  /** Whether the caller's balance is ignored, because the payment into it has not yet been made. */
  readonly windowsOnly: boolean;
}

/** The terms under which a request is decided and carried out. */
export interface FundingTerms extends DecisionTerms {
  /** The holder whose balance pays instead of the caller's own balance; null for the caller's own. */
  readonly holder: string | null;
  /** The wallet that the request names, as the books store it; null for none. */
  readonly agentWallet: string | null;
}

/** Identifies a request by its payment, so that a repeat is recognized without an API key. */
export interface RepeatIdentity extends KeyedRequest {
  /** The word for the identity in messages, and the header that has it. */
  readonly label: string;
  readonly param: string;
}

/**
 * A claim of the name of a request. It is stored before a provider is called. The program calls either `write` or `drop` of a claim, once.
 */
export type RequestClaim = Pick<IdempotentRun, 'claim' | 'begin'>;

/**
 * The way in which a request is paid for. The request is decided under the payer's `terms`, and then `reserve` sets the worst case of the
 * request aside, once. An error of `terms` or `reserve` goes through `mend` before the caller receives it.
 */
export interface Funding {
  /** The sender of the request; null while the request is unpaid. */
  readonly caller: Caller | null;
  /**
   * A caller without a key whose payment has proved the caller's identity. Once this caller is set, the request counts against the caller's
   * rate limits.
   */
  readonly provedCaller: Caller | null;
  /** The identity by which a repeat of the request is recognized; null if a repeat is recognized by the API key and the body. */
  readonly identity: RepeatIdentity | null;
  /**
   * Returns the terms of the request, with the runtime that is active or was quoted for.
   * @throws Error that `mend` turns into a public error, for example for an unpaid request
   */
  terms(): FundingTerms;
  /**
   * Sets the worst case of a decided request aside. If the caller offered a payment, the payment is settled first. If `reserve` throws, no
   * money is held.
   * @param request amounts in microcredits, the amount for the chosen model first
   * @param claim the claim of the request's name, which must be durable before money moves; null for a request without a name
   * @throws NameTaken if another run has the name; HoldRefused; Error that `mend` turns into a public error
   */
  reserve(request: HoldRequest, claim: RequestClaim | null): Promise<FundedHold>;
  /**
   * Returns the error to answer for a request that ended before it ran. If a payment would help, the error says how to pay; else the error
   * is the cause itself.
   * @param cause thrown by `terms`, the decision or `reserve`
   */
  mend(cause: unknown): Promise<unknown>;
}

/** Thrown if the books refuse the hold of a request that seemed affordable when it was decided. */
export class HoldRefused extends Error {
  readonly shortage: FundShortage;

  constructor(shortage: FundShortage) {
    super('the funds of the request do not cover its cost');
    this.shortage = shortage;
  }
}

const NO_HEADERS: Readonly<Record<string, string>> = {};
const NO_WRITES: readonly Write[] = [];

/** Money that is set aside for a request, with the payment details to show to its caller. A key's own funds have no such details. */
export class FundedHold {
  readonly hold: Hold;
  /**
   * Whether a payment was settled for the money that is set aside. A settlement takes seconds that do not count as the gateway's own time.
   */
  readonly isSettledPayment: boolean;
  /** The headers of the answer, by their lower-case names. */
  readonly headers: Readonly<Record<string, string>>;

  /** @param paid the headers of a payment that was settled for the money; null for none */
  constructor(hold: Hold, paid: Readonly<Record<string, string>> | null = null) {
    this.hold = hold;
    this.isSettledPayment = paid !== null;
    this.headers = paid ?? NO_HEADERS;
  }

  /**
   * Returns the writes that end a payment. `hold.settle` calls this method once, and commits these writes together with the settlement.
   * @param _charged microcredits; 0 if nothing was answered
   */
  settlementWrites(_charged: Microcredits): readonly Write[] {
    return NO_WRITES;
  }

  /**
   * Returns `platform.payment` for the answer; null for a key's own funds.
   * @param _charged microcredits
   */
  shown(_charged: Microcredits): PlatformPayment | null {
    return null;
  }

  /**
   * Returns the error to answer for a request that failed after this money was set aside.
   * @param _isKept whether a repeat gets the same error without another payment
   */
  errorOf(error: SignalboxError, _isKept: boolean): SignalboxError {
    return error;
  }
}
