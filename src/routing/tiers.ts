import type { PolicySnapshot, Selector } from '../core/policy/snapshot.ts';
import { type FirstTier, type SelectorTiers, TIERS, type TierName, type TierReason } from '../core/policy/tiers.ts';
import type { Conversation } from '../core/request/conversation.ts';
import type { Escalation, Facts, Unescalated } from '../core/request/facts.ts';
import { transcriptEscalation } from './profile/escalation.ts';
import { reachesFloor } from './rank.ts';
import type { Shortlist } from './shortlist.ts';

/**
 * Adds the tier that a conversation begins with. Without tiers, and if the caller weighs this request or limits its cost or time, the facts
 * stay the same.
 * @param hardness returns how likely the first question is hard, 0..1
 */
export function withFirstTier({ tier: _, ...facts }: Facts, snapshot: PolicySnapshot, hardness: () => number): Facts {
  const { named, operation, weights, ceilings, model } = facts;
  const isRanked = named !== null || operation !== 'chat' || weights !== null;
  if (isRanked || (ceilings.costCredits ?? ceilings.latencyMs) !== null) return facts;
  if (snapshot.selectors.get(model)?.tiers === undefined) return facts;
  const hard = hardness();
  const tier: FirstTier = { name: hard >= snapshot.strongFrom ? 'strong' : 'usual', hard };
  return { ...facts, tier };
}

/**
 * Adds the signal that an earlier answer of the conversation failed, if its selector has tiers and the policy counts the signal. All servers
 * read it from the same transcript.
 */
export function withEscalation(
  facts: Facts,
  { escalation: { on, turns: most } }: Pick<PolicySnapshot, 'escalation'>,
  { turns, tools }: Pick<Conversation, 'turns' | 'tools'>,
): Facts {
  if (facts.tier === undefined || on.length === 0) return facts;
  const escalation: Escalation | undefined =
    facts.stuck && on.includes('stuck_agent')
      ? { signal: 'stuck_agent', turnsAgo: 0 }
      : transcriptEscalation(turns, most, on, tools);
  return escalation ? { ...facts, escalation } : facts;
}

/** Returns the facts of an escalated request as if it were not escalated, with the signal that had no effect, and why. */
export function withoutEscalation({ escalation, ...facts }: Facts, why: Omit<Unescalated, keyof Escalation>): Facts {
  return escalation ? { ...facts, unescalated: { ...escalation, ...why } } : facts;
}

/** The facts that decide the tier of a request. */
type TierFacts = Pick<Facts, 'tier' | 'escalation'>;

/** Returns the tier of a request, and why; null if its model is chosen by ranking all models. */
function tierOf({ tier, escalation }: TierFacts): { readonly name: TierName; readonly why: TierReason } | null {
  if (tier === undefined) return null;
  if (escalation !== undefined) return ESCALATED;
  return tier.name === 'strong' ? HARD : USUAL;
}

const USUAL = { name: 'usual', why: 'usual' } as const;
const HARD = { name: 'strong', why: 'hard' } as const;
const ESCALATED = { name: 'strong', why: 'escalated' } as const;

/**
 * Returns the tiers that decide about a request; null if all models are ranked for it. A preference with a condition weighs some requests
 * differently, so derived tiers, which count only the preferences without a condition, do not decide about these requests.
 */
export function tiersFor(facts: Facts, { selectors, preferences }: PolicySnapshot): AppliedTiers | null {
  const tier = tierOf(facts);
  const tiers = tier && selectors.get(facts.model)?.tiers;
  if (!tier || !tiers) return null;
  // A selector with a limit follows the limiting one, so that both choose in the same way.
  const { source } = (tiers.limit && selectors.get(tiers.limit.selector)?.tiers) ?? tiers;
  const isWeighed = source === 'derived' && facts.rules.preferences.some((at) => preferences[at]!.when !== null);
  if (isWeighed) return null;
  const { escalation } = facts;
  const isRetry = escalation?.turnsAgo === 0 && escalation.signal !== 'stuck_agent';
  return { ...tier, began: facts.tier!.name, isRetry, tiers };
}

/** The tier of a request, with the tiers of its selector. */
export type AppliedTiers = NonNullable<ReturnType<typeof tierOf>> & {
  /** The tier that the conversation began with. */
  readonly began: TierName;
  /** Whether the latest answer failed or was questioned, so that the request asks for another answer. */
  readonly isRetry: boolean;
  readonly tiers: SelectorTiers;
};

/** The models of a selector as indexes of the snapshot, by the tier of a request: its own tier, then the other one. */
type TierOrders = Readonly<Record<TierName, Int32Array>>;

/** The quality floor of the selector, and how many models are wanted. */
interface TierLimits {
  readonly floor: number | undefined;
  readonly most: number;
}

/** Chooses the models of tiers for one request at a time. */
export class TierChoice {
  readonly #selectors: PolicySnapshot['selectors'];
  readonly #orders: ReadonlyMap<string, TierOrders>;

