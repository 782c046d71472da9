import type { SpreadKey, SpreadMode } from '../core/policy/spread.ts';

/** An endpoint that may be tried: it is allowed, healthy and affordable, and has room within its limits. */
export interface SpreadCandidate {
  /** The hash of the endpoint's name and account, see `keyOfText`. */
  readonly salt: SpreadKey;
  /** The share of requests, relative to the other endpoints of its group; 0 for none while another endpoint has a weight. */
  readonly weight: number;
  /** The group of the endpoint. Endpoints of the group with the lowest number come first. */
  readonly priority: number;
  /** How busy the endpoint is: requests that run there, divided by its limit or its weight. */
  readonly load: number;
  /** L, the expected time until the answer ends, ms. */
  readonly latencyMs: number;
  /** C, the expected cost, Credits, with the discount for what its cache has of the prompt. */
  readonly costCredits: number;
  /** Whether the endpoint's cache has the conversation of the request. */
  readonly isWarm: boolean;
  /** The position of the first endpoint with the same provider and name: the keys of a pool have the same. */
  readonly pool: number;
  /** Whether the request shall measure the speed of the endpoint, so that `fastest` counts the endpoint as quick as the quickest. */
  readonly isUnmeasured?: boolean;
}

/** The choice of an endpoint, with everything that is needed to repeat it. */
export interface SpreadChoice {
  /** The position of the chosen endpoint among the candidates. */
  readonly at: number;
  /** The two positions that `least_busy` compared; null for another mode, and if there was only one to compare. */
  readonly compared: readonly [number, number] | null;
  /** Whether the request stays at the endpoint whose cache has its conversation. */
  readonly stays: boolean;
  /** Whether the weights of the keys of a pool decided, because their figures are equal. */
  readonly isDrawn?: true;
}

/**
 * Chooses the endpoint of an attempt. A request whose conversation an endpoint has in its cache stays there, unless the endpoint that the
 * mode chooses costs less even without the discount of the cache.
 * @param candidates at least one, in the order of the policy; a later attempt leaves out endpoints that failed
 * @param attempt number of the attempt, from 0
 */
export function chooseEndpoint(
  mode: SpreadMode,
  candidates: readonly SpreadCandidate[],
  key: SpreadKey,
  attempt: number,
): SpreadChoice {
  const chosen = byMode(mode, candidates, key, attempt);
  if (mode === 'order') return chosen;
  if (candidates[chosen.at]!.isWarm) return { ...chosen, stays: true };
  // Keys of one account share a cache. The mode chooses among them, so that they keep their shares.
  const warm = candidates.flatMap(({ isWarm }, at) => (isWarm ? [at] : []));
  if (warm.length === 0) return chosen;
  const one = byMode(
    mode,
    warm.map((at) => candidates[at]!),
    key,
    attempt,
  );
  const at = warm[one.at]!;
  if (candidates[at]!.costCredits > candidates[chosen.at]!.costCredits) return chosen;
  return { ...one, at, compared: chosen.compared, stays: true };
}

function byMode(
  mode: SpreadMode,
  candidates: readonly SpreadCandidate[],
  key: SpreadKey,
  attempt: number,
): SpreadChoice {
  const group = firstGroup(candidates);
  switch (mode) {
    case 'order':
      return found(leastOf(candidates, group, NO_FIGURE));
    case 'weighted':
      return found(leastOf(candidates, group, (one) => raceTime(one, key)));
    case 'fastest':
      return leastKey(candidates, group, key, ({ latencyMs, isUnmeasured }) => (isUnmeasured ? -1 : latencyMs));
    case 'cheapest':
      return leastKey(candidates, group, key, ({ costCredits }) => costCredits);
    case 'least_busy':
      return lessBusy(candidates, group, attempt === 0 ? key : mixed(key, attempt));
  }
}

const NO_FIGURE = (): number => 0;
const found = (at: number): SpreadChoice => ({ at, compared: null, stays: false });

/** The lowest number of a priority group. */
function firstGroup(candidates: readonly SpreadCandidate[]): number {
  let first = Number.POSITIVE_INFINITY;
  for (const { priority } of candidates) first = Math.min(first, priority);
  return first;
}

/** The position with the lowest figure in a group; of equal figures, the first. */
function leastOf(
  candidates: readonly SpreadCandidate[],
  group: number,
  figureOf: (one: SpreadCandidate) => number,
  without = -1,
): number {
  let best = -1;
  let least = Number.POSITIVE_INFINITY;
  for (let at = 0; at < candidates.length; at++) {
    const one = candidates[at]!;
    if (one.priority !== group || at === without) continue;
    const figure = figureOf(one);
    if (best >= 0 && !(figure < least)) continue;
    best = at;
    least = figure;
  }
  return best;
}

