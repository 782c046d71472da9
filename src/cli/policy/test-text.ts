import type { UnservedPart } from '../../admin/use-cases/policy/cases.ts';
import { policyArgument, policyName } from '../../admin/use-cases/policy/folder-words.ts';
import type { PolicyTest } from '../../admin/use-cases/policy/test.ts';
import { commandName } from '../../core/command-name.ts';
import type { SourcePlace } from '../../core/source-place.ts';
import { painter } from '../../core/text/paint.ts';
import { shellWord } from '../../core/text/shell-word.ts';
import { plural } from '../../core/text/text.ts';
import { visible } from '../../core/text/visible.ts';
import type { PolicyBundle } from '../../policy/runtime/source.ts';
import { clipped } from '../terminal.ts';
import { problemsText } from './problems.ts';
import { leftOutBriefly, SETTING_WORDS } from './setting-text.ts';

/** How results of cases are shown. */
interface TextForm {
  /** The policy folder in the form that the user can pass to commands. */
  readonly folder: string;
  /** Whether to use the colours of a terminal. */
  readonly colour: boolean;
}

type CaseResult = PolicyTest['cases'][number];
type CaseRun = CaseResult['settings'][number];

/**
 * Writes a line for each case, a diff below each failure, the coverage if requested, and a summary. If the policy has errors, writes the
 * errors instead.
 */
export function testText(result: PolicyTest, bundle: PolicyBundle, form: TextForm): string {
  const { counts, cases, coverage, left_out_here: missing } = result;
  if (counts === null) {
    const errors = `${policyName(form.folder)}: ${plural(result.errors, 'error')}, so no case was run`;
    return `${problemsText(result.diagnostics, bundle, form.colour)}\n\n${errors}\n`;
  }
  // If every case ran, it does not matter which providers are missing here.
  const isOfHere = cases.some(
    ({ status, settings }) => status === 'not_run' || (status === 'failed' && settings.length > 1),
  );
  const tally = [
    counts.hold > 0 && `${counts.hold} hold`,
    counts.failed > 0 && `${counts.failed} failed`,
    counts.not_run > 0 && `${counts.not_run} not run`,
  ].filter(Boolean);
  const parts = [
    ...(cases.length === 0
      ? []
      : [
          `${cases
            .map((one) => caseText(one, form))
            .join('\n')
            .trimEnd()}\n`,
        ]),
    ...(coverage ? [coverageText(coverage)] : []),
    `${policyName(form.folder)}: ${plural(cases.length, 'case')}${tally.length > 0 ? `: ${tally.join(', ')}` : ''}\n`,
    ...(isOfHere && missing.length > 0 ? [`${leftOutBriefly(missing, form.folder)}\n`] : []),
  ];
  return parts.join('\n');
}

/** The most characters of a value that are shown. `--json` has the whole value. */
const VALUE_MAX = 160;

/** The most characters of a hint. A list of reasons against many models needs more room than a value. */
const HINT_MAX = 1_000;

const shown = (text: string): string => clipped(visible(text), VALUE_MAX);

function caseText(result: CaseResult, form: TextForm): string {
  const { status, settings } = result;
  const name = shown(result.name);
  const paint = painter(form.colour);
  if (status === 'holds') return `${paint.good('holds')}    ${name}`;
  if (status === 'not_run') {
    const why = new Set(settings.map(({ missing }) => shown(missingText(missing))));
    return `${paint.warning('not run')}  ${name}: ${[...why].join('; here ')}`;
  }
  const head = `${paint.error('failed')}   ${name}\n  ${paint.strong(placeText(result))}`;
  const failed = settings.filter(({ failures }) => failures.length > 0);
  const bySame = [...Map.groupBy(failed, ({ failures }) => JSON.stringify(failures)).values()];
  return `${[head, ...bySame.map((same) => runText(same, result, form))].join('\n')}\n`;
}

export const placeText = ({ file, line, column }: SourcePlace): string => `${file}:${line}:${column}`;

/** Names the first part of a case that cannot be served, with the reason, and counts the other parts that cannot be served. */
export function missingText([first, ...more]: readonly UnservedPart[]): string {
  const others =
    more.length === 0 ? '' : `, nor ${more.length === 1 ? more[0]!.name : `${more.length} more that it names`}`;
  return `the case names ${first?.name}, which cannot be served (${first?.reason})${others}`;
}

/** Writes failures that are the same in several settings only once. */
function runText(same: readonly CaseRun[], { name, settings }: CaseResult, { folder, colour }: TextForm): string {
  const names = same.flatMap((one) => one.settings);
  const onlyHere = !names.includes('all_set');
  const isEverywhere = names.length === settings.flatMap((one) => one.settings).length;
  const where = isEverywhere ? [] : [`  ${SETTING_WORDS[onlyHere ? 'here' : 'all_set']}:`];
  const more = `${commandName()} policy explain${policyArgument(folder)} --case ${shellWord(name)}${onlyHere ? ' --here' : ''}`;
  return [...where, ...diffLines(same[0]!.failures, colour), `  more: ${visible(more)}`].join('\n');
}

function diffLines(failures: CaseRun['failures'], colour: boolean): string[] {
  const paint = painter(colour);
  const lines: string[] = [];
  for (const [at, { key, expected, got, hint }] of failures.entries()) {
    const next = failures[at + 1];
    lines.push(paint.error(`  - ${shown(key)}: ${shown(expected)}`));
    // If the request was refused, the text shows the refusal once instead of once for each expected key.
    if (isRefusal(got) && next?.got === got) continue;
    lines.push(paint.good(isRefusal(got) ? `  + ${got}` : `  + ${shown(key)}: ${shown(got)}`));
    if (hint !== null) lines.push(`    ${clipped(visible(hint), HINT_MAX)}`);
  }
  return lines;
}

const isRefusal = (got: string): boolean => got.startsWith('refused: ');

function coverageText({
  touched,
  total,
  percent,
  min,
  enough,
  untouched,
}: NonNullable<PolicyTest['coverage']>): string {
  const lines = untouched.map(
    ({ kind, name, ...place }) => `untouched  ${kind.padEnd(10)}  ${shown(name)}  ${placeText(place)}`,
  );
  const sum = `Coverage: ${percent} %, ${touched} of ${total} rules and models`;
  return `${[...lines, enough ? `${sum}.` : `${sum}; the minimum is ${min} %.`].join('\n')}\n`;
}
