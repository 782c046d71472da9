import { plural } from '../../core/text.ts';
import { UsageError } from '../../core/usage-error.ts';
import { type Diagnostic, type DiagnosticCode, diagnosticsJson } from '../../policy/diagnostics.ts';
import { maskSecrets } from '../../policy/mask.ts';
import { type PolicyFile, parseFile } from '../../policy/parse.ts';
import { Report } from '../../policy/report.ts';
import type { Tree } from '../../policy/tree.ts';
import { mask, registerSecrets } from '../../telemetry/secrets.ts';
import { parseArguments } from '../options.ts';
import type { CommandResult } from '../result.ts';
import { jsonText } from '../text.ts';
import type { PolicyCommand } from './command.ts';
import { diffText } from './fmt-diff.ts';
import { type Opened, openFiles, replaceFile } from './fmt-files.ts';
import { formatYaml, type Refused } from './fmt-yaml.ts';
import { problemsText } from './problems.ts';

/** `signalbox policy fmt`. Throws UsageError. */
export async function formatPolicy(args: readonly string[], command: PolicyCommand): Promise<CommandResult> {
  const flags = { json: { type: 'boolean' }, check: { type: 'boolean' } } as const;
  const { values, positionals } = parseArguments(args, flags);
  const { json = false, check = false } = values;
  if (positionals.includes('-')) {
    if (positionals.length > 1) throw new UsageError('policy fmt takes - alone, without folders and files.');
    const text = await command.input();
    const opened = { file: { path: STANDARD_INPUT, text }, bytes: new Uint8Array() };
    return formatInput(await judged(opened, command), { json, check, colour: command.terminal });
  }
  const opened = await openFiles(positionals.length > 0 ? positionals : [command.folder]);
  const all: Judged[] = [];
  for (const one of opened) all.push(await judged(one, command));
  // Nothing is written before all was looked at.
  if (!check)
    for (const one of all) if (isChanged(one)) await replaceFile(one.opened.file.path, one.formatted, one.opened.bytes);
  const code = all.some((one) => one.problems.length > 0 || one.refused || (check && isChanged(one))) ? 2 : 0;
  const form = { check, colour: command.terminal };
  return { text: json ? jsonText(bodyOf(all, check)) : asText(all, form), code };
}

const STANDARD_INPUT = 'standard input';

/** One file, and what formatting makes of it. */
interface Judged {
  readonly opened: Opened;
  /** Null for a file that is left alone. */
  readonly formatted: string | null;
  /** Why it cannot be read as YAML. */
  readonly problems: readonly Diagnostic[];
  /** What formatting would damage; null for nothing. */
  readonly refused: Refused | null;
}

type Changed = Judged & { readonly formatted: string };

const isChanged = (one: Judged): one is Changed => one.formatted !== null && one.formatted !== one.opened.file.text;

/** What else is wrong with a policy does not keep it from being formatted. */
const UNREADABLE: ReadonlySet<DiagnosticCode> = new Set([
  'file-too-large',
  'unreadable-file',
  'not-utf-8',
  'symlink-loop',
  'yaml-syntax',
]);

async function judged(opened: Opened, { judge }: PolicyCommand): Promise<Judged> {
  const { file } = opened;
  const report = new Report();
  const left = { opened, formatted: null, problems: [], refused: null };
  const tree = parseFile(unmarked(file), report);
  // Before anything is shown of the file: it may hold the secret that it should have named.
  if (tree) registerSecrets(variablesIn(tree).map((name) => judge.env.get(name)));
  const problems = report.sorted().filter(({ code }) => UNREADABLE.has(code));
  if (problems.length > 0 || file.text === undefined) return { ...left, problems };
  const outcome = await formatYaml(file.text);
  if ('text' in outcome) return { ...left, formatted: outcome.text };
  if (outcome.kind === 'damaged') return { ...left, refused: outcome };
  const { line, column, message } = outcome;
  report.add('yaml-syntax', { file: file.path, line, column, length: 1 }, message);
  return { ...left, problems: report.sorted().filter(({ code }) => UNREADABLE.has(code)) };
}

/** Without a mark of its encoding, which is not counted as a column. */
const unmarked = (file: PolicyFile): PolicyFile =>
  file.text === undefined ? file : { ...file, text: file.text.replace(/^\uFEFF/, '') };

/** The names of variables that a file states. */
function variablesIn(tree: Tree): string[] {
  if (tree.kind === 'scalar') return [];
  if (tree.kind === 'list') return tree.items.flatMap(variablesIn);
  return tree.entries.flatMap(({ key, value }) =>
    value.kind === 'scalar' ? (key.endsWith('_env') ? [value.source] : []) : variablesIn(value),
  );
}

const shownText = (text: string): string => maskSecrets(mask(text));

interface Form {
  readonly check: boolean;
  readonly colour: boolean;
}

function formatInput(one: Judged, { json, check, colour }: Form & { json: boolean }): CommandResult {
  const changed = isChanged(one);
  const code = one.formatted === null || (check && changed) ? 2 : 0;
  if (json) {
    const body = { ...bodyOf([one], check), ...(check ? {} : { formatted: one.formatted }) };
    return { text: jsonText(body), code };
  }
  // What goes on into a file must be the formatted text or nothing.
  if (one.formatted === null) throw new UsageError(whyNot(one, false));
  if (!check) return { text: one.formatted, code };
  return { text: changed ? `${wouldChange(one, colour)}\n` : '', code };
}

function bodyOf(all: readonly Judged[], check: boolean): object {
  return {
    ...diagnosticsJson(all.flatMap(({ problems }) => problems)),
    files: all.map(({ opened }) => opened.file.path),
    [check ? 'would_change' : 'changed']: all.filter(isChanged).map(({ opened }) => opened.file.path),
    refused: all.flatMap(({ opened: { file }, refused }) => {
      if (!refused) return [];
      const { line, column, message } = refused;
      return [{ file: file.path, line, column, message, hint: IN_BRACKETS }];
    }),
  };
}

function asText(all: readonly Judged[], { check, colour }: Form): string {
  const changed = all.filter(isChanged);
  const left = all.filter(({ formatted }) => formatted === null);
  const parts = [
    ...left.map((one) => whyNot(one, colour)),
    ...(check ? changed.map((one) => wouldChange(one, colour)) : []),
    ...(check || changed.length === 0 ? [] : [changed.map(({ opened }) => `formatted ${opened.file.path}`).join('\n')]),
  ];
  const counts = [
    changed.length > 0 && `${changed.length} ${check ? 'would change' : 'formatted'}`,
    left.length > 0 && `${left.length} left as ${left.length === 1 ? 'it is' : 'they are'}`,
  ].filter(Boolean);
  return `${[...parts, `${plural(all.length, 'file')}: ${counts.length > 0 ? counts.join(', ') : 'nothing to do'}`].join('\n\n')}\n`;
}

/** Where prettier goes wrong, as far as is known. */
const IN_BRACKETS = 'a comment inside `{ }` or `[ ]` may be the reason: put it above or behind them';

function whyNot({ opened: { file }, problems, refused }: Judged, colour: boolean): string {
  if (refused) {
    const { line, column, message } = refused;
    return `${file.path}:${line}:${column}  ${message}, so it is left as it is\n  hint: ${IN_BRACKETS}`;
  }
  return problemsText(problems, { files: [file] }, colour);
}

function wouldChange({ opened: { file }, formatted }: Changed, colour: boolean): string {
  return `${file.path} would change\n${diffText(shownText(file.text ?? ''), shownText(formatted), colour)}`;
}
