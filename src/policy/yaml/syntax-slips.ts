import { isCollection, isNode, isPair, Lexer, type Node, type YAMLError } from 'yaml';
import { plural } from '../../core/text/text.ts';
import type { Courtesy } from '../report/courtesy.ts';
import { missingSpaceHint, variableHint, variableIn } from './slip-hints.ts';

/** A common mistake that causes errors of the YAML library, with its offsets in the text. */
export interface SyntaxSlip {
  readonly from: number;
  readonly to: number;
  readonly message: string;
  readonly hint: string;
}

/** A text that is not YAML, with the errors of the YAML library. */
interface FaultyText {
  readonly text: string;
  readonly errors: readonly YAMLError[];
}

/** One error of the YAML library. */
interface FaultyPart {
  readonly text: string;
  readonly contents: Node | null;
  readonly error: YAMLError;
}

/** Mistakes that confuse the parser so much that all its errors follow from them. */
export const DERAILING_SLIPS: readonly Courtesy<FaultyText, SyntaxSlip>[] = [
  { mistake: '```yaml\nversion: 1\n```', answer: ({ text, errors }) => findFence(text, errors) },
  { mistake: 'version: "1', answer: ({ text, errors: [first] }) => first && findOpenQuote(text, first.pos[0]) },
];

/** Mistakes that cause one error. */
export const SYNTAX_SLIPS: readonly Courtesy<FaultyPart, SyntaxSlip>[] = [
  {
    mistake: 'budgets:\n  - name: b\n     window: day',
    answer: ({ text, error }) => findIndentation(error, text),
  },
  {
    mistake: 'gateway:\n  retries_max:2\n  body_bytes_max: 1000000',
    answer({ text, error }) {
      const { line, start } = lineAt(text, error);
      return findGluedKey(line, start);
    },
  },
  {
    mistake: `providers:\n  own: { api_key: \${OWN_KEY} }`,
    answer({ text, error }) {
      const { line, start } = lineAt(text, error);
      return findReference(line, start);
    },
  },
  { mistake: 'tasks: [coding\nversion: 1', answer: ({ contents, error }) => findOpenBracket(contents, error) },
];

/** Returns the line of an error, and the offset of its beginning. */
function lineAt(text: string, { pos }: YAMLError): { readonly line: string; readonly start: number } {
  const start = text.lastIndexOf('\n', pos[0] - 1) + 1;
  const end = text.indexOf('\n', start);
  return { line: text.slice(start, end < 0 ? text.length : end).trimEnd(), start };
}

const FENCE = /^[ \t]*((?:```|~~~)\S*)/gm;

/** Finds a Markdown code fence that was pasted with the policy. */
function findFence(text: string, errors: readonly YAMLError[]): SyntaxSlip | undefined {
  const fences = [...text.matchAll(FENCE)].map(({ index, 0: all, 1: sign = '' }) => ({
    from: index + all.length - sign.length,
    to: index + all.length,
    start: index,
  }));
  const [first] = fences;
  const isCause = fences.some(({ start, to }) => errors.some(({ pos }) => pos[0] >= start && pos[0] < to));
  if (!first || !isCause) return undefined;
  const lines = fences.map(({ start }) => lineOf(text, start));
  const hint =
    lines.length === 1
      ? 'remove this line: a policy file contains only YAML'
      : `remove the lines ${lines.join(' and ')}: a policy file contains only YAML`;
  return { ...first, message: 'a Markdown code fence is not YAML', hint };
}

const lineOf = (text: string, at: number): number => text.slice(0, at).split('\n').length;

/**
 * A line that begins with a key or an item of a list. A line that begins with a key or an item is probably not meant as part of a quoted
 * text.
 */
const NEW_ENTRY = /^[ \t]*(?:-[ \t]|[A-Za-z_][\w.-]*:(?:[ \t]|\r?$))/m;

/**
 * Finds the quote that is not closed, or that closes only at the opening quote of a later text and includes the entries between.
 * @param faulty the offset of the library's error
 */
function findOpenQuote(text: string, faulty: number): SyntaxSlip | undefined {
  let at = 0;
  for (const token of new Lexer().lex(text)) {
    const from = at;
    if (from > faulty) return undefined;
    if (!LEXER_MARKS.has(token)) at += token.length;
    const quote = token.charAt(0);
    if (quote !== '"' && quote !== "'") continue;
    if (!isClosed(token)) {
      const hint = `end the text with \`${quote}\``;
      return { from, to: from + 1, message: 'a quote opens here and is not closed', hint };
    }
    const below = token.slice(token.indexOf('\n') + 1);
    const isCause = lineOf(text, faulty) <= lineOf(text, at);
    if (below === token || !isCause || !NEW_ENTRY.test(below)) continue;
    const hint = `end the text with \`${quote}\` on this line; now it continues to the next \`${quote}\`, on line ${lineOf(text, at)}`;
    return { from, to: from + 1, message: 'a quote opens here and is not closed on its line', hint };
  }
  return undefined;
}

/** Tokens of the lexer that have no text in the file. */
const LEXER_MARKS: ReadonlySet<string> = new Set(['\u0002', '\u0018', '\u001f']);

/** Whether a quoted text ends with a quote that is not escaped. */
function isClosed(token: string): boolean {
  // In single quotes, YAML escapes a quote by doubling it.
  if (token.startsWith("'")) return token.split("'").length % 2 === 1;
  const escapes = /\\*$/.exec(token.slice(0, -1))?.[0].length ?? 0;
  return token.length > 1 && token.endsWith('"') && escapes % 2 === 0;
}

