import { parseDecimal } from '../../core/decimal.ts';
import { block, exact, type Field, flow, type Value } from './emit.ts';
import { bareName } from './services.ts';
import { type MapNode, type Node, readTree, valueAt } from './tree.ts';

/** A model that the shipped policy describes. */
export interface KnownModel {
  readonly id: string;
  /** Its facts as the policy states them, in its order, without where it is served. */
  readonly facts: readonly Field[];
  /** Preset, and the service's own name of it. */
  readonly served: readonly { readonly preset: string; readonly upstream: string }[];
  /** When and where its price was seen; empty where it does not say. */
  readonly seen: string;
  readonly quality: number;
  readonly contextWindow: number;
  readonly maxOutput: number;
}

/** Keys that say where a model is served, and the operator's own marks. */
const NOT_FACTS: ReadonlySet<string> = new Set(['provider', 'upstream', 'endpoints', 'regions', 'tags']);

/** The models of a policy file, each provider of which is called as its preset. */
export function readCatalog(text: string): KnownModel[] {
  const models = valueAt(readTree(text), 'models');
  return models?.kind === 'map'
    ? models.entries.flatMap(({ key, node }) => (node.kind === 'map' ? [known(key, node)] : []))
    : [];
}

function known(id: string, model: MapNode): KnownModel {
  const endpoints = valueAt(model, 'endpoints');
  const ways = endpoints?.kind === 'list' ? endpoints.items : [model];
  const price = valueAt(model, 'price');
  const seen = ['basis', 'as_of'].map((key) => textOf(valueAt(price, key))).filter((text) => text !== '');
  const number = (node: Node | undefined) => Number(textOf(node)) || 0;
  return {
    id,
    facts: model.entries
      .filter(({ key }) => !NOT_FACTS.has(key))
      .map(({ key, node }) => ({ key, value: written(node, key === 'price') })),
    served: ways.map((way) => ({
      preset: textOf(valueAt(way, 'provider')),
      upstream: textOf(valueAt(way, 'upstream')) || id,
    })),
    seen: seen.join(', '),
    quality: number(valueAt(valueAt(model, 'quality'), 'default')),
    contextWindow: number(valueAt(model, 'context_window')),
    maxOutput: number(valueAt(model, 'max_output')),
  };
}

const textOf = (node: Node | undefined): string => (node?.kind === 'scalar' ? node.text : '');

function written(node: Node, isBlock: boolean): Value {
  if (node.kind === 'list') return node.items.map((item) => written(item, false));
  if (node.kind === 'scalar') {
    if (node.isQuoted) return node.text;
    return parseDecimal(node.text) || /^(?:true|false)$/.test(node.text) || DAY.test(node.text)
      ? exact(node.text)
      : node.text;
  }
  const entries = node.entries.map(({ key, node: inner }) => [key, written(inner, false)] as const);
  const isLong = isBlock && entries.some(([key]) => key === 'tiers');
  return isLong ? block(...entries.map(([key, value]) => ({ key, value }))) : flow(Object.fromEntries(entries));
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** The model that a service calls so, or that is known by that name. */
export function findKnown(
  catalog: readonly KnownModel[],
  preset: string | null,
  names: readonly string[],
): KnownModel | null {
  const bare = names.map(bareName);
  return (
    catalog.find(({ served }) => served.some((way) => way.preset === preset && names.includes(way.upstream))) ??
    catalog.find(({ id }) => bare.includes(id)) ??
    null
  );
}
