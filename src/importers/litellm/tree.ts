import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, type Scalar, type Node as YamlNode } from 'yaml';

/** A position in the configuration. Line and column count from 1. */
export interface SourcePosition {
  readonly line: number;
  readonly column: number;
  /** The included file, by its name in the configuration; null for the configuration itself. */
  readonly included: string | null;
}

interface LocatedNode extends SourcePosition {
  /** The path from the root: `model_list[0].litellm_params.model`. For an anchor, where it is defined. */
  readonly path: string;
}

export interface MapNode extends LocatedNode {
  readonly kind: 'map';
  /** Including those of merge keys. */
  readonly entries: readonly MapEntry[];
  /** Values that a later key of the same name replaces. */
  readonly replaced: readonly ConfigNode[];
}
interface ListNode extends LocatedNode {
  readonly kind: 'list';
  readonly items: readonly ConfigNode[];
}
interface ScalarNode extends LocatedNode {
  readonly kind: 'scalar';
  /** The source text without quotes; empty for null. */
  readonly text: string;
  readonly isQuoted: boolean;
}
interface MapEntry {
  readonly key: string;
  readonly node: ConfigNode;
}

/** A node of the configuration. A map's value has the position of its key. An anchor and its aliases share one node. */
export type ConfigNode = MapNode | ListNode | ScalarNode;

/** The text is not YAML. The message quotes nothing, because the text may contain keys. */
export class NotYaml extends Error {
  override readonly name = 'NotYaml';
  readonly where: SourcePosition;

  constructor(message: string, where: SourcePosition) {
    super(message);
    this.where = where;
  }
}

/** The library's own messages quote the text, which may contain keys. */
const MESSAGES: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: 'a tab stands where spaces indent; indent with spaces',
  BAD_INDENT: 'the indentation does not fit the lines above, or a quote or bracket before has no end',
  MISSING_CHAR: 'a quote or bracket has no end',
  BLOCK_AS_IMPLICIT_KEY: 'this reads like a key within a value: mind the indentation, and quote values with `: `',
  MULTILINE_IMPLICIT_KEY: 'this key goes over more than one line: a colon or a quote may be missing',
  BAD_ALIAS: 'this alias names no anchor before it',
  MULTIPLE_DOCS: 'the file has more than one document',
};

/**
 * Parses a configuration or an included file, and resolves merge keys and aliases.
 * @throws NotYaml
 */
export function readTree(text: string, included: string | null = null): ConfigNode {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    merge: true,
    uniqueKeys: false,
    prettyErrors: false,
    lineCounter: lines,
    logLevel: 'silent',
  });
  const where = (offset: number): SourcePosition => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col), included };
  };
  const [error] = document.errors;
  if (error) throw new NotYaml(MESSAGES[error.code] ?? 'this is not YAML', where(error.pos[0]));
  return new TreeReader(where).read(document.contents, '', { line: 1, column: 1, included });
}

class TreeReader {
  readonly #where: (offset: number) => SourcePosition;
  readonly #anchors = new Map<string, YamlNode>();
  readonly #done = new Map<YamlNode, ConfigNode>();
  /** Open nodes. An anchor that contains itself reads as empty. */
  readonly #open = new Set<YamlNode>();

  constructor(where: (offset: number) => SourcePosition) {
    this.#where = where;
  }

  read(from: unknown, path: string, at: SourcePosition): ConfigNode {
    const nothing: ScalarNode = { kind: 'scalar', path, ...at, text: '', isQuoted: false };
    if (isAlias(from)) {
      const target = this.#anchors.get(from.source);
      return target && !this.#open.has(target) ? (this.#done.get(target) ?? nothing) : nothing;
    }
    if (isScalar(from)) return this.#keep(from, scalarOf(from, path, at));
    if (isMap(from) || isSeq(from)) {
      if (from.anchor) this.#anchors.set(from.anchor, from);
      this.#open.add(from);
      const node = isMap(from) ? this.#map(from.items, path, at) : this.#list(from.items, path, at);
      this.#open.delete(from);
      return this.#keep(from, node);
    }
    return nothing;
  }

