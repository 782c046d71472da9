import { isAlias, isMap, isNode, isScalar, isSeq, parseDocument, type Scalar, type YAMLMap, type YAMLSeq } from 'yaml';
import { linesOf } from '../../../core/text/yaml-lines.ts';

/** A position in the configuration. Line and column count from 1. */
export interface SourcePosition {
  readonly line: number;
  readonly column: number;
  /** The name of the included file in the configuration; null for the configuration itself. */
  readonly included: string | null;
}

/**
 * A node of the configuration. A map's value has the position of its key. An anchor and the aliases of the anchor share one node. Members
 * that do not apply to the kind of a node are empty.
 */
export interface ConfigNode extends SourcePosition {
  readonly kind: 'map' | 'list' | 'scalar';
  /** The path from the root, such as `model_list[0].litellm_params.model`. For an anchor, the path where it is defined. */
  readonly path: string;
  /** The entries of a map, including entries from merge keys. */
  readonly entries: ReadonlyMap<string, ConfigNode>;
  /** Values of a map that a later key with the same name replaces. */
  readonly replaced: readonly ConfigNode[];
  readonly items: readonly ConfigNode[];
  /** The source text of a scalar without quotes; empty for null. */
  readonly text: string;
  readonly isQuoted: boolean;
}

const WITHOUT_CONTENT = { entries: new Map<string, ConfigNode>(), replaced: [], items: [], text: '', isQuoted: false };
const START = { line: 1, column: 1, included: null };

/** The node that is used instead of a missing map. */
export const NO_MAP: ConfigNode = { kind: 'map', path: '', ...START, ...WITHOUT_CONTENT };

/** The text is not YAML. The message quotes nothing, because the text may contain secret keys. */
export class NotYaml extends Error {
  override readonly name = 'NotYaml';
  readonly where: SourcePosition;

  constructor(message: string, where: SourcePosition) {
    super(message);
    this.where = where;
  }
}

/** Replaces the library's own messages, because they quote the text, which may contain secret keys. */
const MESSAGES: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: 'a tab is used for indentation; indent with spaces',
  BAD_INDENT: 'the indentation does not match the lines above, or an earlier quote or bracket is not closed',
  MISSING_CHAR: 'a quote or bracket is not closed',
  BLOCK_AS_IMPLICIT_KEY: 'a value looks like a key: check the indentation, and quote values that contain `: `',
  MULTILINE_IMPLICIT_KEY: 'this key extends over more than one line: a colon or a quote may be missing',
  BAD_ALIAS: 'this alias refers to no earlier anchor',
  MULTIPLE_DOCS: 'the file has more than one document',
};

/**
 * Parses a configuration or an included file, and resolves merge keys and aliases.
 * @throws NotYaml
 */
export function readTree(text: string, included: string | null = null): ConfigNode {
  const lines = linesOf(text);
  const document = parseDocument(text, {
    merge: true,
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: 'silent',
  });
  const where = (offset: number): SourcePosition => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col), included };
  };
  const [error] = document.errors;
  if (error) throw new NotYaml(MESSAGES[error.code] ?? 'this is not YAML', where(error.pos[0]));
  return new TreeReader(where).read(document.contents, '', { ...START, included });
}

class TreeReader {
  readonly #where: (offset: number) => SourcePosition;
  /** The node is null while the anchor's node is being read, so that an anchor that contains itself reads as empty. */
  readonly #anchors = new Map<string, ConfigNode | null>();

  constructor(where: (offset: number) => SourcePosition) {
    this.#where = where;
  }

  read(from: unknown, path: string, at: SourcePosition): ConfigNode {
    const nothing: ConfigNode = { kind: 'scalar', path, ...at, ...WITHOUT_CONTENT };
    if (isAlias(from)) return this.#anchors.get(from.source) ?? nothing;
    if (!isScalar(from) && !isMap(from) && !isSeq(from)) return nothing;
    if (from.anchor) this.#anchors.set(from.anchor, null);
    const node = { ...nothing, ...this.#contentOf(from, path, at) };
    if (from.anchor) this.#anchors.set(from.anchor, node);
    return node;
  }

  #contentOf(from: Scalar | YAMLMap | YAMLSeq, path: string, at: SourcePosition): Partial<ConfigNode> {
    if (isScalar(from)) {
      const { type, value } = from;
      const text = value === null || value === undefined ? '' : (from.source ?? String(value));
      return { text, isQuoted: type === 'QUOTE_DOUBLE' || type === 'QUOTE_SINGLE' };
    }
    if (isMap(from)) return { kind: 'map', ...this.#entriesOf(from, path, at) };
    const items = from.items.map((item, i) => this.read(item, `${path}[${i}]`, this.#startOf(item) ?? at));
    return { kind: 'list', items };
  }

  #entriesOf({ items }: YAMLMap, path: string, at: SourcePosition): Pick<ConfigNode, 'entries' | 'replaced'> {
    const own = new Map<string, ConfigNode>();
    const merged = new Map<string, ConfigNode>();
    const replaced: ConfigNode[] = [];
    for (const { key, value } of items) {
      const name = isScalar(key) ? (key.source ?? String(key.value ?? '')) : '?';
      const position = this.#startOf(key) ?? at;
      const node = this.read(value, path === '' ? name : `${path}.${name}`, position);
      if (name === '<<') {
        // YAML allows either a map or a list of maps as the value of a merge key.
        for (const one of new Set([node, ...node.items]))
          for (const [inner, below] of one.entries) merged.getOrInsertComputed(inner, () => below);
        continue;
      }
      const before = own.get(name);
      if (before) replaced.push(before);
      own.set(name, node);
    }
    for (const [name, node] of merged) if (own.has(name)) replaced.push(node);
    return { entries: new Map([...merged, ...own]), replaced };
  }

  #startOf(node: unknown): SourcePosition | null {
    const range = isNode(node) ? node.range : null;
    return range ? this.#where(range[0]) : null;
  }
}

/** Returns the value under a path of keys; undefined if there is none. */
export const valueAt = (node: ConfigNode | undefined, ...path: readonly string[]): ConfigNode | undefined =>
  path.reduce((at, key) => at?.entries.get(key), node);

/** Whether a node is null or an empty plain scalar. */
export const isEmpty = (node: ConfigNode): boolean => node.kind === 'scalar' && node.text === '' && !node.isQuoted;

const childrenOf = ({ items, entries, replaced }: ConfigNode): ConfigNode[] => [
  ...items,
  ...entries.values(),
  ...replaced,
];

/** Returns a node and all nodes below it, each once, parents first. */
export function nodesOf(node: ConfigNode, seen: Set<ConfigNode> = new Set()): Set<ConfigNode> {
  if (seen.has(node)) return seen;
  seen.add(node);
  for (const one of childrenOf(node)) nodesOf(one, seen);
  return seen;
}

/** Returns all nodes without children at or below a node, each once. */
export const leavesOf = (node: ConfigNode): ConfigNode[] =>
  [...nodesOf(node)].filter((one) => childrenOf(one).length === 0);

/** Returns the text of a scalar; null for an empty scalar or another node. */
export const scalarText = (node: ConfigNode | undefined): string | null => node?.text || null;
