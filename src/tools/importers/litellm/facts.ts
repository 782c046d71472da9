import { type Decimal, parseDecimal, plainText, roundUp, times, toNumber } from '../../../core/money/decimal.ts';
import { exact, flow, type PolicyValue, some } from '../../../policy/yaml/emit.ts';
import { booleanOf, decimalOf } from './amounts.ts';
import { type CatalogModel, catalogNumber, catalogValue, findCatalogModel, findPublicModel } from './catalog.ts';
import type { ImportContext } from './context.ts';
import type { LazyPath, OutcomeRecorder } from './outcomes.ts';
import { type ConfigNode, valueAt } from './tree.ts';

/** Facts about the model of a deployment. */
export interface DeploymentFacts {
  readonly price: SourcedPrice | null;
  /** Tokens; null if unknown. */
  readonly contextWindow: number | null;
  readonly maxOutput: number | null;
  /** The length of an embedding model's vectors; null if unknown. */
  readonly dimensions: number | null;
  /** Capability → whether the model has it. Unknown capabilities are absent. */
  readonly capabilities: ReadonlyMap<string, boolean>;
  /** Whether LiteLLM's price map has the model, and therefore all its capabilities. */
  readonly isMapped: boolean;
  readonly catalogModel: CatalogModel | null;
}

/** A price of a model, with the source of the price. */
export interface SourcedPrice {
  readonly value: PolicyValue;
  readonly source: 'configuration' | 'price map' | 'catalog' | 'own server';
}

interface FactSources {
  readonly info: ConfigNode | undefined;
  readonly params: ConfigNode;
  readonly preset: string | null;
  readonly isEmbedder: boolean;
  /** Candidate names of the model, the most reliable first. */
  readonly names: readonly string[];
  /** The path in the policy to which a key is converted. */
  readonly at: (...keys: string[]) => LazyPath;
}

/** LiteLLM's key of a rate → USD per token. */
type Rates = ReadonlyMap<string, Decimal>;

const USD_PER_MILLION_MAX = 100_000;
/** The smallest price that a policy accepts, USD per 1M tokens. */
const SMALLEST: Decimal = { digits: 1n, scale: 3 };
const DECIMALS = 6;

const CAPABILITIES: Readonly<Record<string, string>> = {
  supports_function_calling: 'tools',
  supports_vision: 'vision',
  supports_response_schema: 'json_schema',
  supports_reasoning: 'reasoning',
  supports_audio_input: 'audio_input',
  supports_pdf_input: 'file_input',
};

/** LiteLLM's name of a rate, with the name in a policy. */
const LINE = {
  input_cost_per_token: 'input',
  cache_read_input_token_cost: 'cached_input',
  cache_creation_input_token_cost: 'cache_write',
  output_cost_per_token: 'output',
} as const;
const RATE =
  /^(input_cost_per_token|cache_read_input_token_cost|cache_creation_input_token_cost|output_cost_per_token)(?:_above_(\d+)k_tokens)?$/;

/** Reads the facts about a deployment's model from its entry, or else from LiteLLM's price map, or else from the shipped catalog. */
export function readFacts(of: FactSources, context: ImportContext): DeploymentFacts {
  const mapped = of.names.map((name) => context.priceMap.get(name)).find((entry) => entry !== undefined);
  const catalogModel =
    findCatalogModel(context.catalog, of.preset, of.names) ?? findPublicModel(context.facts, of.preset, of.names);
  const count = (key: string): number | null => {
    const value = mapped?.[key];
    return typeof value === 'number' ? tokens(value) : null;
  };
  const stated = readSizes(of, context);
  const capabilities = readCapabilities(of, context, mapped ?? null);
  const own = readOwnPrice(of, context);
  const fromMap = own ? null : priceOf(mappedRates(mapped ?? {}), of, { basis: 'aggregator' });
  return {
    price:
      priceFrom(own, 'configuration') ??
      priceFrom(fromMap, 'price map') ??
      priceFrom(catalogValue(catalogModel, 'price'), 'catalog'),
    contextWindow: stated.contextWindow ?? count('max_input_tokens') ?? catalogNumber(catalogModel, 'context_window'),
    maxOutput:
      stated.maxOutput ??
      count('max_output_tokens') ??
      count('max_tokens') ??
      catalogNumber(catalogModel, 'max_output'),
    dimensions: of.isEmbedder
      ? (stated.dimensions ??
        count('output_vector_size') ??
        (catalogNumber(catalogModel, 'embedding', 'dimensions') || null))
      : null,
    capabilities,
    isMapped: mapped !== undefined,
    catalogModel,
  };
}

const priceFrom = (value: PolicyValue | null, source: SourcedPrice['source']): SourcedPrice | null =>
  value === null ? null : { value, source };

const mappedRates = (mapped: Readonly<Record<string, unknown>>): Rates =>
  new Map(
    Object.entries(mapped).flatMap(([key, value]) => {
      const rate = RATE.test(key) && typeof value === 'number' ? parseDecimal(String(value)) : null;
      return rate ? [[key, rate] as const] : [];
    }),
  );

