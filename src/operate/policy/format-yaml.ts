import { isObject } from '../../core/object.ts';
import { lostIn } from './format-loss.ts';

/** The column at which lines are broken where possible. For editors it is `yaml.format.printWidth`. */
const WIDTH = 120;

/** The settings of the YAML language server, which also formats by prettier: an editor must not undo the command's work. */
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

/** The reason why a text is not formatted: it is no YAML, or formatting would damage it. */
export interface FormatRefusal {
  readonly kind: 'not-yaml' | 'damaged';
  /** Without a full stop. */
  readonly message: string;
  /** Both from 1. */
  readonly line: number;
  readonly column: number;
}

/** Formats a text. Rejects when it is not YAML. */
export type Layout = (text: string) => Promise<string>;

/** Formats one YAML document. Comments and data stay the same, or else it is refused. Formats by prettier unless another function is passed. */
export async function formatYaml(text: string, layout: Layout = prettier): Promise<{ text: string } | FormatRefusal> {
  let formatted: string;
  try {
    formatted = await layout(text);
  } catch (cause) {
    return refusalOf(cause);
  }
  if (formatted === text) return { text };
  const lost = lostIn(formatted, text);
  if (lost === null) return { text: formatted };
  const before = text.slice(0, lost.at).split('\n');
  const place = { line: before.length, column: before.at(-1)!.length + 1 };
  return { kind: 'damaged', message: `formatting would change ${lost.what}`, ...place };
}

/** Loads prettier on first use: a server does not need it. */
async function prettier(text: string): Promise<string> {
  const [{ format }, yaml] = await Promise.all([import('prettier/standalone'), import('prettier/plugins/yaml')]);
  return format(text, { ...LAYOUT, plugins: [yaml] });
}

/** Prettier's own errors tell a place, and draw it below their first line. */
function refusalOf(cause: unknown): FormatRefusal {
  if (!(cause instanceof Error)) throw cause;
  const message = (cause.message.split('\n')[0] ?? '').replace(/ \(\d+:\d+\)$/, '');
  const start = 'loc' in cause && isObject(cause.loc) && isObject(cause.loc.start) ? cause.loc.start : {};
  return { kind: 'not-yaml', message, line: Number(start.line ?? 1), column: Number(start.column ?? 1) };
}
