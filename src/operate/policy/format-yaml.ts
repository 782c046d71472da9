import { isObject } from '../../core/object.ts';
import { LineIndex } from '../../policy/line-index.ts';
import { lostIn } from './format-loss.ts';

/** Columns that a line is broken at where it can be. Editors are told by `yaml.format.printWidth`. */
const WIDTH = 120;

/** Those of the YAML language server, which formats by prettier, too: an editor must not undo what the command did. */
const LAYOUT = {
  parser: 'yaml',
  printWidth: WIDTH,
  tabWidth: 2,
  singleQuote: false,
  bracketSpacing: true,
  proseWrap: 'preserve',
  trailingComma: 'all',
  endOfLine: 'lf',
} as const;

/** A text as it should be written, or why it is left as it is. */
export type Formatted = { readonly text: string } | Refused;

export interface Refused {
  /** Whether it is no YAML, or YAML that formatting would damage. */
  readonly kind: 'not-yaml' | 'damaged';
  /** Without a full stop. */
  readonly message: string;
  /** Both from 1. */
  readonly line: number;
  readonly column: number;
}

/** Turns a text into one that should be nicer to read. Rejects when it is not YAML. */
export type Layout = (text: string) => Promise<string>;

/** Formats one YAML document. Comments and data are the same afterwards, or else it is refused; prettier does it unless told otherwise. */
export async function formatYaml(text: string, layout: Layout = prettier): Promise<Formatted> {
  let formatted: string;
  try {
    formatted = await layout(text);
  } catch (cause) {
    return refusalOf(cause);
  }
  if (formatted === text) return { text };
  const lost = lostIn(formatted, text);
  if (lost === null) return { text: formatted };
  const { line, column } = new LineIndex(text).placeOf(lost.at);
  return { kind: 'damaged', message: `formatting would change ${lost.what}`, line, column };
}

/** Loaded when it is needed, for a server does not. */
async function prettier(text: string): Promise<string> {
  const [{ format }, yaml] = await Promise.all([import('prettier/standalone'), import('prettier/plugins/yaml')]);
  return format(text, { ...LAYOUT, plugins: [yaml] });
}

/** Prettier's own errors tell a place, and draw it below their first line. */
function refusalOf(cause: unknown): Refused {
  if (!(cause instanceof Error)) throw cause;
  const message = (cause.message.split('\n')[0] ?? '').replace(/ \(\d+:\d+\)$/, '');
  const start = 'loc' in cause && isObject(cause.loc) && isObject(cause.loc.start) ? cause.loc.start : {};
  return { kind: 'not-yaml', message, line: Number(start.line ?? 1), column: Number(start.column ?? 1) };
}
