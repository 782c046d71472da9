import { ExactEvmScheme } from '@x402/evm/exact/facilitator';
import { sha256, stringToHex } from 'viem';
import { ChainAttempt } from './chain-attempt.ts';
import {
  type Authorization,
  type Chain,
  type Facilitator,
  FacilitatorUnavailable,
  type NetworkHost,
  reasonCode,
  resultOfRefusal,
  type SettleResult,
  type Verification,
} from './facilitator.ts';
import type { GasKey } from './gas-key.ts';
import type { Nodes } from './nodes.ts';
import { SettlementLimit } from './settlement-limit.ts';

interface LocalOptions {
  readonly nodes: Nodes;
  readonly chain: Chain;
  readonly gasKey: GasKey;
  readonly host: NetworkHost;
  readonly confirmationTimeoutMs: number;
}

/** Codes for an asset that does not match the policy. The payer did not cause these errors. */
const ASSET_REASONS = new Set([
  'asset_not_deployed_contract',
  'invalid_exact_evm_eip3009_not_supported',
  'invalid_exact_evm_token_name_mismatch',
  'invalid_exact_evm_token_version_mismatch',
]);

/** A facilitator in this process that settles with the operator's own gas key. */
export function localFacilitator(options: LocalOptions): Facilitator {
  const { nodes, gasKey, host, confirmationTimeoutMs } = options;
  const closed = new AbortController();
  const settlementLimit = new SettlementLimit(nodes, confirmationTimeoutMs);
  const attemptOf = ({ payload, payer, nonce, requirements }: Authorization) => {
    // The key contains the signature, because another authorization may have the same nonce.
    const signed = `${requirements.asset} ${payer} ${nonce} ${payload.payload.signature}`;
    const key = `${nodes.id} ${sha256(stringToHex(signed))}`;
    return new ChainAttempt({
      nodes,
      gasKey,
      pending: host.pending,
      key,
      confirmationTimeoutMs,
      signal: closed.signal,
    });
  };
  return {
    async verify(authorization): Promise<Verification> {
      const attempt = attemptOf(authorization);
      const { payload, requirements } = authorization;
      const answer = await new ExactEvmScheme(attempt.signer()).verify(payload, requirements);
      if (attempt.unavailable) throw attempt.unavailable;
      if (answer.isValid) return { valid: true };
      const reason = reasonCode(answer.invalidReason);
      if (ASSET_REASONS.has(reason))
        throw new FacilitatorUnavailable(`The asset of ${nodes.id} is refused: ${reason}.`);
      return { valid: false, reason };
    },
    settle: (authorization) =>
      settlementLimit.within(authorization, () => settle(options, authorization, attemptOf(authorization))),
    watch: () => gasKey.watch(),
    get gasRatio() {
      return gasKey.ratio;
    },
    close: () => closed.abort(),
  };
}

/**
 * The contract may refuse an authorization because another party has already sent it. The money has then arrived, and the chain's outcome
 * is booked.
 */
async function settle(
  options: LocalOptions,
  authorization: Authorization,
  attempt: ChainAttempt,
): Promise<SettleResult> {
  const { payload, requirements } = authorization;
  const scheme = new ExactEvmScheme(attempt.signer(), { pendingSettlementStore: attempt.notes() });
  const answer = await scheme.settle(payload, requirements).catch(() => null);
  const { transaction } = attempt;
  const reason = reasonCode(answer?.errorReason);
  if (transaction === null) {
    await attempt.forget();
    if (attempt.unavailable) throw attempt.unavailable;
    if (answer === null) throw new FacilitatorUnavailable('The x402 library failed. Nothing was sent.');
    return resultOfRefusal(options, authorization, reason);
  }
  if (attempt.receipt === null) return { state: 'unknown', reason: 'settlement_pending', transaction };
  await attempt.forget();
  if (answer?.success) return { state: 'captured', transaction };
  const unknown = { state: 'unknown', reason, transaction } as const;
  if (attempt.receipt.status === 'success') return unknown;
  return resultOfRefusal(options, authorization, reason).catch(() => unknown);
}
