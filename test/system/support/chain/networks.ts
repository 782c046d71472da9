import type { PaymentPayload, PaymentRequired, PaymentRequirements } from '@x402/core/types';
import type { PrivateKeyAccount } from 'viem/accounts';
import type { FacilitatorPolicy, PaymentNetwork } from '../../../../src/core/policy/payments.ts';
import type {
  Authorization,
  AuthorizationQuery,
  GasNonces,
  GasQueue,
  NetworkHost,
  PendingSettlements,
} from '../../../../src/payments/facilitator/facilitator.ts';
import { queryOf } from '../../../../src/payments/facilitator/facilitator.ts';
import { type Authorized, type SignOptions, signPayment } from '../../../support/pay.ts';
import type { TestChain } from './chain.ts';

/** The variable in which `meansOf` puts the gas key. */
export const GAS_KEY = 'TEST_GAS_KEY';

const LOCAL = {
  mode: 'local',
  privateKeyEnv: GAS_KEY,
  confirmationTimeoutMs: 5_000,
  gasAlarmWei: 10n ** 15n,
} as const;

/** A policy's network on a test chain, settled in this process unless `changes` say otherwise. */
export function networkOn(chain: TestChain, changes: Partial<PaymentNetwork> = {}): PaymentNetwork {
  return {
    id: `eip155:${chain.chainId}`,
    chainId: chain.chainId,
    asset: { address: chain.token, name: 'USDC', version: '2', decimals: 6 },
    payTo: chain.payTo,
    rpcUrls: [chain.url],
    rpcUrlsEnv: null,
    facilitator: LOCAL,
    // A thousandth of a dollar is 1,000 atomic units and 1,000,000 microcredits.
    rate: { microcredits: 1_000n, atomic: 1n },
    ...changes,
  };
}

/** Settles in this process with another confirmation timeout. */
export const patientFor = (confirmationTimeoutMs: number): FacilitatorPolicy => ({ ...LOCAL, confirmationTimeoutMs });

export interface TestMeans extends NetworkHost {
  readonly alarms: string[];
  /** The stored notes. */
  readonly notes: Map<string, string>;
}

/** The options to open a network on a test chain: its gas key, and notes in memory. */
export function meansOf(chain: TestChain, changes: Partial<NetworkHost> = {}): TestMeans {
  const alarms: string[] = [];
  const notes = new Map<string, string>();
  const pending: PendingSettlements = {
    get: async (key) => notes.get(key),
    set: async (key, value) => void notes.set(key, value),
    delete: async (key) => void notes.delete(key),
  };
  const queues = new Map<string, GasQueue>();
  const gasNonces: GasNonces = {
    queueOf: (key) => queues.getOrInsertComputed(key, () => ({ tail: Promise.resolve(), last: null })),
    last: async () => null,
    isHeld: () => false,
    claim: () => ({ write: {}, release: () => {} }),
  };
  return {
    gasNonces,
    env: (name) => (name === GAS_KEY ? chain.gasKey : undefined),
    pending,
    now: Date.now,
    onAlarm: (message) => void alarms.push(message),
    alarms,
    notes,
    ...changes,
  };
}

/** An offer as Signalbox makes it, of this many atomic units. */
export function offerOf({ id, asset, payTo }: PaymentNetwork, amount: bigint): PaymentRequirements {
  return {
    scheme: 'exact',
    // Policies use the CAIP-2 form, and so do offers.
    network: id as PaymentRequirements['network'],
    amount: String(amount),
    asset: asset.address,
    payTo,
    maxTimeoutSeconds: 300,
    extra: { name: asset.name, version: asset.version },
  };
}

/** Makes an authorization for a network, signed by a payer. */
export async function authorize(
  account: PrivateKeyAccount,
  network: PaymentNetwork,
  amount: bigint,
  options?: SignOptions,
): Promise<Authorization> {
  const requirements = offerOf(network, amount);
  const required: PaymentRequired = { x402Version: 2, resource: { url: 'http://test' }, accepts: [requirements] };
  const payload: PaymentPayload = await signPayment(account, required, options);
  const { nonce, value, validBefore } = payload.payload.authorization as Authorized;
  const payer = account.address.toLowerCase();
  return { payload, requirements, payer, nonce, amount: BigInt(value), validBefore: Number(validBefore) };
}

/** A query to the chain about an authorization that was seen a minute ago. */
export const traceOf = (authorization: Authorization): AuthorizationQuery =>
  queryOf(authorization, Date.now() - 60_000);
