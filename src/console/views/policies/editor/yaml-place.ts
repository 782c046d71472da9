import { yamlLanguage } from '@codemirror/lang-yaml';
import type { SyntaxNode } from '@lezer/common';

/** The position of the cursor in a policy file: the map and the key at the cursor. The text may be incomplete. */
export interface YamlPlace {
  /** The keys from the top; null represents a list entry. If the cursor is in a value, the last element is the key of that value. */
  readonly path: readonly (string | null)[];
  readonly isValue: boolean;
  /** The maps from the top to the cursor, each with the values of its plain keys; null for any other value. */
  readonly maps: readonly ReadonlyMap<string, string | null>[];
  /** The offset where the word under the cursor begins. */
  readonly from: number;
}

const SCALARS = ['Literal', 'QuotedLiteral'];
const isScalar = (node: SyntaxNode | null): node is SyntaxNode => node !== null && SCALARS.includes(node.name);

/**
 * The text to insert at the cursor before parsing: the start of a word, and the colon of a key that is alone in its line.
 * @param before the text of the line before the cursor
 * @param after the text of the line after the cursor
 */
function standInFor(before: string, after: string): string {
  if (/^[ \t]*(?:-[ \t]+)*[\w.-]*$/.test(before) && after.trim() === '') return 'x:';
  return /(?:^|[\s{[,])$/.test(before) && /^(?:[\s}\],]|$)/.test(after) ? 'x' : '';
}

/** The syntax tree of the latest text, because the pointer requests many positions of one text. */
let last: { readonly text: string; readonly tree: ReturnType<typeof yamlLanguage.parser.parse> } | null = null;

/** The position at an offset; null within a comment or a multi-line text. */
export function placeAt(given: string, offset: number): YamlPlace | null {
  const [before, after] = [given.slice(0, offset), given.slice(offset)];
  const standIn = standInFor(before.slice(before.lastIndexOf('\n') + 1), after.split('\n', 1)[0] ?? '');
  const text = before + standIn + after;
  if (last?.text !== text) last = { text, tree: yamlLanguage.parser.parse(text) };
  const { tree } = last;
  const word = [tree.resolveInner(offset, standIn ? 1 : -1), tree.resolveInner(offset, 1)].find(isScalar);
  const parent = word?.parent;
  if (!word || !parent) return null;
  const { path, maps } = wayTo(parent, text);
  if (parent.name === 'Key') return { path, maps, isValue: false, from: word.from };
  // A word on a line of its own, and a list entry, may start a map.
  const isInFlow = parent.parent?.name === 'FlowMapping';
  const isValue = parent.name === 'Pair' && (isInFlow || !text.slice(parent.from, word.from).includes('\n'));
  return { path, maps: isValue ? maps : [...maps, new Map()], isValue, from: word.from };
}

/**
 * The keys, list entries and maps around a word.
 * @param parent of the word
 */
function wayTo(parent: SyntaxNode, text: string): Pick<YamlPlace, 'path' | 'maps'> {
  const path: (string | null)[] = [];
  const maps: ReadonlyMap<string, string | null>[] = [];
  // The pair of the key at the cursor is not part of the path to that key.
  for (let at = parent.name === 'Key' ? (parent.parent?.parent ?? null) : parent; at !== null; at = at.parent) {
    if (at.name === 'Item') path.unshift(null);
    else if (at.name === 'Pair') path.unshift(keyOf(at, text));
    else if (/^(?:Block|Flow)Mapping$/.test(at.name)) maps.unshift(valuesIn(at, text));
  }
  return { path, maps };
}

const valuesIn = (map: SyntaxNode, text: string): ReadonlyMap<string, string | null> =>
  new Map(
    map.getChildren('Pair').map((pair) => {
      const value = SCALARS.map((name) => pair.getChild(name)).find(isScalar);
      return [keyOf(pair, text), value ? textOf(value, text) : null];
    }),
  );

const keyOf = (pair: SyntaxNode, text: string): string => textOf(pair.getChild('Key'), text);

const textOf = (node: SyntaxNode | null, text: string): string =>
  node === null ? '' : text.slice(node.from, node.to).replace(/^(["'])(.*)\1$/, '$2');
