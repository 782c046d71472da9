import { SignalboxError } from '../../src/core/errors.ts';
import { toCredits } from '../../src/core/money/credits.ts';
import type { Caller } from '../../src/core/people/caller.ts';
import type {
  FundedHold,
  Funding,
  FundingParts,
  FundingRequest,
  FundingSource,
  RepeatIdentity,
  RequestClaim,
} from '../../src/gateway/money/funding.ts';
import { KeyFunding } from '../../src/gateway/money/key-funding.ts';
import { isShortage } from '../../src/ledger/available-funds.ts';
import type { HoldRequest } from '../../src/ledger/hold-request.ts';

const VOUCHER = 'x-voucher';
const VOUCHER_USED = 'x-voucher-used';
/** The value of a voucher, in microcredits. */
const WORTH = 5_000_000;

/**
 * A third funding in addition to keys and x402: a header names a voucher, which pays for one request. This file contains all of it; the
 * pipeline, the server and the replay only know the `FundingSource` interface.
 */
export const voucherFunding = (parts: FundingParts): FundingSource => ({
  headerNames: [VOUCHER_USED],
  of: async (request) =>
    request.key ? new KeyFunding(parts, request, request.key) : new VoucherFunding(parts, request),
  keyless: {
    isOpen: () => true,
    bodyBytesMax: () => 10_000,
    checkHeaders(headers) {
      if (headers.has('x-coupon')) throw new SignalboxError('invalid_value', 'Coupons are not taken.');
    },
    advice: (keyHeader) => `To pay by voucher, omit the header ${keyHeader}.`,
  },
  checkBlocked({ keyId }) {
    if (keyId === 'voucher-stolen') throw new SignalboxError('insufficient_permissions', 'This voucher is blocked.');
  },
  checkNamed() {},
  adviceUnder: () => null,
});

class VoucherFunding implements Funding {
  readonly caller: Caller | null;
  readonly provedCaller: Caller | null;
  readonly identity: Funding['identity'];
  readonly #parts: FundingParts;
  readonly #voucher: string | null;

  constructor(parts: FundingParts, { headers }: FundingRequest) {
    this.#parts = parts;
    const voucher = headers.get(VOUCHER);
    this.#voucher = voucher;
    this.caller = voucher === null ? null : callerOf(voucher);
    this.provedCaller = this.caller;
    this.identity = voucher === null ? null : identityOf(voucher);
  }

  terms() {
    if (!this.caller)
      throw new SignalboxError('payment_required', 'Send a voucher.', { headers: { [VOUCHER]: 'needed' } });
    const runtime = this.#parts.lease();
    return { runtime, caller: this.caller, cap: WORTH, windowsOnly: false, holder: null, agentWallet: null };
  }

  async reserve(order: HoldRequest, claim: RequestClaim | null): Promise<FundedHold> {
    await claim?.begin(order.id);
    const hold = await this.#parts.ledger.reserve(order);
    if (isShortage(hold)) throw new SignalboxError('insufficient_quota', 'The voucher is not worth that much.');
    const headers = { [VOUCHER_USED]: this.#voucher ?? '' };
    return {
      hold,
      headers,
      isSettledPayment: false,
      settlementWrites: () => [],
      shown: () => null,
      errorOf: ({ code, message, info }, isKept) =>
        new SignalboxError(code, `${message} The voucher is ${isKept ? 'spent' : 'good'} still.`, info),
    };
  }

  async mend(cause: unknown): Promise<unknown> {
    if (!(cause instanceof SignalboxError) || cause.code !== 'budget_limit_too_low') return cause;
    const message = `A voucher is worth ${toCredits(WORTH)} Credits.`;
    return new SignalboxError('payment_invalid', message, { headers: { [VOUCHER]: 'larger' } });
  }
}

const identityOf = (voucher: string): RepeatIdentity => ({
  keyId: `voucher-${voucher}`,
  secret: voucher,
  idempotencyKey: voucher,
  body: Buffer.alloc(32, voucher),
  label: 'voucher',
  param: VOUCHER,
});

const callerOf = (voucher: string): Caller => ({
  keyId: `voucher-${voucher}`,
  scopes: new Set(['chat']),
  labels: {},
  models: null,
  limits: null,
  budgets: [],
});
