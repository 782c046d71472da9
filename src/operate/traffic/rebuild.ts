import type { TrafficTable } from '../../store/traffic.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';

/**
 * Counts all buckets again that records still tell, beside a running server, which counts along.
 * @returns the moment before which buckets were kept as they are, ms since 1970; 0 for none
 * @throws SignalboxError, by rejecting, and StoreError
 */
export async function rebuildTraffic(
  { caller }: Principal,
  traffic: Pick<TrafficTable, 'count' | 'recount'>,
  now: () => number,
): Promise<number> {
  checkAction(caller, 'traffic.rebuild');
  let from = await traffic.recount();
  for (; from === null; from = await traffic.recount()) await traffic.count(now());
  while (await traffic.count(now()));
  return from;
}
