import { type ImportContext, itemsOf, mapOf } from './context.ts';
import { type ConfigNode, isEmpty, scalarText, valueAt } from './tree.ts';

/** A group named as a fallback, with its position. */
export interface FallbackTarget {
  readonly name: string;
  readonly node: ConfigNode;
}

/** The fallbacks of each group. */
type GroupFallbacks = ReadonlyMap<string, readonly FallbackTarget[]>;

/** The fallbacks of the configuration. */
export interface Fallbacks {
  readonly byGroup: GroupFallbacks;
  /** Fallbacks for groups that have no fallbacks of their own. */
  readonly byDefault: readonly FallbackTarget[];
  /** Fallbacks for inputs that are too long for the group; null if the configuration has no such list, so that `byGroup` applies. */
  readonly ofContext: GroupFallbacks | null;
  /** Fallbacks after a refusal by a content filter. */
  readonly ofRefusal: GroupFallbacks;
  /** The groups that the lists belong to. */
  readonly owners: readonly FallbackTarget[];
}

export interface LitellmSettings {
  readonly router: ConfigNode;
  readonly library: ConfigNode;
}

/** Reads a router setting. The setting may also be in `litellm_settings`, but `router_settings` takes precedence. */
export function settingOf(
  { router, library }: LitellmSettings,
  key: string,
  { outcomes }: ImportContext,
): ConfigNode | undefined {
  const own = valueAt(router, key);
  const older = valueAt(library, key);
  if (own && older) outcomes.leftOut(older, 'router_settings has it too, and takes precedence');
  return own ?? older;
}

export function readFallbacks(settings: LitellmSettings, context: ImportContext): Fallbacks {
  const { outcomes } = context;
  const owners: FallbackTarget[] = [];
  const read = (key: string): Map<string, FallbackTarget[]> | null => {
    const list = settingOf(settings, key, context);
    if (!list || isEmpty(list)) return null;
    const found = new Map<string, FallbackTarget[]>();
    const expected = 'it must be a list of maps, each with one name and its list of fallbacks';
    for (const item of itemsOf(list, outcomes, expected)) {
      const map = mapOf(item, outcomes, 'a map of a name and the list of its fallbacks');
      for (const [group, list] of map.entries) {
        if (group !== '*' || key !== 'fallbacks') owners.push({ name: group, node: list });
        if (list.kind !== 'list') outcomes.remark(list, 'a list is meant; it is read as a list of one');
        found.set(group, [...(found.get(group) ?? []), ...namesIn(list)]);
      }
    }
    return found;
  };
  const byGroup = read('fallbacks') ?? new Map<string, FallbackTarget[]>();
  const wildcard = byGroup.get('*') ?? [];
  byGroup.delete('*');
  const node = settingOf(settings, 'default_fallbacks', context);
  return {
    byGroup,
    byDefault: [...(node ? namesIn(node) : []), ...wildcard],
    ofContext: read('context_window_fallbacks'),
    ofRefusal: read('content_policy_fallbacks') ?? new Map(),
    owners,
  };
}

function namesIn(node: ConfigNode): FallbackTarget[] {
  const items = node.kind === 'list' ? node.items : [node];
  return items.flatMap((item) => {
    const name = scalarText(item);
    return name === null ? [] : [{ name, node: item }];
  });
}

/** An alias of a model, with its group and position. */
export interface ModelAlias extends FallbackTarget {
  readonly group: string;
}

export function readAliases(settings: LitellmSettings, context: ImportContext): ModelAlias[] {
  const { outcomes } = context;
  const map = mapOf(settingOf(settings, 'model_group_alias', context), outcomes, 'a map from an alias to its group');
  return [...map.entries].flatMap(([key, node]) => {
    const target = node.kind === 'map' ? valueAt(node, 'model') : node;
    const group = scalarText(target);
    if (target && group !== null) return [{ name: key, node, group }];
    return outcomes.problem(target ?? node, 'an alias must name one group') ?? [];
  });
}
