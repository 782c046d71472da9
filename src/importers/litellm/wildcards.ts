import type { ImportContext } from './context.ts';
import { textOf } from './context.ts';
import { SERVICES } from './services.ts';
import { type ConfigNode, type MapNode, valueAt } from './tree.ts';

/** An entry with a wildcard name, expanded into one entry per catalog model. */
interface WildcardExpansion {
  readonly name: string;
  readonly entries: readonly ConfigNode[];
}

/** Expands an entry such as `openai/*`; null if its name has no wildcard. */
export function expandWildcard(entry: ConfigNode, { catalog, outcomes }: ImportContext): WildcardExpansion | null {
  const nameNode = valueAt(entry, 'model_name');
  const name = textOf(nameNode);
  const params = valueAt(entry, 'litellm_params');
  const modelNode = valueAt(params, 'model');
  const model = textOf(modelNode);
  if (entry.kind !== 'map' || !nameNode || !name?.includes('*')) return null;
  const [provider = '', rest] = model?.split('/') ?? [];
  const preset = provider === 'azure' ? null : SERVICES.get(provider)?.preset;
  const isPattern = rest === '*' && name.split('*').length === 2;
  const models =
    preset && isPattern ? catalog.filter(({ served }) => served.some((endpoint) => endpoint.preset === preset)) : [];
  if (params?.kind !== 'map' || modelNode?.kind !== 'scalar' || models.length === 0) {
    outcomes.leftOut(entry, `${name}: ${name === '*' ? EVERYTHING : NOBODY_KNOWS}`);
    return { name, entries: [] };
  }
  const entries = models.map(({ id, served }): MapNode => {
    const upstream = served.find((endpoint) => endpoint.preset === preset)?.upstream ?? id;
    const inner = withEntry(params, 'model', { ...modelNode, text: `${provider}/${upstream}` });
    const named =
      nameNode.kind === 'scalar'
        ? withEntry(entry, 'model_name', { ...nameNode, text: name.replace('*', upstream) })
        : entry;
    return withEntry(named, 'litellm_params', inner);
  });
  outcomes.approximated(
    nameNode,
    ['models'],
    `the ${models.length} models of the shipped catalog; add others to models.yaml`,
  );
  outcomes.approximated(
    modelNode,
    ['models'],
    'now one model each: a policy has no patterns, as every model needs a price',
  );
  return { name, entries };
}

const EVERYTHING = 'an unknown model gets a 404; add the models that callers use to models.yaml, with their prices';
const NOBODY_KNOWS =
  'a policy has no patterns, as every model needs a price; add the models that callers use to models.yaml';

const withEntry = (map: MapNode, key: string, node: ConfigNode): MapNode => ({
  ...map,
  entries: map.entries.map((one) => (one.key === key ? { key, node } : one)),
});
