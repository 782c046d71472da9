import { type Awaitable, whenReady } from '../../core/awaitable.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { callerGone } from '../exchange/failure.ts';
import type { RunnableRequest } from '../exchange/runnable-request.ts';
import type { FundedHold, Funding, FundingTerms, RequestClaim } from '../money/funding.ts';
import { shuttingDown } from './drain.ts';
import type { Gateway } from './gateway.ts';
import type { PreparedRequest } from './prepared.ts';
import type { RequestContext } from './request-context.ts';

/** The name of a request. Requests with the same name are carried out once. */
export interface NamedRequest {
  readonly claim: RequestClaim;
  /** Whether the request continues after its caller has disconnected. */
  readonly toTheEnd: boolean;
}

/** A request that its surface has read, with its payer and the name by which repeats of the request are recognized. */
export interface FundedRequest {
  /** The request as its surface has read it. */
  readonly request: ModelRequest;
  readonly context: RequestContext;
  readonly funding: Funding;
  /**
   * Checks the caller again, and finds who pays for the request now.
   * @returns the same funding if the caller's terms have not changed
   * @throws SignalboxError if the caller may no longer send the request
   */
  fundingNow(): Promise<Funding>;
  /** Returns the secret of the caller's key, with which its answers are sealed; null if the request was sent without it. */
  secretOf(): string | null;
  /** The name of the request; null if it has none. */
  readonly named: NamedRequest | null;
}

/** Thrown after a wait if the terms of the payer have changed since the decision, so that the request must be decided again. */
export class TermsChanged extends Error {}

/** A request on its way to an answer. Each member is written by one step, and read by the steps that follow. */
export class ServedRequest {
  readonly gateway: Gateway;
  readonly funded: FundedRequest;
  readonly context: RequestContext;
  /** When the steps began, ms on the gateway's clock. */
  readonly startedAt: number;
  /** Who pays for the request. After a wait, the runner of the steps finds the payer again. */
  funding: Funding;
  /** The terms of the payer, from the beginning. After a wait, the runner of the steps finds them again. */
  terms!: FundingTerms;
  /** The request as models may receive it. The step "prepare" writes it. */
  prepared!: PreparedRequest;
  /** The decided request. The step "decide" writes it. */
  runnable!: RunnableRequest;
  isDecided = false;
  /** The money that is set aside. The step "reserve" writes it. */
  hold!: FundedHold;
  /** For the runner of the steps: whether the running step has returned before it goes on. */
  hasWaited = false;
  /** Whether the request counts as work that a shutdown waits for. The step "work" writes it. */
  isWorking = false;
  /** The answer of a model; null before the step "dispatch", which writes it. */
  exchange: Exchange | null = null;

  constructor(gateway: Gateway, funded: FundedRequest) {
    this.gateway = gateway;
    this.funded = funded;
    this.context = funded.context;
    this.funding = funded.funding;
    this.startedAt = gateway.clock();
  }

  /**
   * Checks what may have changed while a step waited, before the next step begins.
   * @throws SignalboxError if the server shuts down, if the caller may no longer send the request, or if the caller of a request that ends
   * with its caller has disconnected
   * @throws TermsChanged
   */
  checkAfterWait(): Awaitable<void> {
    // A shutdown waits for a request that has begun to work, and its money is set aside under the terms of its decision.
    if (this.isWorking) return;
    if (this.gateway.isDraining) throw shuttingDown();
    if (!this.funded.named?.toTheEnd && this.context.signal.aborted) throw callerGone();
    return whenReady(this.funded.fundingNow(), (funding) => this.#renew(funding));
  }

  #renew(funding: Funding): void {
    if (funding === this.funding) return;
    this.funding = funding;
    this.terms = funding.terms();
    if (this.isDecided) throw new TermsChanged('the terms of the payer have changed');
  }
}
