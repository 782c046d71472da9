import { Lexer, type YAMLError } from 'yaml';
import { missingSpaceHint } from './missing-space.ts';
import { variableHint, variableIn } from './variable-references.ts';

/** A common mistake behind errors of the YAML library, with its offsets in the text. */
export interface SyntaxSlip {
  readonly from: number;
  readonly to: number;
  readonly message: string;
  readonly hint: string;
}

/** The mistake that derails the parser, so that all its errors follow from it; null if there is no such mistake. */
export function findDerailingSlip(text: string, errors: readonly YAMLError[]): SyntaxSlip | null {
  const [first] = errors;
  return first ? (findFence(text, errors) ?? findOpenQuote(text, first.pos[0])) : null;
}

/** The mistake on the line of one error; null for errors with another cause. */
export function findSlipOfLine(text: string, { pos }: YAMLError): SyntaxSlip | null {
  const start = text.lastIndexOf('\n', pos[0] - 1) + 1;
  const end = text.indexOf('\n', start);
  const line = text.slice(start, end < 0 ? text.length : end).trimEnd();
  return findGluedKey(line, start) ?? findReference(line, start);
}

const FENCE = /^[ \t]*((?:```|~~~)\S*)/gm;

/** A fence of Markdown, pasted with the policy. */
function findFence(text: string, errors: readonly YAMLError[]): SyntaxSlip | null {
  const fences = [...text.matchAll(FENCE)].map(({ index, 0: all, 1: sign = '' }) => ({
    from: index + all.length - sign.length,
    to: index + all.length,
    start: index,
  }));
  const [first] = fences;
  const isCause = fences.some(({ start, to }) => errors.some(({ pos }) => pos[0] >= start && pos[0] < to));
  if (!first || !isCause) return null;
  const lines = fences.map(({ start }) => lineOf(text, start));
  const hint =
    lines.length === 1
      ? 'remove this line: a policy file holds only YAML'
      : `remove the lines ${lines.join(' and ')}: a policy file holds only YAML`;
  return { ...first, message: 'a code fence of Markdown is not YAML', hint };
}

const lineOf = (text: string, at: number): number => text.slice(0, at).split('\n').length;

/** A line that begins with a key or an item of a list, so that it was hardly meant as part of a text. */
const NEW_ENTRY = /^[ \t]*(?:-[ \t]|[A-Za-z_][\w.-]*:(?:[ \t]|\r?$))/m;

/**
 * The quote that is not closed, or that closes only at the opening quote of a later text and takes in the entries between.
 * `faulty`: the offset of the library's error.
 */
function findOpenQuote(text: string, faulty: number): SyntaxSlip | null {
  let at = 0;
  for (const token of new Lexer().lex(text)) {
    const from = at;
    if (from > faulty) return null;
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
    const hint = `end the text with \`${quote}\` on this line: now it runs on to the next \`${quote}\`, on line ${lineOf(text, at)}`;
    return { from, to: from + 1, message: 'a quote opens here and is not closed on its line', hint };
  }
  return null;
}

/** Tokens of the lexer that stand for nothing in the text. */
const LEXER_MARKS: ReadonlySet<string> = new Set(['\u0002', '\u0018', '\u001f']);

/** Whether a quoted text ends with a quote that is not escaped. */
function isClosed(token: string): boolean {
  // In single quotes, a quote is written twice.
  if (token.startsWith("'")) return token.split("'").length % 2 === 1;
  const escapes = /\\*$/.exec(token.slice(0, -1))?.[0].length ?? 0;
  return token.length > 1 && token.endsWith('"') && escapes % 2 === 0;
}

/** A key without a space after its colon. */
function findGluedKey(line: string, start: number): SyntaxSlip | null {
  const [, indent = '', entry = ''] = /^(\s*(?:-\s+)?)(\S.*)$/.exec(line) ?? [];
  const hint = missingSpaceHint(entry);
  if (hint === undefined) return null;
  const from = start + indent.length;
  return { from, to: from + entry.length, message: `\`${entry}\` is read as one text`, hint };
}

/** `${NAME}` without quotes, which YAML reads as the beginning of a map. */
function findReference(line: string, start: number): SyntaxSlip | null {
  const [all, key = '', written = ''] = /([\w-]+):\s+(\$\{\w+\})/.exec(line) ?? [];
  const variable = variableIn(written);
  if (all === undefined || variable === undefined) return null;
  const from = start + line.indexOf(all) + all.length - written.length;
  const message = `\`${written}\` is not replaced by the variable's value: a policy is read as it is written`;
  return { from, to: from + written.length, message, hint: variableHint(key, variable) };
}
