import { TEXT_UNITS, type TextUnit } from '../../../../core/money/units.ts';
import type { ModelFacts } from '../../../../policy/models/facts.ts';
import type { DAYS } from '../../../../policy/schema/price-text.ts';

/** The rates of a price in USD per 1M tokens, with the keys of a policy. */
export const RATES = TEXT_UNITS;
export type Rate = TextUnit;
export type WitnessLine = Readonly<Partial<Record<Rate, number>> & Record<'input' | 'output', number>>;
export type WitnessTier = WitnessLine & { readonly over_input_tokens: number };

/** Rates for short inputs, and for longer ones. A rate that is left out is unknown. */
export type WitnessRates = WitnessLine & { readonly tiers?: readonly WitnessTier[] };
export type WitnessHours = WitnessRates & {
  readonly from: string;
  readonly to: string;
  readonly days: readonly (typeof DAYS)[number][];
};
export type WitnessPeriod = WitnessRates & {
  readonly hours?: readonly WitnessHours[];
  readonly service_tiers?: Readonly<Record<string, WitnessRates>>;
  readonly until?: string;
};

/** A price that a witness states on its day, and what follows, with the keys of a policy. */
export type WitnessPrice = WitnessPeriod & { readonly later?: readonly WitnessPeriod[] };

export type ModelCapability = ModelFacts['capabilities'][number];

/** What a witness states about a model. */
export interface WitnessModel {
  readonly price: WitnessPrice;
  readonly context_window?: number;
  readonly max_output?: number;
  readonly capabilities?: readonly ModelCapability[];
  /** False if the model refuses a temperature. */
  readonly temperature?: false;
  readonly released?: string;
  /** Whether the witness calls the model deprecated. */
  readonly deprecated?: true;
  /** The day on which the service ends the model, such as `2026-12-01`. */
  readonly ends?: string;
  /** Whether the list is kept entry by entry, or names the page of the service that states the price. */
  readonly isSourced?: true;
  /** Why the public table gets no row for the model, in words; absent if it may have one. */
  readonly unfit?: string;
}

/** A public list of models that was read from local files. */
export interface Witness {
  /** Such as `anomalyco/models.dev`. */
  readonly name: string;
  /** A commit, a version, or the beginning of the SHA-256 digest of the file. */
  readonly revision: string;
  /** The day of the list, such as `2026-11-20`. */
  readonly asOf: string;
  /** The copyright line of the list. All lists are under the MIT licence. */
  readonly copyright: string;
  /** Maps a preset and the service's own name to the model. */
  readonly models: ReadonlyMap<string, ReadonlyMap<string, WitnessModel>>;
}

/** What a file of a witness contains. */
export type WitnessContent = Pick<Witness, 'models'>;

/** A list says so of some models that also converse in text, so it counts only against new rows. */
export const NOT_TEXT = 'not for text conversations';

/** A service with a preset. Azure is missing, because its operators choose the names of models themselves. */
interface Service {
  readonly preset: string;
  readonly modelsDev: string;
  readonly litellm: string;
  readonly genaiPrices: string;
  /** Whether the service hosts the models of others. Lists of such services keep models that it no longer has. */
  readonly isHost?: true;
}

const same = (name: string) => ({ preset: name, modelsDev: name, litellm: name, genaiPrices: name });

export const SERVICES: readonly Service[] = [
  same('openai'),
  same('anthropic'),
  { preset: 'gemini', modelsDev: 'google', litellm: 'gemini', genaiPrices: 'google' },
  same('mistral'),
  same('deepseek'),
  { ...same('xai'), genaiPrices: 'x-ai' },
  { ...same('moonshotai'), litellm: 'moonshot' },
  same('zai'),
  same('groq'),
  same('cerebras'),
  { ...same('together'), modelsDev: 'togetherai', litellm: 'together_ai', isHost: true },
  { ...same('fireworks'), modelsDev: 'fireworks-ai', litellm: 'fireworks_ai', isHost: true },
  { ...same('openrouter'), isHost: true },
];

/** Names whose bill or model differs from the row: variants and routers, and names that their owners move to other models. */
const MOVING = /[:~]|^openrouter\/|(?:^|[-/])(?:latest|router)(?:[-/]|$)|^deepseek-(?:chat|reasoner)$|^[^A-Za-z0-9]/i;
/** Models that do more than converse and bill searches or calls of other models in addition to tokens, and classifiers. */
const MORE_THAN_TOKENS =
  /sonar|search-(?:preview|api)|deep-research|computer-use|multi-agent|fusion|prompt-guard|content-safety|safeguard/;

/** Why the public table has no row with this name; null if it may have one. */
export function unfitName(id: string): string | null {
  if (MOVING.test(id)) return 'the name moves from model to model, or changes the bill';
  if (MORE_THAN_TOKENS.test(id)) return 'billed for more than tokens';
  return /^[A-Za-z0-9._:/@-]{1,128}$/.test(id) ? null : 'the name is not allowed in a policy';
}

/** Decimals of a price in USD per 1M tokens. Further decimals are rounded up, so that no price is too low. */
const DECIMALS = 6;

function rounded(usd: number): number {
  const near = Number(usd.toFixed(DECIMALS));
  return near >= usd ? near : Number((near + 10 ** -DECIMALS).toFixed(DECIMALS));
}

/**
 * Rounds the rates of a line, in the usual order. Leaves out rates of 0 for the cache, so that the rate of the input applies: for old models
 * 0 means that there is no cache.
 */
export function lineOf(line: WitnessLine): WitnessLine {
  const caches = RATES.flatMap((rate) => (line[rate] ? [[rate, rounded(line[rate])] as const] : []));
  return { input: rounded(line.input), ...Object.fromEntries(caches), output: rounded(line.output) };
}

/** Adds the tiers of a price, ascending, and leaves out the list if there are none. */
export function withTiers(line: WitnessLine, tiers: readonly WitnessTier[]): WitnessRates {
  const sorted = tiers.map(({ over_input_tokens, ...tier }) => ({ over_input_tokens, ...lineOf(tier) }));
  sorted.sort((a, b) => a.over_input_tokens - b.over_input_tokens);
  return { ...lineOf(line), ...(sorted.length > 0 && { tiers: sorted }) };
}

/** Returns the names of the capabilities that a witness states. */
export const statedCapabilities = (
  has: readonly (readonly [name: ModelCapability, isStated: boolean | undefined])[],
): readonly ModelCapability[] => has.flatMap(([name, isStated]) => (isStated ? [name] : []));
