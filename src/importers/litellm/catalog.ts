import { parseDecimal } from '../../core/decimal.ts';
import { block, exact, type Field, field, type PolicyValue } from '../emit.ts';
import { bareName } from './services.ts';
import { type ConfigNode, readTree, scalarText, valueAt } from './tree.ts';

/** A model of the shipped policy, or of a table of public facts. */
export interface CatalogModel {
  readonly id: string;
  /** Its fields in the order of the policy, without its provider and endpoints. */
  readonly facts: readonly Field[];
  /** Each preset that serves it, with that service's name of the model. */
  readonly served: readonly { readonly preset: string; readonly upstream: string }[];
  /** Where its price and facts are from, in words. */
  readonly origin: string;
  /** 0 if it is unknown. */
  readonly quality: number;
  /** Of an embedding model; 0 for others. */
  readonly dimensions: number;
  readonly contextWindow: number;
  readonly maxOutput: number;
}

/** Keys that depend on the provider or on the operator. */
const NOT_FACTS: ReadonlySet<string> = new Set(['provider', 'upstream', 'endpoints', 'regions', 'tags']);

/** Facts of public models, keys of a policy's model, by preset and the service's own name. */
export interface PublicFacts {
  of(preset: string, id: string): object | null;
  /** The origin of the facts. */
  readonly source: string;
}

/** Reads the models of a policy file whose providers have the names of their presets. */
export function readCatalog(text: string): CatalogModel[] {
  const models = valueAt(readTree(text), 'models');
  return [...(models?.entries ?? [])].flatMap(([key, node]) =>
    node.kind === 'map' ? [catalogModel(key, node, `${key} of the shipped catalog`)] : [],
  );
}

/** Finds a model among public facts; those of OpenAI's models hold at Azure. */
export function findPublicModel(
  facts: PublicFacts,
  preset: string | null,
  names: readonly string[],
): CatalogModel | null {
  const service = preset === 'azure-openai' ? 'openai' : preset;
  if (service === null) return null;
  for (const name of [...names, ...names.map(bareName)]) {
    const found = facts.of(service, name);
    if (!found) continue;
    // Days stand without quotes, as people write them.
    const text = JSON.stringify(found).replace(/"(\d{4}-\d{2}-\d{2})"/g, '$1');
    const row = readTree(text.replace('"tiers":[],', '').replace('"temperature":true,', ''));
    return catalogModel(name, row, `${name} of ${facts.source}`);
  }
  return null;
}

function catalogModel(id: string, model: ConfigNode, origin: string): CatalogModel {
  const endpoints = valueAt(model, 'endpoints');
  const endpointNodes = endpoints?.kind === 'list' ? endpoints.items : [model];
  const price = valueAt(model, 'price');
  const priceBasis = ['basis', 'as_of'].flatMap((key) => scalarText(valueAt(price, key)) ?? []);
  const number = (node: ConfigNode | undefined) => Number(scalarText(node)) || 0;
  return {
    id,
    facts: [...model.entries]
      .filter(([key]) => !NOT_FACTS.has(key))
      .map(([key, node]) => ({ key, value: policyValueOf(node, key === 'price') })),
    served: endpointNodes.map((endpoint) => ({
      preset: scalarText(valueAt(endpoint, 'provider')) ?? '',
      upstream: scalarText(valueAt(endpoint, 'upstream')) ?? id,
    })),
    origin: `${origin} (${priceBasis.join(', ')})`,
    dimensions: number(valueAt(valueAt(model, 'embedding'), 'dimensions')),
    quality: number(valueAt(valueAt(model, 'quality'), 'default')),
    contextWindow: number(valueAt(model, 'context_window')),
    maxOutput: number(valueAt(model, 'max_output')),
  };
}

function policyValueOf(node: ConfigNode, isBlock: boolean): PolicyValue {
  if (node.kind === 'list') return node.items.map((item) => policyValueOf(item, false));
  if (node.kind === 'scalar') {
    if (node.isQuoted) return node.text;
    return parseDecimal(node.text) || /^(?:true|false)$/.test(node.text) || DAY.test(node.text)
      ? exact(node.text)
      : node.text;
  }
  const fields = [...node.entries].map(([key, inner]) => field(key, policyValueOf(inner, false)));
  return { ...block(...fields), isFlow: !(isBlock && node.entries.has('tiers')) };
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** Finds the model by the service's own name of it, or else by its ID. */
export function findCatalogModel(
  catalog: readonly CatalogModel[],
  preset: string | null,
  names: readonly string[],
): CatalogModel | null {
  const bare = names.map(bareName);
  return (
    catalog.find(({ served }) =>
      served.some((endpoint) => endpoint.preset === preset && names.includes(endpoint.upstream)),
    ) ??
    catalog.find(({ id }) => bare.includes(id)) ??
    null
  );
}
