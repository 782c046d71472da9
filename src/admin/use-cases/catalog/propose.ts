import type { ListedModel } from '../../../contract/provider.ts';
import { ITEM_NAME } from '../../../core/define/policy-words.ts';
import { isObject } from '../../../core/json/object.ts';
import { parseDecimal, plainText, roundUp, times } from '../../../core/money/decimal.ts';
import type { ModelFacts } from '../../../policy/models/facts.ts';
import { changesBill, SameModels } from '../../../policy/models/same-model.ts';
import { PriceText } from '../../../policy/schema/price-text.ts';
import type { UsdPrice } from '../../../policy/schema/prices.ts';
import type { OwnFigures } from './own-models.ts';

/** A model that the policy already has at the provider. */
export interface PolicyModel {
  readonly id: string;
  /** The provider's own name for the model. */
  readonly upstream: string;
  /** The location in the policy, such as `models.yaml:12`. */
  readonly place: string;
  readonly usd: UsdPrice;
}

/** A model in a provider's list, with the facts that only a server of the operator states. */
export interface ProposableModel extends ListedModel {
  /** The name for the entry, if the provider's own name is not allowed or is clumsy, such as the path of a file. */
  readonly name?: string;
  /** Whether `contextWindow` is a low guess. */
  readonly isContextGuessed?: boolean;
  /** A guessed share of good answers, 0 to 1. */
  readonly quality?: number;
}

export interface ProposalSources {
  readonly provider: string;
  /** Whether the provider is the operator's own server, so that tokens cost nothing. */
  readonly isOwnServer: boolean;
  readonly own: readonly PolicyModel[];
  /** Names that the policy already uses. */
  readonly taken: ReadonlySet<string>;
  readonly listed: readonly ProposableModel[];
  /** Figures of public models that people run on their own machines, by the server's name. */
  readonly ownFigures: ReadonlyMap<string, OwnFigures>;
  readonly factsOf: (id: string) => ModelFacts | null;
  /** Returns the rows of the facts table that a listed name may refer to: see `FactsTable.rowsOf`. */
  readonly rowsOf: (id: string) => readonly string[];
  /** The source of the facts, and their date. */
  readonly factsSource: string;
  readonly today: string;
}

/** A price in the form of a policy: USD per 1M tokens, as exact decimals. */
export interface ProposedPrice {
  readonly [key: string]: ProposedValue;
}
export type ProposedValue = string | readonly ProposedValue[] | ProposedPrice;

/** A model proposed for the policy. The operator must fill in a figure that is null. */
export type ProposedModel = ReturnType<typeof proposalOf>;

/** The changes of the policy that follow from a provider's list of models. */
export type CatalogProposal = ReturnType<typeof propose>;

/** Whether the model has all figures that a policy needs. */
export const isComplete = ({ price, contextWindow, maxOutput }: ProposedModel): boolean =>
  price !== null && contextWindow !== null && maxOutput !== null;

/** Compares a provider's list of models with the models of a policy. This function is pure. */
export function propose(sources: ProposalSources) {
  const { provider, factsSource, today, own, rowsOf } = sources;
  const listed = [...new Map(sources.listed.map((one) => [one.id, one])).values()];
  listed.sort((a, b) => (a.id < b.id ? -1 : 1));
  const byName = new Map(listed.map((one) => [one.id, one]));
  const mine = new SameModels(own.map(({ upstream }) => upstream));
  const theirs = new SameModels(byName.keys());
  const isMine = ({ id }: ProposableModel) => mine.namesOf(id).length > 0;
  const others = listed.filter((one) => !isMine(one));
  const unfit = listed.flatMap((one) => {
    if (isMine(one)) return mine.namesOf(one.id).includes(one.id) ? [] : [[one.id, OF_POLICY] as const];
    const [row, ...more] = rowsOf(one.id);
    const isVersion = row !== undefined && more.length === 0 && row !== one.id && byName.has(row);
    const why = reasonAgainst(one) ?? (isVersion ? OF_LIST : null);
    return why === null ? [] : [[one.id, why] as const];
  });
  const left = new Set(unfit.map(([id]) => id));
  return {
    provider,
    factsSource,
    today,
    // Listed models that are not for conversations, or whose name a policy does not allow: ID and reason.
    unfit,
    // Listed models that are new to the policy, with complete or missing figures.
    added: others.filter(({ id }) => !left.has(id)).map((one) => proposalOf(one, sources)),
    // Models of the policy that the provider no longer lists.
    gone: own.filter(({ upstream }) => theirs.namesOf(upstream).length === 0),
    // Models of the policy whose price differs from the list.
    repriced: own.flatMap((one) => {
      const price = listPrice(byName.get(one.upstream)?.price, today);
      return price && isOther(price, one.usd) ? [{ ...one, price }] : [];
    }),
    // The number of listed models that the policy already has.
    known: listed.length - others.length,
  };
}

/** An additional entry for a version of a model in the policy would bypass the rules of the policy for this model. */
const OF_POLICY = 'versions of models in the policy; separate entries would bypass its rules';
const OF_LIST = 'versions of other models in the list';

