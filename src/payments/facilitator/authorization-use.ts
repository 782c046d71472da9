import { type Block, numberToHex, pad, parseEventLogs, type RpcLog, type TransactionReceipt } from 'viem';
import type { AuthorizationOutcome, AuthorizationQuery } from './facilitator.ts';
import { isRpcError, type Nodes } from './nodes.ts';
import { CANCELED, hex, TOKEN_ABI, USED } from './token-abi.ts';

/** Clocks differ, so the search starts this many seconds before the payment was first seen. */
const MARGIN_S = 900n;
/** Nodes have different limits for the range of a search. */
const PAGE_MAX = 1_000n;
const PAGE_MIN = 10n;

type Tip = Pick<Block<bigint, false, 'latest'>, 'number' | 'timestamp'>;

/**
 * Finds in the chain's logs how an authorization was used, up to a block. Returns null if no log shows a use. Rejects with the errors of
 * the nodes' client. A nonce can also be used by a cancellation or by another authorization, and a transaction can contain other transfers.
 * Therefore only the token's next transfer after the use counts.
 */
export async function findUse(nodes: Nodes, query: AuthorizationQuery, tip: Tip): Promise<AuthorizationOutcome | null> {
  const log = await firstLog(nodes, query, tip);
  if (log === null) return null;
  if (log.topics[0] === CANCELED) return { state: 'cancelled' };
  const transaction = log.transactionHash;
  if (transaction === null) return null;
  const receipt = await nodes.client.getTransactionReceipt({ hash: transaction });
  return hasPaid(receipt, query) ? { state: 'used', transaction } : { state: 'cancelled' };
}

/** Whether a transaction paid the authorized amount to the payee. */
function hasPaid(receipt: TransactionReceipt, query: AuthorizationQuery): boolean {
  const own = receipt.logs
    .filter(({ address }) => isEqual(address, query.asset))
    .sort((one, other) => one.logIndex - other.logIndex);
  const use = own.findIndex(({ topics }) => isOf(topics, USED, query));
  if (use < 0 || receipt.status !== 'success') return false;
  const [moved] = parseEventLogs({ abi: TOKEN_ABI, eventName: 'Transfer', logs: own.slice(use + 1) });
  if (!moved) return false;
  const { from, to, value } = moved.args;
  return isEqual(from, query.payer) && isEqual(to, query.payTo) && value === query.amount;
}

const isEqual = (one: string, other: string): boolean => hex(one) === hex(other);

const isOf = (topics: readonly string[], event: string, { payer, nonce }: AuthorizationQuery): boolean =>
  topics[0] === event && topics[1] === pad(hex(payer)) && topics[2] === hex(nonce);

/** Searches the logs page by page, with smaller pages if the node refuses. */
async function firstLog({ client }: Nodes, query: AuthorizationQuery, tip: Tip): Promise<RpcLog | null> {
  const { number: start } = await blockBefore(client, BigInt(Math.floor(query.since / 1000)) - MARGIN_S, tip);
  let page = PAGE_MAX;
  for (let from = start; from <= tip.number; ) {
    const to = from + page - 1n < tip.number ? from + page - 1n : tip.number;
    try {
      const logs = await client.request({
        method: 'eth_getLogs',
        params: [
          {
            address: hex(query.asset),
            topics: [[USED, CANCELED], pad(hex(query.payer)), hex(query.nonce)],
            fromBlock: numberToHex(from),
            toBlock: numberToHex(to),
          },
        ],
      });
      const log = logs.find(({ topics }) => isOf(topics, USED, query) || isOf(topics, CANCELED, query));
      if (log) return log;
      from = to + 1n;
    } catch (cause) {
      if (page <= PAGE_MIN || !isRpcError(cause)) throw cause;
      page = page / 2n > PAGE_MIN ? page / 2n : PAGE_MIN;
    }
  }
  return null;
}

/** Finds a block that is not younger than `time`, or the first block. The search goes back in growing steps, and then bisects. */
async function blockBefore(client: Nodes['client'], time: bigint, tip: Tip): Promise<Tip> {
  let late = tip;
  let early = tip;
  for (let step = 64n; early.timestamp > time && early.number > 0n; step *= 2n) {
    late = early;
    early = await client.getBlock({ blockNumber: early.number > step ? early.number - step : 0n });
  }
  while (late.number - early.number > 64n) {
    const middle = await client.getBlock({ blockNumber: (late.number + early.number) / 2n });
    if (middle.timestamp > time) late = middle;
    else early = middle;
  }
  return early;
}
