import { type Address, domainSeparator } from 'viem';
import type { PaymentNetwork } from '../../core/policy/payments.ts';
import { findUse } from './authorization-use.ts';
import {
  type AuthorizationOutcome,
  type AuthorizationQuery,
  type Chain,
  FacilitatorUnavailable,
} from './facilitator.ts';
import { isRevert, type Nodes, noAnswerError, orUnavailable } from './nodes.ts';
import { hex, TOKEN_ABI } from './token-abi.ts';

export function openChain(policy: PaymentNetwork, nodes: Nodes): Chain {
  let checked: Promise<void> | null = null;
  const checkAll = async () => {
    await checkNodes(policy, nodes);
    await checkAsset(policy, nodes);
  };
  return {
    check() {
      checked ??= checkAll().catch((cause) => {
        checked = null;
        throw cause;
      });
      return checked;
    },
    outcome: (query) => outcomeOf(nodes, query),
  };
}

/** Checks each node, because a node of another chain would be used as soon as the others fail. */
async function checkNodes({ id, chainId }: PaymentNetwork, { each }: Nodes): Promise<void> {
  const served = await Promise.all(
    each.map((request) =>
      request({ method: 'eth_chainId' })
        .then(Number)
        .catch(() => null),
    ),
  );
  for (const [i, one] of served.entries()) {
    if (one === null || one === chainId) continue;
    const which = each.length > 1 ? `Node ${i + 1} of ${each.length}` : 'The node';
    throw new Error(`${which} of the network ${id} serves the chain ${one}.`);
  }
  if (served.every((one) => one === null)) throw noAnswerError(id);
}

async function checkAsset({ id, chainId, asset }: PaymentNetwork, nodes: Nodes): Promise<void> {
  const address = hex(asset.address);
  const code = await orUnavailable(nodes, nodes.client.getCode({ address }));
  if (code === undefined) throw new Error(`The asset of the network ${id} has no contract at its address.`);
  const decimals = await read(nodes, address, 'decimals');
  if (decimals === null) throw new Error(`The asset of the network ${id} is not a token contract.`);
  if (decimals !== asset.decimals) {
    throw new Error(`The asset of the network ${id} has ${decimals} decimals, not ${asset.decimals}.`);
  }
  // Not every token contract has the called function.
  const separator = await read(nodes, address, 'DOMAIN_SEPARATOR');
  const { name, version } = asset;
  if (
    separator === null ||
    separator === domainSeparator({ domain: { name, version, chainId, verifyingContract: address } })
  )
    return;
  throw new Error(`The asset of the network ${id} does not sign as "${name}", version "${version}".`);
}

/** Calls a function of the token's contract. Null if the contract lacks the function. */
async function read(nodes: Nodes, address: Address, functionName: 'decimals' | 'DOMAIN_SEPARATOR') {
  try {
    return await nodes.client.readContract({ address, abi: TOKEN_ABI, functionName });
  } catch (cause) {
    if (isRevert(cause) || isEmptyResult(cause)) return null;
    throw noAnswerError(nodes.id);
  }
}

/** Whether a contract returned no data. */
const isEmptyResult = (error: unknown): boolean =>
  error instanceof Error && error.cause instanceof Error && error.cause.name === 'ContractFunctionZeroDataError';

async function outcomeOf(nodes: Nodes, query: AuthorizationQuery): Promise<AuthorizationOutcome> {
  const { client } = nodes;
  const block = await orUnavailable(nodes, client.getBlock({ includeTransactions: false }));
  const isUsed = await orUnavailable(
    nodes,
    client.readContract({
      address: hex(query.asset),
      abi: TOKEN_ABI,
      functionName: 'authorizationState',
      args: [hex(query.payer), hex(query.nonce)],
      // The state is read at the block whose time is compared.
      blockNumber: block.number,
    }),
  );
  if (!isUsed) return { state: 'unused', expired: block.timestamp >= BigInt(query.validBefore) };
  const use = await orUnavailable(nodes, findUse(nodes, query, block));
  if (use === null) {
    // A node may have deleted old blocks that it needs for its answer.
    throw new FacilitatorUnavailable(`No node of ${nodes.id} reports how an authorization was used.`);
  }
  return use;
}
