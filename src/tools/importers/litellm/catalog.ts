import { parseDecimal } from '../../../core/money/decimal.ts';
import { block, exact, field, type PolicyValue } from '../../../policy/yaml/emit.ts';
import { bareName } from './services.ts';
import { type ConfigNode, readTree, scalarText, valueAt } from './tree.ts';

/** A model of the shipped policy, or of a table of public facts. */
export interface CatalogModel {
  readonly id: string;
  /** The model's entry under `models`. */
  readonly entry: ConfigNode;
  /** The source of the model's price and facts, in words. */
  readonly origin: string;
}

/** Facts about public models, in the form of a policy's model, by preset and the service's own name. */
export interface PublicFacts {
  of(preset: string, id: string): object | null;
  /** Returns the source of the facts of a model. */
  sourceOf(preset: string, id: string): string;
}

/** Reads the models of a policy file whose providers have the names of their presets. */
export function readCatalog(text: string): CatalogModel[] {
  const models = valueAt(readTree(text), 'models');
  return [...(models?.entries ?? [])].flatMap(([key, node]) =>
    node.kind === 'map' ? [catalogModel(key, node, 'the shipped catalog')] : [],
  );
}

/** Finds a model among public facts. Facts of OpenAI's models also apply to Azure. */
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
    // Write days without quotes, as people do.
    const text = JSON.stringify(found).replace(/"(\d{4}-\d{2}-\d{2})"/g, '$1');
    const row = readTree(
      text.replace(/"(?:tiers|hours|later)":\[\],|,"(?:tiers|hours|later)":\[\]|"temperature":true,/g, ''),
    );
    return catalogModel(name, row, facts.sourceOf(service, name));
  }
  return null;
}

function catalogModel(id: string, entry: ConfigNode, source: string): CatalogModel {
  const basis = ['basis', 'as_of'].flatMap((key) => scalarText(valueAt(entry, 'price', key)) ?? []);
  return { id, entry, origin: `${id} of ${source} (${basis.join(', ')})` };
}

/** Returns the value of a key in the form of a policy; null without a model or value. */
export function catalogValue(model: CatalogModel | null, key: string): PolicyValue | null {
  const node = valueAt(model?.entry, key);
  return node ? policyValueOf(node, key === 'price') : null;
}

/** The number under a path of keys; null if it is absent. */
export function catalogNumber(model: CatalogModel | null, ...path: readonly string[]): number | null {
  const text = scalarText(valueAt(model?.entry, ...path));
  return text === null ? null : Number(text) || 0;
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
  return {
    ...block(...fields),
    isFlow: !(isBlock && ['tiers', 'hours', 'service_tiers', 'later'].some((key) => node.entries.has(key))),
  };
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** Finds the model by the service's own name, or else by its ID. */
export function findCatalogModel(
  catalog: readonly CatalogModel[],
  preset: string | null,
  names: readonly string[],
): CatalogModel | null {
  const bare = names.map(bareName);
  const serves = (endpoint: ConfigNode, id: string) =>
    (scalarText(valueAt(endpoint, 'provider')) ?? '') === preset &&
    names.includes(scalarText(valueAt(endpoint, 'upstream')) ?? id);
  const isServed = ({ id, entry }: CatalogModel) =>
    (valueAt(entry, 'endpoints')?.items ?? [entry]).some((endpoint) => serves(endpoint, id));
  return catalog.find(isServed) ?? catalog.find(({ id }) => bare.includes(id)) ?? null;
}
