import type { ListedModel } from '../../../contract/provider.ts';
import { parseDecimal, plainText, roundUp, times } from '../../../core/decimal.ts';
import type { ModelFacts } from '../../../policy/facts.ts';
import type { UsdPrice } from '../../../policy/prices.ts';
import { changesBill, SameModels } from '../../../policy/same-model.ts';
import { ITEM_NAME } from '../../../policy/schema-parts.ts';

/** A model that the policy has at the provider. */
export interface PolicyModel {
  readonly id: string;
  /** The provider's name of it. */
  readonly upstream: string;
  /** Such as `models.yaml:12`. */
  readonly place: string;
  readonly usd: UsdPrice;
}

export interface ProposalSources {
  readonly provider: string;
  /** Whether its tokens cost nothing. */
  readonly isOwnServer: boolean;
  readonly own: readonly PolicyModel[];
  /** Names that the policy uses already. */
  readonly taken: ReadonlySet<string>;
  readonly listed: readonly ListedModel[];
  readonly factsOf: (id: string) => ModelFacts | null;
  /** The models with facts that a listed name may mean: see `FactsTable.rowsOf`. */
  readonly rowsOf: (id: string) => readonly string[];
  /** Where the facts are from, and their day. */
  readonly factsSource: string;
  readonly today: string;
}

/** A price as a policy states it: USD per 1M tokens in exact decimals. */
export type ProposedPrice = Readonly<Record<string, string | readonly Readonly<Record<string, string>>[]>>;

/** A model for the policy. A figure that is null is a question to the operator. */
export type ProposedModel = ReturnType<typeof proposalOf>;

/** The changes of a policy that a provider's list suggests to its operator. */
export type CatalogProposal = ReturnType<typeof propose>;

/** Whether a policy can have the model as it stands. */
export const isComplete = ({ price, contextWindow, maxOutput }: ProposedModel): boolean =>
  price !== null && contextWindow !== null && maxOutput !== null;

/** Compares a provider's list with the models of a policy. Pure. */
export function propose(sources: ProposalSources) {
  const { provider, factsSource, today, own, rowsOf } = sources;
  const listed = [...new Map(sources.listed.map((one) => [one.id, one])).values()];
  listed.sort((a, b) => (a.id < b.id ? -1 : 1));
  const byName = new Map(listed.map((one) => [one.id, one]));
  const mine = new SameModels(own.map(({ upstream }) => upstream));
  const theirs = new SameModels(byName.keys());
  const isMine = ({ id }: ListedModel) => mine.namesOf(id).length > 0;
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
    ...{ provider, factsSource, today },
    // Listed, and not for conversations, or not to be named in a policy: ID and reason.
    unfit,
    // Listed, and new to the policy: complete, or with questions.
    added: others.filter(({ id }) => !left.has(id)).map((one) => proposalOf(one, sources)),
    // In the policy, and no longer listed.
    gone: own.filter(({ upstream }) => theirs.namesOf(upstream).length === 0),
    // In the policy at another price than the list states.
    repriced: own.flatMap((one) => {
      const price = listPrice(byName.get(one.upstream)?.price, today);
      return price && isOther(price, one.usd) ? [{ ...one, price }] : [];
    }),
    // Listed and in the policy already.
    known: listed.length - others.length,
  };
}

/** An entry for it would be a way round what the policy says of the model. */
const OF_POLICY = 'versions of models in the policy; as entries they would leave its rules';
const OF_LIST = 'versions of models in the list';

/** Names of what OpenAI and others list beside models for conversations. */
const OTHER_USES: readonly (readonly [RegExp, string])[] = [
  [/embed|(?:^|\/)(?:bge|e5|gte|voyage)-/i, 'embeddings'],
  [/whisper|transcribe|(?:^|-)tts|audio|realtime|orpheus|lyria/i, 'audio'],
  [/dall-e|image|imagen|sora|(?:^|\/)veo|video/i, 'images or video'],
  [/moderation|guard(?:$|-)|rerank/i, 'classification'],
  [/^(?:babbage|davinci)-|^gpt-.*-instruct/i, 'completions without a conversation'],
  [/deep-research|computer-use|sonar|search-(?:preview|api)/i, 'more than tokens: it bills searches and tools, too'],
];

function reasonAgainst({ id, unfit }: ListedModel): string | null {
  if (unfit !== undefined) return unfit;
  if (!NAME.test(id) || id.includes('..')) return 'a policy cannot have the name';
  return OTHER_USES.find(([form]) => form.test(id))?.[1] ?? null;
}

const NAME = new RegExp(ITEM_NAME.pattern);

function proposalOf(listed: ListedModel, { provider, taken, isOwnServer, factsOf, rowsOf, today }: ProposalSources) {
  const { id: upstream } = listed;
  const [row, ...others] = rowsOf(upstream);
  const facts = row === undefined || others.length > 0 ? null : factsOf(row);
  const known = listPrice(listed.price, today) ?? (facts && factsPrice(facts)) ?? null;
  const free: ProposedPrice = { input: '0', output: '0', as_of: today, basis: 'own' };
  const contextWindow = listed.contextWindow ?? facts?.context_window ?? null;
  const maxOutput = listed.maxOutput ?? facts?.max_output ?? null;
  return {
    id: taken.has(upstream) ? `${provider}/${upstream}` : upstream,
    upstream,
    // Another machine bills what yours only passes on.
    price: known ?? (isOwnServer && !changesBill(upstream, false) ? free : null),
    contextWindow,
    maxOutput: maxOutput !== null && contextWindow !== null ? Math.min(maxOutput, contextWindow) : maxOutput,
    capabilities: listed.capabilities ?? facts?.capabilities ?? null,
    temperature: facts?.temperature ?? true,
    released: listed.released ?? facts?.released ?? null,
  };
}

/** The price of a list, USD per token, as a policy's; null where it states none, or no exact one. */
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
  // A rate of 0 for the cache says that there is none.
  const stated = Object.entries(more).flatMap(([key, value]) =>
    value === null || value === '0' ? [] : [[key, value]],
  );
  return { input, output, ...Object.fromEntries(stated), as_of: today, basis: 'vendor-list' };
}

/** Decimals of a USD per 1M tokens. More are rounded up, so that no price is too low. */
const DECIMALS = 6;

function scaled(text: string | undefined, factor: bigint): string | null {
  const decimal = text === undefined ? null : parseDecimal(text);
  return decimal && plainText(roundUp(times(decimal, factor), DECIMALS));
}

function factsPrice({ price }: ModelFacts): ProposedPrice {
  const { tiers, as_of = '', basis } = price;
  const stated = tiers.map((tier) => rates(tier));
  return { ...rates(price), ...(stated.length > 0 && { tiers: stated }), as_of, basis };
}

const rates = (line: Partial<Readonly<Record<(typeof RATES)[number], number>>>): Record<string, string> =>
  Object.fromEntries(RATES.flatMap((key) => (line[key] === undefined ? [] : [[key, String(line[key])]])));

const RATES = ['over_input_tokens', 'input', 'cached_input', 'cache_write', 'output'] as const;

/** Whether a listed price differs from the policy's in what both state. */
const isOther = (price: ProposedPrice, usd: UsdPrice): boolean =>
  Number(price.input) !== usd.input || Number(price.output) !== usd.output;
