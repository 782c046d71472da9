import type { KeyedRequest } from '../../access/idempotency/idempotency.ts';
import type { IdempotentRun } from '../../access/idempotency/run.ts';
import type { Caller } from '../../core/caller.ts';
import type { Microcredits } from '../../core/credits.ts';
import type { Decision } from '../../core/decision.ts';
import type { SignalboxError } from '../../core/errors.ts';
import type { ModelRequest } from '../../core/model-request.ts';
import type { PolicySnapshot } from '../../core/snapshot.ts';
import type { Log } from '../../host/telemetry/log.ts';
import type { FundShortage } from '../../ledger/available-funds.ts';
import type { Hold } from '../../ledger/hold.ts';
import type { HoldRequest } from '../../ledger/hold-request.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Runtime } from '../../policy/runtime/runtime.ts';
import type { Write } from '../../store/store.ts';
import type { PlatformPayment } from './receipt.ts';

/** The parts of a gateway that a funding works with. */
export interface FundingParts {
  /** The runtime in force; taken once per request and kept to its end. */
  lease(): Runtime;
  readonly ledger: Ledger;
  readonly log: Log;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** A request before its payer is known. */
export interface FundingRequest {
  readonly request: ModelRequest;
  /** The API key that it came with; null for none. */
  readonly key: Caller | null;
  /** Its `Idempotency-Key`; null for none. A payment is for the request of that name, and for no other. */
  readonly idempotencyKey: string | null;
  /** The URL that it was sent to. */
  readonly url: string;
  /** Of the HTTP request: one of them may bring a payment. */
  readonly headers: Pick<Headers, 'get'>;
  /**
   * Decides it without carrying it out, for a quote.
   * @throws SignalboxError when no model is left, or no money for it
   */
  readonly decide: (terms: DecisionTerms) => Promise<{ readonly runtime: Runtime; readonly decision: Decision }>;
}

/**
 * Finds who pays for requests; a gateway has one. Keys and x402 are the implementations, and `test/http/voucher-funding.ts`
 * is a small one of another kind.
 */
export interface FundingSource {
  /** The headers that tell of a payment: errors and repeats of an answer have them, too. */
  readonly headerNames: readonly string[];
  /**
   * Finds who pays for a request.
   * @throws SignalboxError for a request that contradicts itself, or whose payment is refused; the error tells how to
   * pay where another payment would be accepted.
   */
  of(request: FundingRequest): Funding | Promise<Funding>;
  /**
   * Checks the payer that a request names, for advice.
   * @throws SignalboxError for an unknown name, or one that the key may not use
   */
  checkNamed(request: ModelRequest, key: Caller): void;
  /** Admission of callers without a key. */
  readonly keyless: KeylessAdmission;
  /** @throws SignalboxError `insufficient_permissions` for a payer that the operator has blocked */
  checkBlocked(caller: Caller): void;
  /** The payments that advice tells of under a policy; null where it takes none. */
  adviceUnder(policy: Pick<PolicySnapshot, 'payments'>): FundingAdvice | null;
}

/** How callers are admitted who have no key and pay by the request. */
interface KeylessAdmission {
  /** Whether a policy admits them at all. */
  isOpen(policy: Pick<PolicySnapshot, 'payments'>): boolean;
  /** Bytes of the largest body that is read of them; Infinity for no bound of their own. */
  bodyBytesMax(policy: Pick<PolicySnapshot, 'payments'>): number;
  /** @throws SignalboxError for a payment in a form that is not taken */
  checkHeaders(headers: Pick<Headers, 'has'>): void;
  /**
   * Returns a sentence that tells a caller with a refused key how to pay instead.
   * @param keyHeader the name of the header that brought the key, as it is shown
   */
  advice(keyHeader: string): string;
}

/** Payments in advice, which itself spends nothing. */
interface FundingAdvice {
  /** Whether a caller without a balance would be asked to pay. */
  mayPay(caller: Caller): boolean;
  quoteOf(decision: Decision): PaymentEstimate;
}

/** `payment_quote`: the most that a request would be quoted for, before a balance pays its part. */
export type PaymentEstimate = {
  readonly schemes: readonly string[];
  readonly max_credits: number;
  readonly max_atomic: readonly { readonly network: string; readonly asset: string; readonly amount_atomic: string }[];
};

/** The terms on which a request is decided. */
export interface DecisionTerms {
  readonly runtime: Runtime;
  /** The caller whose rules, limits and models apply. */
  readonly caller: Caller;
  /** The most that the request may cost beside its own `budget_limit`; null for no more than that. */
  readonly cap: Microcredits | null;
  /** Whether the caller's balance is left out, because it is yet to be paid in. */
  readonly windowsOnly: boolean;
}

/** The terms on which it is carried out, too. */
export interface FundingTerms extends DecisionTerms {
  /** The holder whose balance pays in place of the caller's own; null for the caller's own. */
  readonly holder: string | null;
  /** The wallet that the request named, as the books keep it; null for none. */
  readonly agentWallet: string | null;
}

/** The name of a request that is known by its payment, so that a repeat is recognized without an API key. */
export interface RepeatIdentity extends KeyedRequest {
  /** The word for it in a text, and the header that brings it. */
  readonly label: string;
  readonly param: string;
}

/** The claim of a request on its name, stored before a provider is called. One of the two is called, once. */
export type RequestClaim = Pick<IdempotentRun, 'claim' | 'begin'>;

/**
 * The payer of one request, and the way of payment. The request is decided on its `terms`; then `reserve` sets its worst case aside,
 * once. An error of either goes through `mend` before the caller gets it.
 */
export interface Funding {
  /** The sender of the request; null while it is unpaid. */
  readonly caller: Caller | null;
  /** A caller without a key who has proved itself by its payment: its rate limits are counted from here on. */
  readonly provedCaller: Caller | null;
  /** Null where the API key and the body tell a repeat. */
  readonly identity: RepeatIdentity | null;
  /**
   * The terms of the request, with the runtime that is in force or was quoted for.
   * @throws Error that `mend` turns into a public one, such as for an unpaid request.
   */
  terms(): FundingTerms;
  /**
   * Sets the worst case of a decided request aside, having a payment settled where one was offered.
   * @param request amounts in microcredits, the choice's first
   * @param claim of its name, which must be durable before money moves; null for a request without one
   * @throws NameTaken where another run has the name, HoldRefused, and Error that `mend` turns into a public one, and then nothing
   * is held.
   */
  reserve(request: HoldRequest, claim: RequestClaim | null): Promise<FundedHold>;
  /**
   * Returns the error to answer for a request that ended before it ran: one that says how to pay where a payment would
   * help, else the cause itself.
   * @param cause thrown by `terms`, the decision or `reserve`
   */
  mend(cause: unknown): Promise<unknown>;
}

/** Thrown where the books refuse the hold of a request that the figures at its decision could pay. */
export class HoldRefused extends Error {
  readonly shortage: FundShortage;

