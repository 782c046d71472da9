import { plural } from '../../core/text.ts';
import { UsageError } from '../../core/usage-error.ts';
import { visible } from '../../core/visible.ts';
import { type Diagnostic, diagnosticsJson } from '../../policy/diagnostics.ts';
import { buildCandidate, isRejected, leftOutProviders, type PolicyTools } from '../../runtime/candidate.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { PolicyBundle } from '../../runtime/source.ts';
import { parseArguments } from '../options.ts';
import type { CommandResult } from '../result.ts';
import { day, jsonText } from '../text.ts';
import { type PolicyCommand, readPolicy } from './command.ts';
import { generous } from './environment.ts';
import { problemsText } from './problems.ts';
import { leftOutBriefly, leftOutText } from './settings.ts';
import { unreadFiles } from './unread.ts';

/** `signalbox policy check`. Throws UsageError when there is nothing to judge. */
export async function checkPolicy(args: readonly string[], options: PolicyCommand): Promise<CommandResult> {
  const flags = { all: { type: 'boolean' }, json: { type: 'boolean' }, strict: { type: 'boolean' } } as const;
  const { values, positionals } = parseArguments(args, flags);
  if (positionals.length > 1) throw new UsageError('policy check takes one folder.');
  const folder = positionals[0] ?? options.folder;
  const bundle = await readPolicy(folder);
  const parsed = await options.judge.parse(bundle.files, null);
  // It is judged twice; its text is the same.
  const tools = { ...options.judge, parse: () => parsed, today: day(options.judge.now()) };
  const judged = await buildCandidate(bundle, { ...tools, folder, env: generous(tools.env) });
  if (isRejected(judged) && judged.message !== null) throw new UsageError(`${folder}: ${judged.message}`);
  const anywhere = isRejected(judged) ? judged.problems : judged.warnings;
  const here = isRejected(judged) ? NOTHING_HERE : await judgeHere(bundle, { ...tools, folder });
  const found = [...anywhere, ...here.problems.filter((one) => !anywhere.some((other) => isSame(one, other)))];
  const errors = countOf(found, 'error');
  const unread = await unreadFiles(folder);
  const code = errors > 0 || (values.strict && found.length + unread.length > 0) ? 2 : 0;
  const { snapshot = null } = isRejected(judged) ? {} : judged.runtime;
  const all = values.all || values.strict || false;
  const told = { folder, bundle, snapshot, found, missing: here.missing, unread, all };
  return { text: values.json ? asJson(told) : asText(told, options.terminal), code };
}

/** What only shows with the variables that are set here. */
interface Here {
  /** Providers that would be left out, with the reason. */
  readonly missing: readonly string[];
  /** What `serve` would refuse the policy for: its cases run on the models that can be served here. */
  readonly problems: readonly Diagnostic[];
}

const NOTHING_HERE: Here = { missing: [], problems: [] };

async function judgeHere(bundle: PolicyBundle, tools: PolicyTools): Promise<Here> {
  const judged = await buildCandidate(bundle, tools);
  if (!isRejected(judged)) return { missing: leftOutProviders(judged.runtime.snapshot), problems: [] };
  // That nobody can serve is said of this place, not of the policy.
  const nothing = judged.problems.filter(({ code }) => code === 'nothing-to-serve');
  return {
    missing: nothing.map(({ hint, message }) => `every provider, so \`serve\` would not start: ${hint ?? message}`),
    problems: judged.problems.filter((one) => !nothing.includes(one)),
  };
}

const isSame = (a: Diagnostic, b: Diagnostic): boolean =>
  a.code === b.code && a.file === b.file && a.line === b.line && a.column === b.column && a.message === b.message;

/** Errors, and what explains them: a selector that runs another strategy than it names may be why a case fails. */
const isTold = ({ severity, code }: Diagnostic): boolean => severity === 'error' || code === 'former-option';

const countOf = (found: readonly Diagnostic[], severity: Diagnostic['severity']): number =>
  found.filter((one) => one.severity === severity).length;

type Snapshot = Runtime['snapshot'];

/** All that the policy declares: those that serve only alone, too, whom nobody sees served where every variable is set. */
const modelsOf = ({ models, leftOut }: Snapshot): number =>
  models.length + leftOut.filter(({ kind }) => kind === 'model').length;

/** Catalogs age all at once: a line for each figure is enough. */
const isOfFigure = ({ code }: Diagnostic): boolean => code === 'stale-figure' || code === 'unverified-figure';

const inALine = ({ file, line, column, code, message }: Diagnostic): string =>
  `  ${file}:${line}:${column}  ${code}  ${message}`;

/** Those of one kind in one file in a line, with the first of them: many would bury what is one's own. */
function folded(figures: readonly Diagnostic[]): string[] {
  const groups = Map.groupBy(figures, ({ file, code }) => `${code} ${file}`);
  return [...groups.values()].map(([first, ...others]) => {
    const more = others.length > 0 ? `, and ${others.length} more in this file (--all tells them)` : '';
    return `${inALine(first!)}${more}`;
  });
}

/** What the check came to. */
interface Checked {
  readonly folder: string;
  readonly bundle: PolicyBundle;
  readonly snapshot: Snapshot | null;
  readonly found: readonly Diagnostic[];
  readonly missing: readonly string[];
  readonly unread: readonly string[];
  /** Whether a person wants each of what is otherwise told together. */
  readonly all: boolean;
}

function asText({ folder, bundle, snapshot, found, missing, unread, all }: Checked, colour: boolean): string {
  const errors = countOf(found, 'error');
  // Warnings would bury what keeps the policy from serving.
  const shown = errors > 0 ? found.filter(isTold) : found;
  const figures = shown.filter(isOfFigure);
  const told = shown.filter((one) => !isOfFigure(one));
  const parts = told.length === 0 ? [] : [problemsText(told, bundle, colour)];
  if (figures.length > 0)
    parts.push(`Figures to look up again:\n${(all ? figures.map(inALine) : folded(figures)).join('\n')}`);
  if (unread.length > 0) parts.push(`Not read: ${visible(unread.join(', '))}`);
  const warnings = countOf(found, 'warning') + unread.length;
  const unseen = found.length - shown.length;
  const hidden = unseen === 0 ? '' : unseen === warnings ? ' (not shown)' : ` (${unseen} not shown)`;
  const counts = [
    errors > 0 && plural(errors, 'error'),
    warnings > 0 && `${plural(warnings, 'warning')}${hidden}`,
  ].filter(Boolean);
  const files = plural(bundle.files.length, 'file');
  const size = snapshot ? `, ${plural(modelsOf(snapshot), 'model')}, ${plural(snapshot.cases.length, 'case')}` : '';
  parts.push(`${folder}: ${files}${size}, ${counts.length > 0 ? counts.join(', ') : 'nothing wrong'}`);
  if (missing.length > 0) parts.push(all ? leftOutText(missing) : leftOutBriefly(missing));
  return `${parts.join('\n\n')}\n`;
}

function asJson({ bundle, snapshot, found, missing, unread }: Checked): string {
  const body = {
    ...diagnosticsJson(found),
    files: bundle.files.map(({ path }) => path),
    models: snapshot && modelsOf(snapshot),
    cases: snapshot?.cases.length ?? null,
    left_out_here: missing,
    not_read: unread,
  };
  return jsonText(body);
}