/** The endpoint with the lowest figure. If it has several keys with this figure, they are drawn by their weights. */
function leastKey(
  candidates: readonly SpreadCandidate[],
  group: number,
  key: SpreadKey,
  figureOf: (one: SpreadCandidate) => number,
): SpreadChoice {
  const first = leastOf(candidates, group, figureOf);
  const { pool } = candidates[first]!;
  const least = figureOf(candidates[first]!);
  const keys = candidates.flatMap((one, at) =>
    one.pool === pool && one.priority === group && figureOf(one) === least ? [at] : [],
  );
  if (keys.length === 1) return found(first);
  const drawn = drawByWeight(
    keys.map((at) => candidates[at]!),
    key,
  );
  return { ...found(keys[drawn]!), isDrawn: true };
}

/**
 * Compares two endpoints that the key draws, with equal chances, and takes the less busy one. Two choices keep the longest queue almost as
 * short as a look at all endpoints does, and servers that do not know each other's requests do not all choose the same one
 * (Mitzenmacher, The Power of Two Choices in Randomized Load Balancing, 2001).
 */
function lessBusy(candidates: readonly SpreadCandidate[], group: number, key: SpreadKey): SpreadChoice {
  const draw = ({ salt, weight }: SpreadCandidate) => (weight > 0 ? uniform(salt, key) : 1 + uniform(salt, key));
  const one = leastOf(candidates, group, draw);
  const other = leastOf(candidates, group, draw, one);
  if (other < 0) return found(one);
  const isOther = candidates[other]!.load < candidates[one]!.load;
  return { at: isOther ? other : one, compared: [one, other], stays: false };
}

/**
 * The time at which an endpoint finishes in a race that the key starts: exponentially distributed, with the weight as its rate. The endpoint
 * with the lowest time wins with a probability in proportion to its weight. If an endpoint is added or removed, or a weight changes, only
 * the requests move that must, because the times of the other endpoints stay the same (weighted rendezvous hashing).
 */
const raceTime = ({ salt, weight }: WeightedCandidate, key: SpreadKey): number =>
  weight > 0 ? -Math.log(uniform(salt, key)) / weight : Number.POSITIVE_INFINITY;

type WeightedCandidate = Pick<SpreadCandidate, 'salt' | 'weight'>;

/** Returns the position of the candidate that wins the race of a key. */
export function drawByWeight(candidates: readonly WeightedCandidate[], key: SpreadKey): number {
  const times = candidates.map((one) => raceTime(one, key));
  return times.indexOf(Math.min(...times));
}

/** Returns a number above 0 and up to 1 that depends on both hashes, uniformly distributed. */
function uniform(salt: SpreadKey, key: SpreadKey): number {
  const low = spreadBits(salt.low ^ key.low);
  const high = spreadBits(salt.high ^ key.high ^ low);
  return ((high >>> 0) * 2 ** 21 + (low >>> 11) + 1) / 2 ** 53;
}

const mixed = ({ high, low }: SpreadKey, attempt: number): SpreadKey => ({
  high: spreadBits(high ^ attempt),
  low: spreadBits(low + attempt),
});

/** Changes half of the bits if one bit of the input changes (the end of MurmurHash3, Appleby, public domain). Returns a 32-bit integer. */
function spreadBits(value: number): number {
  let bits = value;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return bits ^ (bits >>> 16);
}

/** Returns the key of 16 hexadecimal digits, such as the seed of a decision. */
export const keyOfSeed = (seed: string): SpreadKey => ({
  high: Number.parseInt(seed.slice(0, 8), 16) >>> 0,
  low: Number.parseInt(seed.slice(8, 16), 16) >>> 0,
});

/** Returns a key as 16 hexadecimal digits. */
export const seedOfKey = ({ high, low }: SpreadKey): string =>
  [high, low].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('');

/** Returns the hash of a name, the same on every server and in every version (FNV-1a, with two starts). */
export function keyOfText(text: string): SpreadKey {
  let high = 0x811c9dc5;
  let low = 0x1b873593;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    high = Math.imul(high ^ unit, 0x01000193);
    low = Math.imul(low ^ unit, 0x01000193);
  }
  return { high: spreadBits(high), low: spreadBits(low ^ text.length) };
}