  constructor(shortage: FundShortage) {
    super('the funds of the request lack the money');
    this.shortage = shortage;
  }
}

const NO_HEADERS: Readonly<Record<string, string>> = {};
const NO_WRITES: readonly Write[] = [];

/** Money that was set aside for a request, with the facts for its caller. A key's own funds have none to tell. */
export class FundedHold {
  readonly hold: Hold;
  /** Whether a payment was settled for it: that takes seconds, which are not the gateway's own. */
  readonly isSettledPayment: boolean;
  /** Headers of the answer, by their lower-case names. */
  readonly headers: Readonly<Record<string, string>>;

  /** @param paid the headers of a payment that was settled for it; null for none */
  constructor(hold: Hold, paid: Readonly<Record<string, string>> | null = null) {
    this.hold = hold;
    this.isSettledPayment = paid !== null;
    this.headers = paid ?? NO_HEADERS;
  }

  /**
   * Books the end of a payment, within `hold.settle`: called once, for the writes of its commit.
   * @param _charged microcredits; 0 where nothing was answered
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
   * Returns the error of a request that failed on this money, as it is answered.
   * @param _isKept whether a repeat gets the same error, and pays no more
   */
  errorOf(error: SignalboxError, _isKept: boolean): SignalboxError {
    return error;
  }
}
