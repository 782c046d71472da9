import { ExactEvmScheme } from '@x402/evm/exact/facilitator';
import { sha256, stringToHex } from 'viem';
import { ChainAttempt } from './chain-attempt.ts';
import {
  type Authorization,
  type Chain,
  type Facilitator,
  FacilitatorUnavailable,
  type NetworkHost,
  queryOf,
  reasonCode,
  resultOfRefusal,
  type SettleResult,
  type Verification,
} from './facilitator.ts';
import type { GasKey } from './gas-key.ts';
import type { Nodes } from './nodes.ts';
import { SettlementLimit } from './settlement-limit.ts';

export interface LocalOptions {
  readonly nodes: Nodes;
  readonly chain: Chain;
  readonly gasKey: GasKey;
  readonly host: NetworkHost;
  readonly confirmationTimeoutMs: number;
}

/** Codes for an asset that does not match the policy. They are not the payer's fault. */
const ASSET_REASONS = new Set([
  'asset_not_deployed_contract',
  'invalid_exact_evm_eip3009_not_supported',
  'invalid_exact_evm_token_name_mismatch',
  'invalid_exact_evm_token_version_mismatch',
]);

/** Settles in this process with its own gas key. */
export class LocalFacilitator implements Facilitator {
  readonly #options: LocalOptions;
  readonly #closed = new AbortController();
  readonly #settlementLimit: SettlementLimit;

  constructor(options: LocalOptions) {
    this.#options = options;
    this.#settlementLimit = new SettlementLimit(options.nodes, options.confirmationTimeoutMs);
  }

  async verify(authorization: Authorization): Promise<Verification> {
    const { nodes } = this.#options;
    const attempt = this.#attempt(authorization);
    const { payload, requirements } = authorization;
    const answer = await new ExactEvmScheme(attempt.signer()).verify(payload, requirements);
    if (attempt.unavailable) throw attempt.unavailable;
    if (answer.isValid) return { valid: true };
    const reason = reasonCode(answer.invalidReason);
    if (ASSET_REASONS.has(reason)) throw new FacilitatorUnavailable(`The asset of ${nodes.id} is refused: ${reason}.`);
    return { valid: false, reason };
  }

  settle(authorization: Authorization): Promise<SettleResult> {
    return this.#settlementLimit.within(authorization, () => this.#settle(authorization));
  }

  watch(): Promise<void> {
    return this.#options.gasKey.watch();
  }

  get gasRatio(): number | null {
    return this.#options.gasKey.ratio;
  }

  close(): void {
    this.#closed.abort();
  }

  async #settle(authorization: Authorization): Promise<SettleResult> {
    const attempt = this.#attempt(authorization);
    const { payload, requirements } = authorization;
    const config = { pendingSettlementStore: attempt.notes() };
    const scheme = new ExactEvmScheme(attempt.signer(), config);
    const answer = await scheme.settle(payload, requirements).catch(() => null);
    const { transaction } = attempt;
    const reason = reasonCode(answer?.errorReason);
    if (transaction === null) {
      await attempt.forget();
      if (attempt.unavailable) throw attempt.unavailable;
      if (answer === null) throw new FacilitatorUnavailable('The x402 library failed. Nothing was sent.');
      return this.#refused(authorization, reason);
    }
    if (attempt.receipt === null) return { state: 'unknown', reason: 'settlement_pending', transaction };
    await attempt.forget();
    if (answer?.success) return { state: 'captured', transaction };
    if (attempt.receipt.status === 'success') return { state: 'unknown', reason, transaction };
    return this.#refused(authorization, reason).catch(() => ({ state: 'unknown', reason, transaction }));
  }

  /**
   * The contract refused it. Anybody who has seen an authorization can send it: if somebody did, the money arrived, and
   * the chain's outcome is booked.
   */
  #refused(authorization: Authorization, reason: string): Promise<SettleResult> {
    const { chain, host } = this.#options;
    return resultOfRefusal(chain, queryOf(authorization, host.now()), reason);
  }

  #attempt({ payload, payer, nonce, requirements }: Authorization): ChainAttempt {
    const { nodes, gasKey, host, confirmationTimeoutMs } = this.#options;
    // With the signature: another authorization may have the same nonce.
    const signed = `${requirements.asset} ${payer} ${nonce} ${payload.payload.signature}`;
    return new ChainAttempt({
      nodes,
      gasKey,
      pending: host.pending,
      key: `${nodes.id} ${sha256(stringToHex(signed))}`,
      confirmationTimeoutMs,
      signal: this.#closed.signal,
    });
  }
}
