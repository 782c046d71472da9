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
import { codeOf } from '../../core/thrown.ts';
import { FacilitatorUnavailable } from './facilitator.ts';

/** The timeout of a call to one node, ms. */
const TIMEOUT_MS = 4_000;

/** Responses are not decompressed, because a few compressed bytes could expand to any size. */
const FETCH = { redirect: 'error', decompress: false, headers: { 'accept-encoding': 'identity' } } as const;

/** The nodes of a chain. A node that has not confirmed its chain gets no other call. */
export interface Nodes {
  /** The CAIP-2 ID of the chain. */
  readonly id: string;
  /** Calls the nodes in turn until one answers. */
  readonly client: PublicClient<Transport, Chain>;
  /** Each function calls a single node, without retries. */
  readonly each: readonly EIP1193RequestFn[];
}

/** A node was not called, because it serves another chain or did not report its chain. */
class NodeNotAsked extends Error {
  override readonly name = 'NodeNotAsked';
}

export function openNodes(chainId: number, urls: readonly string[]): Nodes {
  const chain = defineChain({
    id: chainId,
    name: `eip155:${chainId}`,
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [] } },
    // The base fee multiplier is only an upper limit: the chain does not charge an unused gas price.
    fees: { baseFeeMultiplier: 2 },
  });
  // viem's own retries are off, because they wait for as long as a node demands.
  const options = { timeout: TIMEOUT_MS, retryCount: 0, fetchOptions: FETCH };
  const nodes = urls.map((url) => confirmingChain(http(url, options), chainId));
  // A single node gets a second try.
  const turns = nodes.length > 1 ? nodes : [...nodes, ...nodes];
  return {
    id: `eip155:${chainId}`,
    // CCIP reads are off, because a contract could otherwise make this server call any URL.
    client: createPublicClient({ chain, transport: fallback(turns, { retryCount: 0 }), ccipRead: false }),
    each: nodes.map((node) => node({ chain, retryCount: 0 }).request),
  };
}

/** Sends no call to a node before the node has confirmed its chain. */
function confirmingChain(transport: Transport, chainId: number): Transport {
  let looked: Promise<void> | null = null;
  return (options) => {
    const node = transport(options);
    const look = async () => {
      const served = await node.request({ method: 'eth_chainId' }).catch(() => null);
      if (Number(served) === chainId) return;
      looked = null;
      throw new NodeNotAsked('The node serves a different chain, or does not report its chain.');
    };
    // The type of the result depends on the method.
    const request = (async (call, how) => {
      if (call.method !== 'eth_chainId') {
        looked ??= look();
        await looked;
      }
      const result: unknown = await node.request(call, how);
      // The library would accept an empty response.
      if (result === undefined) throw new Error('The response of the node has no result.');
      return result;
    }) as EIP1193RequestFn;
    return { ...node, request };
  };
}

/** Messages with which nodes report that the contract reverted a call. */
const REVERTED = /revert|vm exception|vm execution error|invalid opcode/i;

/** Whether a contract refused the call. Any other failure belongs to the node, and says nothing about the call. */
export function isRevert(error: unknown): boolean {
  const answer = rpcErrorOf(error);
  return answer !== null && (answer.code === 3 || REVERTED.test(answer.details));
}

/** Whether a node answered with an error. */
export const isRpcError = (error: unknown): boolean => rpcErrorOf(error) !== null;

/**
 * Errors after which a node certainly does not have the transaction. After any other error, the node may have forwarded the transaction.
 */
const REFUSED =
  /nonce too (?:low|high)|insufficient funds|underpriced|intrinsic gas|exceeds block gas|less than block base fee|gas price|tx fee|fee cap|txpool is full|invalid (?:sender|signature|chain)/i;

export type NodeRefusal = 'nonce' | 'other';

/** Returns why a node certainly did not accept a transaction; null if the node may have accepted the transaction. */
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

/** Whether no connection was made, so that nothing was sent. */
export function isUnreached(error: unknown): boolean {
  return /^(?:ConnectionRefused|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|FailedToOpenSocket)$/.test(codeOf(error));
}

function rpcErrorOf(error: unknown): RpcRequestError | null {
  const found = error instanceof BaseError ? error.walk((one) => one instanceof RpcRequestError) : null;
  return found instanceof RpcRequestError ? found : null;
}

/** The error leaves out the library's message, which contains the node's address and possibly a key. */
export const noAnswerError = (id: string): FacilitatorUnavailable =>
  new FacilitatorUnavailable(`No node of ${id} gives a valid answer.`);

/** Maps every failure to FacilitatorUnavailable. */
export async function orUnavailable<T>(nodes: Nodes, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    if (cause instanceof FacilitatorUnavailable) throw cause;
    throw noAnswerError(nodes.id);
  }
}
