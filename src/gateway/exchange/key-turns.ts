import type { ProviderFailure } from '../../contract/parts.ts';
import type { PolicySnapshot } from '../../core/policy/snapshot.ts';
import type { Facts } from '../../core/request/facts.ts';
import type { Upstream } from '../../policy/runtime/upstream.ts';
import { drawByWeight } from '../../routing/spread.ts';
import type { PromptHistory } from '../prompt/affinity.ts';

/** The failures that concern the key: with the next key of the pool, the same request may succeed at once. */
const OF_KEY: ReadonlySet<ProviderFailure['kind']> = new Set(['rate_limited', 'auth', 'credit']);

/** Whether a failure concerns only the key, so that the provider itself is not at fault. */
export const isOfKey = ({ kind }: Pick<ProviderFailure, 'kind'>): boolean => OF_KEY.has(kind);

/**
 * Returns what a failed attempt has called: its key, and the provider unless only the key is at fault. A further attempt there is a retry.
 */
export const calledBy = ({ key, provider }: Upstream, failure: ProviderFailure): readonly string[] =>
  isOfKey(failure) ? [key] : [key, provider.name];

/** Whether two upstreams of a model are the same endpoint with different keys of its provider's pool. */
export const arePooled = (one: Upstream, other: Upstream): boolean =>
  one.pooled !== undefined &&
  one.key !== other.key &&
  one.provider === other.provider &&
  one.endpoint.upstream === other.endpoint.upstream;

/**
 * Orders the endpoints of a model for one request: the keys of a pool take turns, in proportion to their weights. Keys of the account that
 * the conversation stays at come before the other keys.
 * @param stay returns that account for a pool; null for none
 */
export function inTurn(
  endpoints: readonly number[],
  upstreams: readonly Upstream[],
  stay: (pool: readonly Upstream[]) => string | null,
): readonly number[] {
  if (endpoints.length < 2 || !endpoints.some((at) => upstreams[at]?.pooled)) return endpoints;
  const ordered: number[] = [];
  for (let from = 0; from < endpoints.length; ) {
    const pool = [upstreams[endpoints[from++]!]!];
    while (from < endpoints.length && continues(pool.at(-1)!, upstreams[endpoints[from]!]!))
      pool.push(upstreams[endpoints[from++]!]!);
    ordered.push(...(pool.length === 1 ? pool : turnOf(pool, stay(pool))).map(({ at }) => at));
  }
  return ordered;
}

/**
 * Returns the account of a pool at which a conversation stays: the account that has its prompt in the cache, or else the account that its
 * first messages draw by the weights of the keys. All servers draw the same account. Null for a prompt that is too short for a cache.
 */
export function accountIn(
  pool: readonly Upstream[],
  history: PromptHistory,
  facts: Facts,
  snapshot: PolicySnapshot,
): string | null {
  const known = history.accountFor(pool[0]!.model.id, snapshot);
  if (pool.some(({ account }) => account === known)) return known;
  const conversation = history.conversation(facts, snapshot);
  if (conversation === null) return null;
  const keys = pool.map((one) => ({ salt: one.salt, weight: weightOf(one) }));
  return pool[drawByWeight(keys, conversation)]!.account;
}

/** The same endpoint may be listed twice, and then begins again with the first key. */
const continues = (last: Upstream, next: Upstream): boolean =>
  arePooled(last, next) && (next.endpoint.account ?? 0) > (last.endpoint.account ?? 0);

/**
 * Gives the next turn to a key, by smooth weighted round robin: each key earns its weight, the key with the most credit serves, and pays
 * for all. Equal keys alternate, and a key that was paused does not catch up on the turns that it missed.
 */
function turnOf(pool: readonly Upstream[], stay: string | null): readonly Upstream[] {
  const mates = pool.filter(({ account }) => account === stay);
  const eligible = mates.length > 0 ? mates : pool;
  let total = 0;
  for (const one of eligible) {
    one.health.turn.credit += weightOf(one);
    total += weightOf(one);
  }
  const byCredit = (a: Upstream, b: Upstream) => b.health.turn.credit - a.health.turn.credit;
  const [first, ...others] = eligible.toSorted(byCredit);
  const ordered = [first!, ...others, ...(eligible === pool ? [] : pool.filter((one) => !eligible.includes(one)))];
  first!.health.turn.credit -= total;
  return ordered;
}

const weightOf = ({ pooled }: Upstream): number => pooled?.weight ?? 1;