function readOwnPrice(of: FactSources, { outcomes, today }: ImportContext): PolicyValue | null {
  const nodes = new Map<string, ConfigNode>();
  for (const [key, node] of [...of.params.entries, ...(of.info?.entries ?? [])]) {
    if (!RATE.test(key)) continue;
    const older = nodes.get(key);
    if (older && older !== node) outcomes.leftOut(older, 'model_info has it too, and takes precedence');
    nodes.set(key, node);
  }
  const rates = new Map<string, Decimal>();
  for (const [key, node] of nodes) {
    const rate = rateOf(node, outcomes);
    if (!rate) continue;
    rates.set(key, rate.rate);
    if (rate.note) outcomes.approximated(node, of.at('price'), rate.note);
    else outcomes.mapped(node, of.at('price'), 'USD a token, now USD per 1M');
  }
  const value = priceOf(rates, of, { as_of: exact(today), basis: 'own' });
  if (value === null)
    for (const key of rates.keys()) outcomes.leftOut(nodes.get(key), 'a price needs both input and output');
  return value;
}

function rateOf(node: ConfigNode, outcomes: OutcomeRecorder): { rate: Decimal; note: string } | null {
  const decimal = decimalOf(node);
  if (!decimal || decimal.digits < 0n) return outcomes.problem(node, 'it must be USD per token, such as 0.0000025');
  const perMillion = times(decimal, 1_000_000n);
  if (toNumber(perMillion) > USD_PER_MILLION_MAX)
    return outcomes.problem(node, 'the price is probably meant per 1M tokens, but LiteLLM expects USD per token');
  if (perMillion.digits > 0n && toNumber(perMillion) < toNumber(SMALLEST))
    return { rate: decimal, note: 'raised to 0.001 USD per 1M, the minimum of a policy' };
  const isRounded = plainText(roundUp(perMillion, DECIMALS)) !== plainText(perMillion);
  return { rate: decimal, note: isRounded ? 'rounded up to six decimals of a USD per 1M' : '' };
}

/**
 * Makes a price from USD rates per token; null if the rate for input or the rate for output is missing. An embedding model has no output.
 */
function priceOf(
  rates: Rates,
  { isEmbedder }: FactSources,
  last: Readonly<Record<string, PolicyValue>>,
): PolicyValue | null {
  const perMillion = (rate: Decimal): string => {
    const rounded = roundUp(times(rate, 1_000_000n), DECIMALS);
    return plainText(rounded.digits > 0n && toNumber(rounded) < toNumber(SMALLEST) ? SMALLEST : rounded);
  };
  const lineOf = (suffix: string): Record<string, PolicyValue> => {
    const line: Record<string, PolicyValue> = {};
    for (const [key, name] of Object.entries(LINE)) {
      const rate = rates.get(key + suffix) ?? rates.get(key);
      if (rate) line[name] = exact(perMillion(rate));
    }
    return isEmbedder ? { ...line, output: line.output ?? exact('0') } : line;
  };
  const first = lineOf('');
  if (!('input' in first) || !('output' in first)) return null;
  const sizes = [...rates.keys()].map((key) => Number(RATE.exec(key)?.[2] ?? 0)).filter((size) => size > 0);
  const tiers = [...new Set(sizes)]
    .sort((a, b) => a - b)
    .map((size) => flow({ over_input_tokens: size * 1000, ...lineOf(`_above_${size}k_tokens`) }));
  return { ...flow({ ...first, tiers: some(tiers), ...last }), isFlow: tiers.length === 0 };
}

const tokens = (value: number): number | null =>
  Number.isInteger(value) && value >= 1 && value <= 100_000_000 ? value : null;

function readSizes({ info, isEmbedder, at }: FactSources, { outcomes }: ImportContext) {
  const read = (key: string, ...to: string[]): number | null => {
    const node = valueAt(info, key);
    const decimal = decimalOf(node);
    const value = decimal ? tokens(toNumber(decimal)) : null;
    if (node && value === null) return outcomes.problem(node, 'it must be a whole number of tokens');
    if (to.length > 0) outcomes.mapped(node, at(...to));
    return value;
  };
  const input = read('max_input_tokens', 'context_window');
  const output = read('max_output_tokens', 'max_output');
  const both = read('max_tokens');
  const node = both === null ? undefined : valueAt(info, 'max_tokens');
  if (output !== null) outcomes.leftOut(node, 'max_output_tokens is used instead');
  else outcomes.approximated(node, at('max_output'), 'treated as the maximum output');
  const dimensions = isEmbedder ? read('output_vector_size', 'embedding', 'dimensions') : null;
  return { contextWindow: input, maxOutput: output ?? both, dimensions };
}

function readCapabilities(
  { info, at }: FactSources,
  { outcomes }: ImportContext,
  mapped: Readonly<Record<string, unknown>> | null,
): ReadonlyMap<string, boolean> {
  const found = new Map<string, boolean>();
  for (const [key, capability] of Object.entries(CAPABILITIES)) {
    if (typeof mapped?.[key] === 'boolean') found.set(capability, mapped[key]);
    const node = valueAt(info, key);
    if (!node) continue;
    const is = booleanOf(node);
    if (is === null) outcomes.problem(node, 'it must be true or false');
    else {
      found.set(capability, is);
      outcomes.mapped(node, at('capabilities'));
    }
  }
  return found;
}