  #keep(from: YamlNode & { anchor?: string }, node: ConfigNode): ConfigNode {
    if (from.anchor) this.#anchors.set(from.anchor, from);
    this.#done.set(from, node);
    return node;
  }

  #list(items: readonly unknown[], path: string, at: SourcePosition): ListNode {
    const read = items.map((item, i) => this.read(item, `${path}[${i}]`, this.#startOf(item) ?? at));
    return { kind: 'list', path, ...at, items: read };
  }

  #map(items: readonly { key: unknown; value: unknown }[], path: string, at: SourcePosition): MapNode {
    const own = new Map<string, ConfigNode>();
    const merged = new Map<string, ConfigNode>();
    const replaced: ConfigNode[] = [];
    for (const { key, value } of items) {
      const name = isScalar(key) ? (key.source ?? String(key.value ?? '')) : '?';
      const position = this.#startOf(key) ?? at;
      const node = this.read(value, path === '' ? name : `${path}.${name}`, position);
      if (name === '<<') {
        for (const entry of mergedEntries(node)) if (!merged.has(entry.key)) merged.set(entry.key, entry.node);
        continue;
      }
      const before = own.get(name);
      if (before) replaced.push(before);
      own.set(name, node);
    }
    for (const [name, node] of merged) if (own.has(name)) replaced.push(node);
    const entries = [...new Map([...merged, ...own])].map(([key, node]) => ({ key, node }));
    return { kind: 'map', path, ...at, entries, replaced };
  }

  #startOf(node: unknown): SourcePosition | null {
    const range = isScalar(node) || isMap(node) || isSeq(node) || isAlias(node) ? node.range : null;
    return range ? this.#where(range[0]) : null;
  }
}

/** The entries of a map or of a list's maps. YAML allows no deeper lists in a merge. */
const mergedEntries = (node: ConfigNode): readonly MapEntry[] => {
  const maps = node.kind === 'list' ? [...new Set(node.items)] : [node];
  return maps.flatMap((one) => (one.kind === 'map' ? one.entries : []));
};

function scalarOf(from: Scalar, path: string, at: SourcePosition): ScalarNode {
  const isQuoted = from.type === 'QUOTE_DOUBLE' || from.type === 'QUOTE_SINGLE';
  const isEmpty = from.value === null || from.value === undefined;
  return { kind: 'scalar', path, ...at, text: isEmpty ? '' : (from.source ?? String(from.value)), isQuoted };
}

/** The value of a key; undefined if there is none. */
export function valueAt(node: ConfigNode | null | undefined, key: string): ConfigNode | undefined {
  return node?.kind === 'map' ? node.entries.find((entry) => entry.key === key)?.node : undefined;
}

/** Whether a node is null or an empty plain scalar. */
export const isEmpty = (node: ConfigNode): boolean => node.kind === 'scalar' && node.text === '' && !node.isQuoted;

/** All nodes without children at or below a node, once each. */
export function leavesOf(node: ConfigNode, seen: Set<ConfigNode> = new Set()): ConfigNode[] {
  if (seen.has(node)) return [];
  seen.add(node);
  const below = node.kind === 'map' ? [...node.entries.map((entry) => entry.node), ...node.replaced] : [];
  const inner = node.kind === 'list' ? node.items : below;
  return inner.length === 0 ? [node] : inner.flatMap((one) => leavesOf(one, seen));
}

/** All maps at or below a node, once each. */
export function mapsOf(node: ConfigNode, seen: Set<ConfigNode> = new Set()): MapNode[] {
  if (seen.has(node) || node.kind === 'scalar') return [];
  seen.add(node);
  if (node.kind === 'list') return node.items.flatMap((item) => mapsOf(item, seen));
  return [node, ...node.entries.flatMap((entry) => mapsOf(entry.node, seen))];
}

/** The text of a scalar; null if it is empty or another node. */
export const scalarText = (node: ConfigNode | undefined): string | null =>
  node?.kind === 'scalar' && node.text !== '' ? node.text : null;
