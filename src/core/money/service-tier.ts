/**
 * The names of service tiers. Requests and answers of all dialects use the names that policies use in `service_tiers`: the names that the
 * answers of a provider state, such as `flex` and `priority`. `default` is the tier of the base price.
 */

export const DEFAULT_TIER = 'default';
/** The tier of a request that leaves the choice to its provider, which may depend on the settings of the operator's account. */
export const AUTO_TIER = 'auto';

/** The names that answers give to the tier of the base price. */
const DEFAULTS: ReadonlySet<string> = new Set([DEFAULT_TIER, 'standard', 'on_demand']);
/** The names of tiers that have no price of their own. */
export const BASE_TIERS: readonly string[] = [...DEFAULTS, AUTO_TIER];
/** The form of the names of tiers that have a price of their own. */
export const PRICED_TIER = `^(?!(?:${BASE_TIERS.join('|')})$)[a-z][a-z0-9_-]{0,31}$`;
/** Other names of tiers: OpenAI accepts `fast`, and its answers and prices name the same tier `priority`. */
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([['fast', 'priority']]);
const NAME = /^[a-z][a-z0-9_-]{0,31}$/;

/** Returns the other name of a tier; undefined if it has one name. */
export const otherTierName = (tier: string): string | undefined => OTHER_NAMES.get(tier);

/** Returns the tier that a request asks for; undefined for none. @param stated as the request states it */
export function askedTier(stated: string | null | undefined): string | undefined {
  if (stated == null || stated === '') return undefined;
  return DEFAULTS.has(stated) ? DEFAULT_TIER : stated.slice(0, NAME_MAX);
}
/** The most characters of a name that a request states. Longer names have no price. */
const NAME_MAX = 64;

/** Returns the tier that an answer states; null for none. A text that can be no name of a tier is an unknown tier. */
export function servedTier(stated: string): string | null {
  if (stated === '' || stated === AUTO_TIER) return null;
  if (DEFAULTS.has(stated)) return DEFAULT_TIER;
  return NAME.test(stated) ? stated : 'unknown';
}

/** Returns the tier of a request whose price differs from the base price; undefined for the default tier and for the provider's choice. */
export const pricedTier = (asked: string | undefined): string | undefined =>
  asked === DEFAULT_TIER || asked === AUTO_TIER ? undefined : asked;
