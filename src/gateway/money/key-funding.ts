import { takenBy } from '../../access/idempotency/run.ts';
import type { PlatformPayment } from '../../core/decision/answer.ts';
import { type Microcredits, toCredits } from '../../core/money/credits.ts';
import { isAddress } from '../../core/money/holder-address.ts';
import type { Caller } from '../../core/people/caller.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import { scrub } from '../../host/telemetry/secrets.ts';
import type { FundShortage } from '../../ledger/available-funds.ts';
import type { Hold } from '../../ledger/hold.ts';
import type { HoldRequest } from '../../ledger/hold-request.ts';
import { orOverloaded, overloadedBy } from '../../store/unwritten.ts';
import {
  FundedHold,
  type Funding,
  type FundingParts,
  type FundingRequest,
  type FundingTerms,
  HoldRefused,
  type RequestClaim,
} from './funding.ts';
import { shortageError } from './shortage.ts';

const UNWRITTEN = 'The ledger cannot be written, so no request can be charged; try again.';

/** With key funding, a key pays from the key's own funds: its budgets, the budgets of the policy, and its balance. */
export class KeyFunding implements Funding {
  readonly caller: Caller;
  readonly provedCaller = null;
  readonly identity = null;
  readonly #parts: FundingParts;
  readonly #agentWallet: string | null;

  constructor(parts: FundingParts, { request }: Pick<FundingRequest, 'request'>, key: Caller) {
    this.caller = key;
    this.#parts = parts;
    this.#agentWallet = recordedWallet(request);
  }

  terms(): FundingTerms {
    const runtime = this.#parts.lease();
    return {
      runtime,
      caller: this.caller,
      cap: null,
      windowsOnly: false,
      holder: null,
      agentWallet: this.#agentWallet,
    };
  }

  async reserve(request: HoldRequest, claim: RequestClaim | null): Promise<FundedHold> {
    const claiming = claim ? { ...request, also: [claim.claim(request.id)] } : request;
    let hold: Hold | FundShortage;
    try {
      hold = await this.#parts.ledger.reserve(claiming);
    } catch (cause) {
      throw overloadedBy(claim ? takenBy(cause) : cause, UNWRITTEN);
    }
    if ('why' in hold) throw new HoldRefused(hold);
    return holdOf(hold, request);
  }

  async mend(cause: unknown): Promise<unknown> {
    return cause instanceof HoldRefused ? shortageError(cause.shortage, this.caller, this.#parts) : cause;
  }
}

/** Returns `agent_wallet` as the books store it. Secrets are masked, because the books are never deleted. */
export const recordedWallet = ({ routing: { agentWallet: named } }: ModelRequest): string | null =>
  named === undefined ? null : scrub(named);

/** Makes a hold on the funds of the request's caller, or on the balance of another holder. */
export function holdOf(hold: Hold, { caller, holder: other }: HoldRequest): FundedHold {
  const holder = other ?? caller.keyId;
  return isAddress(holder) ? new BalanceHold(hold, holder) : new FundedHold(hold);
}

/** A hold on a wallet's balance. */
class BalanceHold extends FundedHold {
  readonly #holder: string;

  constructor(hold: Hold, holder: string) {
    super(hold);
    this.#holder = holder;
  }

  override shown(charged: Microcredits): PlatformPayment {
    return {
      id: null,
      source: 'wallet_credits',
      payer: this.#holder,
      state: null,
      scheme: null,
      network: null,
      asset: null,
      paid_atomic: null,
      transaction: null,
      paid_credits: 0,
      fee_credits: 0,
      balance_added_credits: toCredits(0 - charged),
    };
  }
}

/** Turns a StoreError into `overloaded`, because money that cannot be recorded must not be spent. */
export const orUnwritten = <T>(write: () => Promise<T>): Promise<T> => orOverloaded(UNWRITTEN, write);
