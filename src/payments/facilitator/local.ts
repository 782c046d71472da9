import { ExactEvmScheme } from '@x402/evm/exact/facilitator';
import { sha256, stringToHex } from 'viem';
import { Attempt } from './attempt.ts';
import {
  type Authorization,
  type Chain,
  type Facilitator,
  FacilitatorUnavailable,
  type NetworkMeans,
  type Settlement,
  type Verification,
} from './facilitator.ts';
import type { GasKey } from './gas-key.ts';
import type { Nodes } from './nodes.ts';
import { Purses } from './purses.ts';
import { traceOf, wordOf } from './words.ts';

export interface LocalOptions {
  readonly nodes: Nodes;
  readonly chain: Chain;
  readonly gasKey: GasKey;
  readonly means: NetworkMeans;
  readonly confirmationTimeoutMs: number;
}

/** Reasons that are not the payer's: the asset is not what the policy says. */
const OF_THE_ASSET = new Set([
  'asset_not_deployed_contract',
  'invalid_exact_evm_eip3009_not_supported',
  'invalid_exact_evm_token_name_mismatch',
  'invalid_exact_evm_token_version_mismatch',
]);

/** Settles in this process, with a key of its own that pays for the transactions. */
export class LocalFacilitator implements Facilitator {
  readonly #options: LocalOptions;
  readonly #closed = new AbortController();
  readonly #purses: Purses;

  constructor(options: LocalOptions) {
    this.#options = options;
    this.#purses = new Purses(options.nodes, options.confirmationTimeoutMs);
  }

  async verify(authorization: Authorization): Promise<Verification> {
    const { nodes } = this.#options;
    const attempt = this.#attempt(authorization);
    const { payload, requirements } = authorization;
    const answer = await new ExactEvmScheme(attempt.signer()).verify(payload, requirements);
    if (attempt.unavailable) throw attempt.unavailable;
    if (answer.isValid) return { valid: true };
    const reason = wordOf(answer.invalidReason);
    if (OF_THE_ASSET.has(reason)) throw new FacilitatorUnavailable(`The asset of ${nodes.id} is refused: ${reason}.`);
    return { valid: false, reason };
  }

  settle(authorization: Authorization): Promise<Settlement> {
    return this.#purses.within(authorization, () => this.#settle(authorization));
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

  async #settle(authorization: Authorization): Promise<Settlement> {
    const attempt = this.#attempt(authorization);
    const { payload, requirements } = authorization;
    const config = { pendingSettlementStore: attempt.notes() };
    const scheme = new ExactEvmScheme(attempt.signer(), config);
    const answer = await scheme.settle(payload, requirements).catch(() => null);
    const { transaction } = attempt;
    const reason = wordOf(answer?.errorReason);
    if (transaction === null) {
      await attempt.forget();
      if (attempt.unavailable) throw attempt.unavailable;
      if (answer === null) throw new FacilitatorUnavailable('The library has failed; nothing was sent.');
      return this.#refused(authorization, reason);
    }
    if (attempt.receipt === null) return { state: 'unknown', reason: 'settlement_pending', transaction };
    await attempt.forget();
    if (answer?.success) return { state: 'captured', transaction };
    if (attempt.receipt.status === 'success') return { state: 'unknown', reason, transaction };
    return this.#refused(authorization, reason).catch(() => ({ state: 'unknown', reason, transaction }));
  }

  /**
   * The contract refused it. Anybody who has seen an authorization can have it carried out: where somebody did, the
   * money came, and the chain's word is booked.
   */
  async #refused(authorization: Authorization, reason: string): Promise<Settlement> {
    const { chain, means } = this.#options;
    const fate = await chain.fate(traceOf(authorization, means.now()));
    if (fate.state === 'used') return { state: 'unknown', reason, transaction: fate.transaction };
    return { state: 'failed', reason };
  }

  #attempt({ payload, payer, nonce, requirements }: Authorization): Attempt {
    const { nodes, gasKey, means, confirmationTimeoutMs } = this.#options;
    // Of the signature too, as another authorization may have the same nonce.
    const signed = `${requirements.asset} ${payer} ${nonce} ${payload.payload.signature}`;
    return new Attempt({
      nodes,
      gasKey,
      pending: means.pending,
      key: `${nodes.id} ${sha256(stringToHex(signed))}`,
      confirmationTimeoutMs,
      signal: this.#closed.signal,
    });
  }
}