  constructor({ selectors }: Pick<PolicySnapshot, 'selectors'>) {
    this.#selectors = selectors;
    this.#orders = new Map(
      [...selectors.values()].flatMap((one) => (one.tiers ? [[one.name, ordersOf(one.tiers)]] : [])),
    );
  }

  /**
   * Writes the positions of the eligible models of both tiers that reach the quality floor to `into`, as many as are wanted, those of the request's tier first. If the
   * first eligible model of the selector that limits this one is cheaper or faster, it comes first.
   * @returns whether the tiers decide. They do not if no model of them is eligible, neither here nor at the limiting selector
   */
  take(selector: string, applied: AppliedTiers, shortlist: Shortlist, { floor, most }: TierLimits, into: number[]) {
    into.length = 0;
    addTiers(this.#orders.get(selector)!, applied, shortlist, { floor, most }, into);
    const { limit } = applied.tiers;
    const other = limit && this.#orders.get(limit.selector);
    if (!limit || !other) return into.length > 0;
    const limiting: number[] = [];
    addTiers(other, applied, shortlist, { floor, most: 1 }, limiting);
    const [first] = limiting;
    // Without a model of its tiers, the limiting selector ranks all models. Only the ranking of both then keeps the promise.
    if (first === undefined) return false;
    const own = into[0];
    if (own !== undefined && shortlist[limit.by][own]! <= shortlist[limit.by][first]!) return true;
    const at = into.indexOf(first);
    if (at >= 0) into.splice(at, 1);
    into.unshift(first);
    return true;
  }

  /**
   * Returns the position of the model that is tried in the same request if the answer of the chosen model failed; -1 for none. If the second
   * model of the selector that limits this one is cheaper or faster, it is that model.
   * @param chosen the position of the chosen model
   */
  second({ name, tiers }: AppliedTiers, shortlist: Shortlist, floor: number | undefined, chosen: number): number {
    const { strong, limit } = tiers;
    const own = secondOf(strong, name, shortlist, floor, chosen);
    const limiting = limit && this.#selectors.get(limit.selector)?.tiers;
    if (!limit || !limiting || own < 0) return own;
    const other = secondOf(limiting.strong, name, shortlist, floor, chosen);
    return other >= 0 && shortlist[limit.by][other]! < shortlist[limit.by][own]! ? other : own;
  }
}

/**
 * How much worse than a model that failed another model may be, as a difference of quality, to be tried in its place. Models of nearly the same
 * quality fail at different requests.
 */
const LOSS_MAX = 0.02;

/**
 * Adds the eligible models of both tiers. After an escalation, the model whose answers failed comes after the next model that is nearly as good.
 * If the caller asks for another answer, it comes after the next model in any case: a model fails most where it has just failed.
 */
function addTiers(
  orders: TierOrders,
  { name, why, began, isRetry }: AppliedTiers,
  shortlist: Shortlist,
  { floor, most }: TierLimits,
  into: number[],
): void {
  const isEscalated = why === 'escalated';
  addEligible(orders[name], shortlist, { floor, most: isEscalated ? Number.POSITIVE_INFINITY : most }, into);
  const [first] = into;
  if (!isEscalated || first === undefined) return;
  const failed: number[] = [];
  addEligible(orders[began], shortlist, { floor, most: 1 }, failed);
  if (failed[0] === first) {
    const { quality } = shortlist;
    const least = isRetry ? 0 : quality[first]! - LOSS_MAX;
    const next = into.findIndex((at) => at !== first && quality[at]! >= least);
    if (next > 0) into.unshift(...into.splice(next, 1));
  }
  into.length = Math.min(into.length, most);
}

/**
 * Returns the position of the first eligible model of a strong tier that is not the chosen one; -1 for none. If the chosen model is itself the
 * strong choice, another model must be nearly as good.
 */
function secondOf(
  strong: readonly number[],
  name: TierName,
  { n, model, quality }: Shortlist,
  floor: number | undefined,
  chosen: number,
): number {
  let isStrong = name === 'strong';
  for (const index of strong) {
    const at = positionOf(index, model, n);
    if (at < 0 || (floor !== undefined && !reachesFloor(quality[at]!, floor))) continue;
    if (at === chosen) isStrong = true;
    else if (!isStrong || quality[at]! >= quality[chosen]! - LOSS_MAX) return at;
  }
  return -1;
}

function addEligible(
  order: Int32Array,
  { n, model, quality }: Shortlist,
  { floor, most }: TierLimits,
  into: number[],
): void {
  for (let i = 0; i < order.length && into.length < most; i++) {
    const at = positionOf(order[i]!, model, n);
    if (at >= 0 && (floor === undefined || reachesFloor(quality[at]!, floor))) into.push(at);
  }
}

function positionOf(index: number, models: Int32Array, n: number): number {
  // The models of a shortlist that a selector filled are in ascending order.
  let low = 0;
  let high = n - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const one = models[middle]!;
    if (one === index) return middle;
    if (one < index) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

const ordersOf = (tiers: NonNullable<Selector['tiers']>): TierOrders => {
  const orderOf = (name: TierName) => {
    const others = TIERS.filter((one) => one !== name).flatMap((one) => tiers[one]);
    return Int32Array.from(new Set([...tiers[name], ...others]));
  };
  return { usual: orderOf('usual'), strong: orderOf('strong') };
};
