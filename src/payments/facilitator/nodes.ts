import {
  BaseError,
  type Chain,
  createPublicClient,
  defineChain,
  type EIP1193RequestFn,
  fallback,
  HttpRequestError,
  http,
  type PublicClient,
  RpcRequestError,
  type Transport,
} from 'viem';
import { FacilitatorUnavailable } from './facilitator.ts';

/** How long one node is waited for, ms. */
const TIMEOUT_MS = 4_000;

/** Nothing is decompressed: a few bytes could become any number. */
const FETCH = { redirect: 'error', decompress: false, headers: { 'accept-encoding': 'identity' } } as const;

/** The nodes of one chain. A node of another chain is never asked for more than which one it serves. */
export interface Nodes {
  /** CAIP-2 of their chain. */
  readonly id: string;
  /** Asks them in turn, until one answers. */
  readonly client: PublicClient<Transport, Chain>;
  /** Each of them alone, asked once. */
  readonly each: readonly EIP1193RequestFn[];
}

/** A node that was not asked: it serves another chain, or did not say which. */
class NodeNotAsked extends Error {
  override readonly name = 'NodeNotAsked';
}

export function openNodes(chainId: number, urls: readonly string[]): Nodes {
  const chain = defineChain({
    id: chainId,
    name: `eip155:${chainId}`,
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [] } },
    // A limit only: what is not used is not paid.
    fees: { baseFeeMultiplier: 2 },
  });
  // Without viem's own retries, which wait for as long as a node asks for.
  const options = { timeout: TIMEOUT_MS, retryCount: 0, fetchOptions: FETCH };
  const nodes = urls.map((url) => guardChain(http(url, options), chainId));
  // The first has a second chance where no other is behind it.
  const turns = nodes.length > 1 ? nodes : [...nodes, ...nodes];
  return {
    id: `eip155:${chainId}`,
    // A contract must not name servers for us to call.
    client: createPublicClient({ chain, transport: fallback(turns, { retryCount: 0 }), ccipRead: false }),
    each: nodes.map((node) => node({ chain, retryCount: 0 }).request),
  };
}

/** Lets nothing through to a node before it has said that it serves this chain. */
function guardChain(transport: Transport, chainId: number): Transport {
  let looked: Promise<void> | null = null;
  return (options) => {
    const node = transport(options);
    const look = async () => {
      const served = await node.request({ method: 'eth_chainId' }).catch(() => null);
      if (Number(served) === chainId) return;
      looked = null;
      throw new NodeNotAsked('The node serves another chain, or does not say which.');
    };
    // What a call answers depends on its method, which is handed on as it is.
    const request = (async (call, how) => {
      if (call.method !== 'eth_chainId') {
        looked ??= look();
        await looked;
      }
      const result: unknown = await node.request(call, how);
      // So the library takes an empty answer.
      if (result === undefined) throw new Error('The node has answered nothing.');
      return result;
    }) as EIP1193RequestFn;
    return { ...node, request };
  };
}

/** What nodes say of a call that was carried out and refused by the contract. */
const REVERTED = /revert|vm exception|vm execution error|invalid opcode/i;

/** Whether a contract refused the call. Any other failure is a node's, which tells nothing of the call. */
export function isRevert(error: unknown): boolean {
  const answer = rpcErrorOf(error);
  return answer !== null && (answer.code === 3 || REVERTED.test(answer.details));
}

/** Whether a node answered, though not with what it was asked for. */
export const isRpcError = (error: unknown): boolean => rpcErrorOf(error) !== null;

/** Refusals after which a transaction is certainly not with the node. Other words may hide that it was passed on. */
const REFUSED =
  /nonce too (?:low|high)|insufficient funds|underpriced|intrinsic gas|exceeds block gas|less than block base fee|gas price|tx fee|fee cap|txpool is full|invalid (?:sender|signature|chain)/i;

export type NodeRefusal = 'nonce' | 'other';

/** Why a transaction that was sent is certainly not taken by the node; null where it may be. */
export function refusalOf(error: unknown): NodeRefusal | null {
  if (error instanceof NodeNotAsked) return 'other';
  const answer = rpcErrorOf(error);
  if (answer) {
    if (!REFUSED.test(answer.details)) return null;
    return /nonce|underpriced/i.test(answer.details) ? 'nonce' : 'other';
  }
  const failure = error instanceof BaseError ? error.walk((one) => one instanceof HttpRequestError) : null;
  if (!(failure instanceof HttpRequestError)) return null;
  if (failure.status !== undefined) return failure.status >= 400 && failure.status < 500 ? 'other' : null;
  return isUnreached(failure.cause) ? 'other' : null;
}

/** Whether no connection came about, so that nothing was sent. */
export function isUnreached(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return (
    typeof code === 'string' && /^(?:ConnectionRefused|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|FailedToOpenSocket)$/.test(code)
  );
}

function rpcErrorOf(error: unknown): RpcRequestError | null {
  const found = error instanceof BaseError ? error.walk((one) => one instanceof RpcRequestError) : null;
  return found instanceof RpcRequestError ? found : null;
}

/** Its own words only: those of the library name the node's address, which may hold a key. */
export const noAnswerError = (id: string): FacilitatorUnavailable =>
  new FacilitatorUnavailable(`No node of ${id} answers as it should.`);

/** An answer of the nodes. Rejects with FacilitatorUnavailable where none has one. */
export async function orUnavailable<T>(nodes: Nodes, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    if (cause instanceof FacilitatorUnavailable) throw cause;
    throw noAnswerError(nodes.id);
  }
}
