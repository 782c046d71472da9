import type { PolicySnapshot } from '../../core/snapshot.ts';
import { plural } from '../../core/text.ts';
import { visible } from '../../core/visible.ts';
import { checkPolicy, type PolicyCheck } from '../../operate/policy/check.ts';
import { type Diagnostic, diagnosticsJson } from '../../policy/diagnostics.ts';
import { parseArguments, SWITCH } from '../arguments.ts';
import type { CommandResult } from '../result.ts';
import { day, jsonText } from '../text.ts';
import { folderIn, type PolicyCommand } from './command.ts';
import { problemsText } from './problems.ts';
import { leftOutBriefly, leftOutText } from './setting-text.ts';

/** `signalbox policy check`. Throws UsageError when there is nothing to judge. */
export async function runCheck(args: readonly string[], options: PolicyCommand): Promise<CommandResult> {
  const { values, positionals } = parseArguments(args, { all: SWITCH, json: SWITCH, strict: SWITCH });
  const folder = folderIn(positionals, 'check', options);
  const check = await checkPolicy(folder, options.judge, day(options.judge.now()));
  const { diagnostics, unread } = check;
  const isWrong = countOf(diagnostics, 'error') > 0 || (values.strict && diagnostics.length + unread.length > 0);
  const form = { folder, all: values.all || values.strict, colour: options.terminal };
  return { text: values.json ? asJson(check) : asText(check, form), code: isWrong ? 2 : 0 };
}

/** Errors, and their likely cause: a selector that runs another strategy than it names may be why a case fails. */
const isTold = ({ severity, code }: Diagnostic): boolean => severity === 'error' || code === 'former-option';

const countOf = (found: readonly Diagnostic[], severity: Diagnostic['severity']): number =>
  found.filter((one) => one.severity === severity).length;

/** Counts the declared models: also those that serve only alone, which are left out where every variable is set. */
const modelsOf = ({ models, leftOut }: PolicySnapshot): number =>
  models.length + leftOut.filter(({ kind }) => kind === 'model').length;

/** Catalogs age all at once: a line for each figure is enough. */
const isOfFigure = ({ code }: Diagnostic): boolean => code === 'stale-figure' || code === 'unverified-figure';

const inALine = ({ file, line, column, code, message }: Diagnostic): string =>
  `  ${file}:${line}:${column}  ${code}  ${message}`;

/** Sums up the figures of one kind in one file in a line: the shipped catalog's many would bury the operator's own. */
function folded(figures: readonly Diagnostic[]): string[] {
  const groups = Map.groupBy(figures, ({ file, code }) => `${code} ${file}`);
  return [...groups.values()].map(([first, ...others]) => {
    const more = others.length > 0 ? `, and ${others.length} more in this file (--all lists them)` : '';
    return `${inALine(first!)}${more}`;
  });
}

interface CheckForm {
  readonly folder: string;
  /** Whether to list each of the findings that are otherwise summed up. */
  readonly all: boolean;
  readonly colour: boolean;
}

function asText(
  { bundle, snapshot, diagnostics: found, missing, unread }: PolicyCheck,
  { folder, all, colour }: CheckForm,
): string {
  const errors = countOf(found, 'error');
  // Warnings would bury the errors that keep the policy from serving.
  const shown = errors > 0 ? found.filter(isTold) : found;
  const figures = shown.filter(isOfFigure);
  const others = shown.filter((one) => !isOfFigure(one));
  const parts = others.length === 0 ? [] : [problemsText(others, bundle, colour)];
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

function asJson({ bundle, snapshot, diagnostics, missing, unread }: PolicyCheck): string {
  const body = {
    ...diagnosticsJson(diagnostics),
    files: bundle.files.map(({ path }) => path),
    models: snapshot && modelsOf(snapshot),
    cases: snapshot?.cases.length ?? null,
    left_out_here: missing,
    not_read: unread,
  };
  return jsonText(body);
}
