import { type Context, mapOf, textOf } from './context.ts';
import { isNothing, type MapNode, type Node, valueAt } from './tree.ts';

/** A group that is asked after another, and where that is said. */
export interface Next {
  readonly name: string;
  readonly node: Node;
}

/** Who is asked after whom, as the configuration says it. */
export interface Fallbacks {
  readonly byGroup: ReadonlyMap<string, readonly Next[]>;
  /** For groups without their own. */
  readonly byDefault: readonly Next[];
  /** Where the input is too long. */
  readonly ofContext: ReadonlyMap<string, readonly Next[]>;
  /** Keys that stand before the lists: the groups that they are for. */
  readonly owners: readonly Next[];
}

export interface Settings {
  readonly router: MapNode | null;
  readonly library: MapNode | null;
}

/** A key of the router, which may also stand in `litellm_settings`; the router's wins. */
export function settingOf({ router, library }: Settings, key: string, { account }: Context): Node | undefined {
  const own = valueAt(router ?? undefined, key);
  const older = valueAt(library ?? undefined, key);
  if (own && older) account.leftOut(older, 'router_settings says it, too, and wins');
  return own ?? older;
}

export function readFallbacks(settings: Settings, context: Context): Fallbacks {
  const { account } = context;
  const owners: Next[] = [];
  const read = (key: string): Map<string, Next[]> => {
    const node = settingOf(settings, key, context);
    const found = new Map<string, Next[]>();
    if (!node || isNothing(node)) return found;
    if (node.kind !== 'list') {
      account.problem(node, 'it must be a list of maps, each of one name and the list of those after it');
      return found;
    }
    for (const item of node.items) {
      const map = mapOf(item, account, 'a map of a name and the list of those after it');
      for (const { key: group, node: list } of map?.entries ?? []) {
        owners.push({ name: group, node: list });
        if (list.kind !== 'list') account.remark(list, 'a list is meant; it is read as a list of one');
        found.set(group, [...(found.get(group) ?? []), ...namesIn(list)]);
      }
    }
    return found;
  };
  const byGroup = read('fallbacks');
  const everybody = byGroup.get('*') ?? [];
  byGroup.delete('*');
  const node = settingOf(settings, 'default_fallbacks', context);
  return {
    byGroup,
    byDefault: [...(node ? namesIn(node) : []), ...everybody],
    ofContext: read('context_window_fallbacks'),
    owners: owners.filter(({ name }) => name !== '*'),
  };
}

function namesIn(node: Node): Next[] {
  const items = node.kind === 'list' ? node.items : [node];
  return items.flatMap((item) => {
    const name = textOf(item);
    return name === null ? [] : [{ name, node: item }];
  });
}

/** An alias, what it stands for, and where that is said. */
export interface Alias extends Next {
  readonly group: string;
}

export function readAliases(settings: Settings, context: Context): Alias[] {
  const { account } = context;
  const map = mapOf(
    settingOf(settings, 'model_group_alias', context),
    account,
    'a map of an alias and the group it stands for',
  );
  return (map?.entries ?? []).flatMap(({ key, node }) => {
    const target = node.kind === 'map' ? valueAt(node, 'model') : node;
    const group = textOf(target);
    if (target && group !== null) return [{ name: key, node, group }];
    account.problem(target ?? node, 'an alias stands for the name of one group');
    return [];
  });
}
