import type { Diagnostic, DiagnosticCode } from '../../policy/diagnostics.ts';
import type { Environment, PolicyFile } from '../../policy/load.ts';
import { parseFile } from '../../policy/parse.ts';
import { Report } from '../../policy/report.ts';
import type { Tree } from '../../policy/tree.ts';
import { readYaml } from '../../policy/yaml-reader.ts';
import { replaceFile } from '../../runtime/replace-file.ts';
import { registerSecrets } from '../../telemetry/secrets.ts';
import { type FormatRefusal, formatYaml } from './format-yaml.ts';
import { openFiles } from './policy-files.ts';

/** A file and the result of formatting it. */
export interface FormattedFile {
  readonly file: PolicyFile;
  /** Null for a file that is left alone. */
  readonly formatted: string | null;
  /** The errors that keep it from being read as YAML. */
  readonly problems: readonly Diagnostic[];
  /** The damage that formatting would do; null for none. */
  readonly refused: FormatRefusal | null;
}

export type ChangedFile = FormattedFile & { readonly formatted: string };

export const isChanged = (one: FormattedFile): one is ChangedFile =>
  one.formatted !== null && one.formatted !== one.file.text;

/**
 * Formats the policy files of folders and single files.
 * @param write whether to write them: after all were read, or none. Throws UsageError.
 */
export async function formatFiles(
  places: readonly string[],
  env: Environment,
  write: boolean,
): Promise<FormattedFile[]> {
  const all: FormattedFile[] = [];
  for (const one of await openFiles(places)) all.push(await formatFile(one, env));
  if (write) {
    for (const { file, formatted } of all.filter(isChanged)) await replaceFile(file.path, formatted, file.text);
  }
  return all;
}

/** Other errors of a policy do not keep it from being formatted. */
const UNREADABLE: ReadonlySet<DiagnosticCode> = new Set([
  'file-too-large',
  'unreadable-file',
  'not-utf-8',
  'line-break',
  'symlink-loop',
  'yaml-syntax',
]);

/** Formats one file without writing it, and registers the secrets that it names. */
export async function formatFile(file: PolicyFile, env: Environment): Promise<FormattedFile> {
  const report = new Report();
  const left = { file, formatted: null, problems: [], refused: null };
  const tree = parseFile(unmarked(file), report, readYaml);
  // Before anything is shown of the file: it may hold the secret that it should have named.
  if (tree) registerSecrets(variablesIn(tree).map((name) => env.get(name)));
  const problems = () => report.sorted().filter(({ code }) => UNREADABLE.has(code));
  if (file.text === undefined || problems().length > 0) return { ...left, problems: problems() };
  const outcome = await formatYaml(file.text);
  if ('text' in outcome) return { ...left, formatted: outcome.text };
  if (outcome.kind === 'damaged') return { ...left, refused: outcome };
  const { line, column, message } = outcome;
  report.add('yaml-syntax', { file: file.path, line, column, length: 1 }, message);
  return { ...left, problems: problems() };
}

/** Drops a byte order mark, which counts as no column. */
const unmarked = (file: PolicyFile): PolicyFile =>
  file.text === undefined ? file : { ...file, text: file.text.replace(/^\uFEFF/, '') };

/** Returns the names of environment variables in a file. */
function variablesIn(tree: Tree): string[] {
  if (tree.kind === 'scalar') return [];
  if (tree.kind === 'list') return tree.items.flatMap(variablesIn);
  return tree.entries.flatMap(({ key, value }) =>
    value.kind === 'scalar' ? (key.endsWith('_env') ? [value.source] : []) : variablesIn(value),
  );
}