/** Finds a key without a space after its colon. */
function findGluedKey(line: string, start: number): SyntaxSlip | undefined {
  const [, indent = '', entry = ''] = /^(\s*(?:-\s+)?)(\S.*)$/.exec(line) ?? [];
  const hint = missingSpaceHint(entry);
  if (hint === undefined) return undefined;
  const from = start + indent.length;
  return { from, to: from + entry.length, message: `YAML reads \`${entry}\` as one text`, hint };
}

/** Finds `${NAME}` without quotes, which YAML reads as the beginning of a map. */
function findReference(line: string, start: number): SyntaxSlip | undefined {
  const [all, key = '', written = ''] = /([\w-]+):\s+(\$\{\w+\})/.exec(line) ?? [];
  const variable = variableIn(written);
  if (all === undefined || variable === undefined) return undefined;
  const from = start + line.indexOf(all) + all.length - written.length;
  const message = `Signalbox does not replace \`${written}\` by the variable's value`;
  return { from, to: from + written.length, message, hint: variableHint(key, variable) };
}

/** Errors that cause all later errors of the YAML library. */
const LOST: ReadonlySet<YAMLError['code']> = new Set([
  'TAB_AS_INDENT',
  'BAD_INDENT',
  'BLOCK_AS_IMPLICIT_KEY',
  'MISSING_CHAR',
]);

export function derailsParser({ code }: YAMLError): boolean {
  return LOST.has(code);
}

/**
 * Finds the wrong indentation that causes an error of the YAML library; undefined for other errors. The line numbers in these errors count from
 * 1.
 */
function findIndentation({ code, message, pos }: YAMLError, text: string): SyntaxSlip | undefined {
  const isOnTheLine = /^All (?:mapping|sequence) items|without - indicator/.test(message);
  if (!isOnTheLine && code !== 'BLOCK_AS_IMPLICIT_KEY') return undefined;
  const lines = text.split('\n');
  const line = lineOf(text, pos[0]);
  // A value that continues on the next line, where the text is indented deeper than the key.
  const from = isOnTheLine ? line - 1 : line;
  const at = lines.findIndex((one, index) => index >= from && isFilled(one));
  const above = lines.findLastIndex((one, index) => index < at && isFilled(one));
  const slipped = lines[at];
  const stands = lines[above];
  if (slipped === undefined || stands === undefined) return undefined;
  const startOf = (index: number) => lines.slice(0, index).join('\n').length + (index > 0 ? 1 : 0);
  const glued = GLUED_DASH.exec(stands);
  if (glued) return gluedDash(glued, startOf(above));
  const spaces = /^ */.exec(slipped)?.[0].length ?? 0;
  const wanted = /^ *(?:- +)*/.exec(stands)?.[0] ?? '';
  if (spaces === wanted.length || (!isOnTheLine && spaces < wanted.length)) return undefined;
  const withDash = wanted.includes('-') ? ', counting its `- `' : '';
  const start = startOf(at) + spaces;
  if (lacksDash(lines, at)) {
    const hint = `a list needs a dash before the first key of each item: \`- ${slipped.trim()}\``;
    return { from: start, to: start + slipped.trim().length, message: 'a dash is missing', hint };
  }
  return {
    from: start,
    to: start + slipped.trim().length,
    message: 'the indentation does not match the lines above',
    hint: `this line begins with ${plural(spaces, 'space')}, but line ${above + 1} with ${wanted.length}${withDash}`,
  };
}

/** A dash without a space after it, before a key. */
const GLUED_DASH = /^( *)-([A-Za-z_][\w-]*:.*)$/;

function gluedDash([line, indent = '', entry = '']: RegExpExecArray, start: number): SyntaxSlip {
  const from = start + indent.length;
  const hint = `write \`- ${entry.trim()}\``;
  return { from, to: start + line.length, message: 'a dash needs a space after it', hint };
}

/** Whether a line has the first key of a list item but lacks the dash of the items above it. */
function lacksDash(lines: readonly string[], at: number): boolean {
  const [, indent, key] = /^( *)([\w-]+):/.exec(lines[at] ?? '') ?? [];
  if (indent === undefined) return false;
  const item = lines.slice(0, at).findLast((line) => line.startsWith(`${indent}- `));
  return (
    item
      ?.slice(indent.length + 2)
      .trimStart()
      .startsWith(`${key}:`) ?? false
  );
}

const isFilled = (line: string) => /^\s*[^\s#]/.test(line);

const FLOW_END = /must (?:be sufficiently indented and )?end with a (.)$/;

/**
 * Finds the bracket that is never closed. The YAML library reports an open bracket only further down. `findOpenBracket` returns
 * undefined for other errors.
 */
function findOpenBracket(contents: Node | null, { message, pos }: YAMLError): SyntaxSlip | undefined {
  const sign = FLOW_END.exec(message)?.[1];
  if (sign === undefined) return undefined;
  let open: number | null = null;
  // `visitNodes` visits the innermost bracket last.
  visitNodes(contents, (node) => {
    if (isCollection(node) && node.flow && node.range?.[1] === pos[0]) open = node.range[0];
  });
  if (open === null) return undefined;
  const hint = `close it with \`${sign}\`, and indent its lines deeper than the line with the opening bracket`;
  const opening = sign === ']' ? '[' : '{';
  return { from: open, to: open + 1, message: `a \`${opening}\` opens here and is not closed`, hint };
}

/** Visits a node and all nodes in it. The visit function of the YAML library takes time that is quadratic in the depth. */
function visitNodes(node: unknown, look: (node: Node) => void): void {
  if (isPair(node)) {
    visitNodes(node.key, look);
    visitNodes(node.value, look);
  } else if (isNode(node)) {
    look(node);
    if (isCollection(node)) for (const item of node.items) visitNodes(item, look);
  }
}
