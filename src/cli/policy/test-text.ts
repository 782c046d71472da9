import { commandName } from '../../core/command-name.ts';
import { painter } from '../../core/paint.ts';
import type { SourcePlace } from '../../core/source-place.ts';
import { plural } from '../../core/text.ts';
import { visible } from '../../core/visible.ts';
import type { UnservedPart } from '../../operate/policy/cases.ts';
import type { CoverageSummary } from '../../operate/policy/coverage.ts';
import type { Mismatch } from '../../operate/policy/mismatches.ts';
import type { Settings } from '../../operate/policy/settings.ts';
import { countsOf } from '../../operate/policy/test-body.ts';
import type { CaseResult, SettingRun } from '../../operate/policy/test-run.ts';
import { clipped } from '../terminal.ts';
import { leftOutBriefly, SETTING_WORDS } from './setting-text.ts';

/** The form in which results of cases are shown. */
export interface TextForm {
  /** The folder of the policy, as commands name it. */
  readonly folder: string;
  /** Colours of a terminal, or none. */
  readonly colour: boolean;
}

/** A line for each case, a diff under each failure, coverage on request, and a summary. */
export function testText(
  { missing }: Pick<Settings, 'missing'>,
  results: readonly CaseResult[],
  coverage: CoverageSummary | null,
  form: TextForm,
): string {
  // Providers that are missing here do not matter where every case ran.
  const isOfHere = results.some(({ status, runs }) => status === 'not_run' || (status === 'failed' && runs.length > 1));
  const parts = [
    results.length === 0
      ? ''
      : `${results
          .map((result) => caseText(result, form))
          .join('\n')
          .trimEnd()}\n`,
    ...(coverage ? [coverageText(coverage)] : []),
    `${summaryText(results, form)}\n`,
    ...(isOfHere && missing.length > 0 ? [`${leftOutBriefly(missing)}\n`] : []),
  ];
  return parts.filter((part) => part !== '').join('\n');
}

/** Longer values are cut: they are whole in `--json`. */
const VALUE_MAX = 160;

/** The reasons against many models take more room than a value. */
const HINT_MAX = 1_000;

const shown = (text: string): string => clipped(visible(text), VALUE_MAX);

function caseText(result: CaseResult, form: TextForm): string {
  const name = shown(result.case.name);
  const paint = painter(form.colour);
  if (result.status === 'holds') return `${paint.good('holds')}    ${name}`;
  if (result.status === 'not_run') return `${paint.warning('not run')}  ${name}: ${whyNotRun(result)}`;
  const place = paint.strong(placeText(result.case.place));
  const head = `${paint.error('failed')}   ${name}\n  ${place}`;
  const runs = failedRuns(result).map((failed) => runText(failed, result, form));
  return `${[head, ...runs].join('\n')}\n`;
}

export const placeText = ({ file, line, column }: SourcePlace): string => `${file}:${line}:${column}`;

const whyNotRun = ({ runs }: CaseResult): string =>
  [...new Set(runs.map(({ run }) => shown(missingText(run.missing))))].join('; here ');

/** The parts of a case that cannot be served: the first with its reason, the others as a count. */
export function missingText([first, ...more]: readonly UnservedPart[]): string {
  const others =
    more.length === 0 ? '' : `, nor ${more.length === 1 ? more[0]!.name : `${more.length} more that it names`}`;
  return `the case names ${first?.name}, which cannot be served (${first?.reason})${others}`;
}

type FailedRun = ReturnType<typeof failedRuns>[number];

/** Failures that are the same in several settings. */
function failedRuns({ runs }: CaseResult) {
  const failed = runs.filter(({ run }) => run.failures.length > 0);
  const bySame = Map.groupBy(failed, ({ run }) => JSON.stringify(run.failures.map(textsOf)));
  return [...bySame.values()].map((same: SettingRun[]) => ({
    settings: same.flatMap(({ settings }) => settings),
    failures: same[0]!.run.failures,
  }));
}

const textsOf = ({ key, wanted, got, hint }: Mismatch) => [key, wanted, got, hint];

function runText({ settings, failures }: FailedRun, { case: { name }, runs }: CaseResult, form: TextForm): string {
  const all = runs.flatMap((one) => one.settings);
  const onlyHere = !settings.includes('all_set');
  const where = settings.length === all.length ? [] : [`  ${SETTING_WORDS[onlyHere ? 'here' : 'all_set']}:`];
  const more = `${commandName()} policy explain ${quoted(form.folder)} --case ${quoted(name)}${onlyHere ? ' --here' : ''}`;
  return [...where, ...diffLines(failures, form.colour), `  more: ${visible(more)}`].join('\n');
}

function diffLines(failures: readonly Mismatch[], colour: boolean): string[] {
  const paint = painter(colour);
  const lines: string[] = [];
  for (const [at, { key, wanted, got, hint }] of failures.entries()) {
    const next = failures[at + 1];
    lines.push(paint.error(`  - ${shown(key)}: ${shown(wanted)}`));
    // A refusal stands for all keys that ask for a choice.
    if (isRefusal(got) && next?.got === got) continue;
    lines.push(paint.good(isRefusal(got) ? `  + ${got}` : `  + ${shown(key)}: ${shown(got)}`));
    if (hint !== undefined) lines.push(`    ${clipped(visible(hint), HINT_MAX)}`);
  }
  return lines;
}

const isRefusal = (got: string): boolean => got.startsWith('refused: ');

/** For a shell. */
function quoted(text: string): string {
  if (/^[\w./@%+:,-]+$/.test(text)) return text;
  return /["$`\\!]/.test(text) ? `'${text.replaceAll("'", "'\\''")}'` : `"${text}"`;
}

function summaryText(results: readonly CaseResult[], { folder }: TextForm): string {
  const { cases, hold, failed, not_run: notRun } = countsOf(results);
  const counts = [hold > 0 && `${hold} hold`, failed > 0 && `${failed} failed`, notRun > 0 && `${notRun} not run`];
  const stated = counts.filter((part) => part !== false).join(', ');
  return `${folder}: ${plural(cases, 'case')}${stated && `: ${stated}`}`;
}

function coverageText({ touched, total, percent, min, isEnough, untouched }: CoverageSummary): string {
  const lines = untouched.map(
    ({ kind, name, place }) => `untouched  ${kind.padEnd(10)}  ${shown(name)}  ${placeText(place)}`,
  );
  const sum = `Coverage: ${percent} %, ${touched} of ${total} rules and models`;
  return `${[...lines, isEnough ? `${sum}.` : `${sum}; the minimum is ${min} %.`].join('\n')}\n`;
}