/** Names of listed models that are not for conversations, at OpenAI and other providers. */
const OTHER_USES: readonly (readonly [RegExp, string])[] = [
  [/embed|(?:^|\/)(?:bge|e5|gte|voyage)-/i, 'embeddings'],
  [/whisper|transcribe|(?:^|-)tts|audio|realtime|orpheus|lyria/i, 'audio'],
  [/dall-e|image|imagen|sora|(?:^|\/)veo|video/i, 'images or video'],
  [/moderation|guard(?:$|-)|rerank/i, 'classification'],
  [/^(?:babbage|davinci)-|^gpt-.*-instruct/i, 'completions without a conversation'],
  [
    /deep-research|computer-use|sonar|search-(?:preview|api)/i,
    'billed for more than tokens, such as searches and tools',
  ],
];

/** Why a listed model is not for conversations, or cannot be in a policy; null if it can. */
export function reasonAgainst({ id, name, unfit }: ProposableModel): string | null {
  if (unfit !== undefined) return unfit;
  // A server of the operator states what its models are for.
  if (name !== undefined) return null;
  if (!NAME.test(id) || id.includes('..')) return 'the name is not allowed in a policy';
  return OTHER_USES.find(([form]) => form.test(id))?.[1] ?? null;
}

const NAME = new RegExp(ITEM_NAME.pattern);

function proposalOf(listed: ProposableModel, sources: ProposalSources) {
  const { provider, taken, isOwnServer, factsOf, rowsOf, today, ownFigures } = sources;
  const { id: upstream, name = upstream } = listed;
  const [row, ...others] = rowsOf(upstream);
  const facts = row === undefined || others.length > 0 ? null : factsOf(row);
  const known = listPrice(listed.price, today) ?? (facts && factsPrice(facts)) ?? null;
  const free: ProposedPrice = { input: '0', output: '0', as_of: today, basis: 'own' };
  const contextWindow = listed.contextWindow ?? facts?.context_window ?? null;
  const maxOutput = listed.maxOutput ?? facts?.max_output ?? null;
  return {
    id: taken.has(name) ? `${provider}/${name}` : name,
    upstream,
    // Your own server is free, unless it only forwards the model of another service, which bills you.
    price: known ?? (isOwnServer && !changesBill(upstream, false) ? free : null),
    contextWindow,
    isContextGuessed: listed.isContextGuessed === true,
    quality: listed.quality ?? null,
    own: ownFigures.get(upstream) ?? null,
    maxOutput: maxOutput !== null && contextWindow !== null ? Math.min(maxOutput, contextWindow) : maxOutput,
    capabilities: listed.capabilities ?? facts?.capabilities ?? null,
    temperature: facts?.temperature ?? true,
    released: listed.released ?? facts?.released ?? null,
  };
}

/** Converts a listed price in USD per token to the form of a policy; null if the list states no price, or no exact price. */
function listPrice(listed: ListedModel['price'], today: string): ProposedPrice | null {
  if (!listed) return null;
  const perMillion = (text: string | undefined) => scaled(text, 1_000_000n);
  const [input, output] = [perMillion(listed.input), perMillion(listed.output)];
  if (input === null || output === null) return null;
  const more = {
    cached_input: perMillion(listed.cachedInput),
    cache_write: perMillion(listed.cacheWrite),
    per_request: scaled(listed.perRequest, 1n),
  };
  // Lists use a rate of 0 for the cache if there is no cache.
  const stated = Object.entries(more).flatMap(([key, value]) =>
    value === null || value === '0' ? [] : [[key, value]],
  );
  return { input, output, ...Object.fromEntries(stated), as_of: today, basis: 'vendor-list' };
}

/** Decimals of a price in USD per 1M tokens. Further decimals are rounded up, so that no price is too low. */
const DECIMALS = 6;

function scaled(text: string | undefined, factor: bigint): string | null {
  const decimal = text === undefined ? null : parseDecimal(text);
  return decimal && plainText(roundUp(times(decimal, factor), DECIMALS));
}

const PRICE_KEYS = Object.keys(PriceText.properties);

/** Returns the price of a row in the usual order, without what it does not state. */
function factsPrice({ price }: ModelFacts): ProposedPrice {
  const members = Object.entries(price).sort(([a], [b]) => PRICE_KEYS.indexOf(a) - PRICE_KEYS.indexOf(b));
  return membersOf(Object.fromEntries(members));
}

const membersOf = (members: object): ProposedPrice =>
  Object.fromEntries(
    Object.entries(members).flatMap(([key, value]: [string, unknown]) => {
      const isStated = value !== undefined && !(Array.isArray(value) && value.length === 0);
      return isStated ? [[key, figureOf(value)] as const] : [];
    }),
  );

function figureOf(value: unknown): ProposedValue {
  if (Array.isArray(value)) return value.map(figureOf);
  return isObject(value) ? membersOf(value) : String(value);
}

/** Whether a listed price differs from the policy's price in a rate that both state. */
const isOther = (price: ProposedPrice, usd: UsdPrice): boolean =>
  Number(price.input) !== usd.input || Number(price.output) !== usd.output;
