import { isAlias, isMap, isPair, isScalar, isSeq, Lexer, parseDocument } from 'yaml';

/** Marks of the lexer that stand for no character of the text. */
const MARKS: ReadonlySet<string> = new Set(['\u0002', '\u0018']);
/** The mark before the text of a scalar that has no quotes: what follows is no comment, whatever it begins with. */
const SCALAR_MARK = '\u001f';

/** A part of a text that formatting must keep, with its offset. */
interface Piece {
  readonly at: number;
  readonly what: string;
}

/**
 * Compares a formatted text with its original. Returns null if it has the same data, numbers as they were written included,
 * and the same comments between the same values. Both are YAML.
 */
export function lostIn(formatted: string, text: string): Piece | null {
  const [before, after] = [contentOf(text), contentOf(formatted)];
  const lost = (what: string) => ({ what, at: firstDifference(before.pieces, after.pieces) });
  if (before.shape !== after.shape) return lost('the data');
  if (before.comments !== after.comments) return lost('a comment');
  return before.order === after.order ? null : lost('the place of a comment');
}

function firstDifference(before: readonly Piece[], after: readonly Piece[]): number {
  const found = before.find(({ what }, i) => what !== after[i]?.what);
  return (found ?? before.at(-1))?.at ?? 0;
}

function contentOf(text: string) {
  const { contents } = parseDocument(text, { uniqueKeys: false, prettyErrors: false, version: '1.2', schema: 'core' });
  const leaves: Piece[] = [];
  const shape = JSON.stringify(shapeOf(contents, leaves));
  const comments = commentsIn(text);
  const pieces = [...leaves, ...comments].sort((a, b) => a.at - b.at);
  return { shape, pieces, comments: piecesText(comments), order: piecesText(pieces) };
}

const piecesText = (pieces: readonly Piece[]): string => JSON.stringify(pieces.map(({ what }) => what));

/** Data with its keys in their order, and with anchors and tags. Adds values to the leaves. */
function shapeOf(node: unknown, leaves: Piece[]): unknown {
  if (isPair(node)) return [shapeOf(node.key, leaves), shapeOf(node.value, leaves)];
  if (isMap(node) || isSeq(node)) {
    const items = node.items.map((item) => shapeOf(item, leaves));
    return { kind: isMap(node) ? 'map' : 'list', items, anchor: node.anchor, tag: node.tag };
  }
  if (isAlias(node)) return { alias: node.source };
  if (!isScalar(node)) return null;
  const { value, source = '', anchor, tag, range } = node;
  // Prices are read from the source, so 1.00 is not 1.0.
  const content = typeof value === 'string' ? value : [source];
  if (source !== '') leaves.push({ at: range?.[0] ?? 0, what: JSON.stringify(content) });
  return { content, anchor, tag };
}

function commentsIn(text: string): Piece[] {
  const comments: Piece[] = [];
  let at = 0;
  let before = '';
  for (const lexeme of new Lexer().lex(text)) {
    if (lexeme.startsWith('#') && before !== SCALAR_MARK) comments.push({ at, what: lexeme.trimEnd() });
    if (!MARKS.has(lexeme) && lexeme !== SCALAR_MARK) at += lexeme.length;
    before = lexeme;
  }
  return comments;
}
