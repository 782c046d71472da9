import { checkCommand, policyArgument } from '../../admin/use-cases/policy/folder-words.ts';
import { commandName } from '../../core/command-name.ts';
import { plural } from '../../core/text/text.ts';
import { visibleLines } from '../../core/text/visible.ts';
import { scrub, scrubAll } from '../../host/telemetry/secrets.ts';
import { modelCount } from '../../policy/models/wildcards.ts';
import {
  type ImportReport,
  type ImportResult,
  type KeyReport,
  OUTCOMES,
} from '../../tools/importers/litellm/litellm.ts';
import { jsonText } from '../text.ts';

/** The result of an import, with its folder. */
export interface ImportOutcome {
  /** The path of the configuration, as the user gave it. */
  readonly file: string;
  readonly folder: string;
  readonly imported: ImportResult;
  /** Other policy files in the folder. The other policy files are part of the policy, too. */
  readonly others: readonly string[];
}

/** Writes the report for programs: every key, with its location and its result. */
export function reportJson({ file, folder, others, imported: { files, report } }: ImportOutcome): string {
  return jsonText(
    scrubAll({
      from: file,
      folder,
      files: files.map(({ name }) => name),
      other_files: others,
      models: report.models,
      selectors: report.selectors,
      problems: report.problems.map(({ included, ...problem }) => ({ file: included ?? file, ...problem })),
      keys: report.keys.map(({ path, included, line, column, outcome, to, note, file: target, fileLine }) => ({
        key: path,
        file: included ?? file,
        line,
        column,
        outcome,
        to: to === null || to.length === 0 ? null : to.join('.'),
        note,
        place: target === null ? null : `${target}:${fileLine}`,
      })),
      questions: Object.fromEntries(report.questions),
      assumed: Object.fromEntries(report.assumed),
      variables: Object.fromEntries(report.variables),
      not_served: report.skipped,
    }),
  );
}

/** Writes a line for each question, with the models that it is about. */
function questionsOf({ questions }: ImportReport): string[] {
  const pairs = [...questions].flatMap(([name, asked]) => asked.map((what) => ({ name, what })));
  return [...Map.groupBy(pairs, ({ what }) => what)].map(
    ([what, ones]) => `${ones.map(({ name }) => name).join(', ')}: ${what}`,
  );
}

const TITLES = {
  mapped: 'Mapped',
  approximated: 'Approximated: nearly the same',
  left_out: 'Left out',
} as const;

/** Writes the report for people: first what to do, then the results of the keys, grouped by result. */
export function reportText({ file, folder, others, imported: { files, report } }: ImportOutcome): string {
  const counts = OUTCOMES.map(
    (outcome) => `${report.keys.filter((key) => key.outcome === outcome).length} ${outcome.replace('_', ' ')}`,
  );
  const problemText = ({ included, line, column, path, message }: ImportReport['problems'][number]) =>
    `${included ?? file}:${line}:${column} ${path}: ${message}`;
  const parts = [
    `${file} → ${folder}: ${files.map(({ name }) => name).join(', ')}\n` +
      `${modelCount(report.models)}, ${plural(report.selectors.length, 'selector')}; of ${plural(report.keys.length, 'key')} ${counts.join(', ')}.`,
    section('Questions: not served until you state', questionsOf(report)),
    section('Could not be read', report.problems.map(problemText)),
    ...OUTCOMES.map((outcome) => section(TITLES[outcome], groupsOf(report, outcome))),
    section('Do next', steps(folder, others, report)),
  ];
  return `${visibleLines(scrub(parts.filter((part) => part !== '').join('\n\n')))}\n`;
}

const section = (title: string, lines: readonly string[]): string =>
  lines.length === 0 ? '' : [title, ...lines.map((line) => `  ${line}`)].join('\n');

const PLACES_SHOWN = 3;

/** Keys with the same result, on one line. */
function groupsOf({ keys }: ImportReport, outcome: KeyReport['outcome']): string[] {
  const ofOutcome = keys.filter((one) => one.outcome === outcome);
  const groups = Map.groupBy(ofOutcome, (key) => key.note || patternOf(key.within));
  return [...groups.values()].map((ones) => {
    const targets = shown([
      ...new Set(ones.flatMap((one) => (one.file === null ? [] : [`${one.file}:${one.fileLine}`]))),
    ]);
    const places = shown(ones.map(placeText));
    const name = commonName([...new Set(ones.map(({ within }) => patternOf(within)))]);
    return `${name} (${places})${targets && ` → ${targets}`}${ones[0]?.note && `: ${ones[0].note}`}`;
  });
}

export const placeText = ({ included, line, column }: Pick<KeyReport, 'included' | 'line' | 'column'>): string =>
  `${included === null ? '' : `${included}:`}${line}:${column}`;

/** Writes a single name for several keys: the common part of the keys, then each key's own part, so that no key is overlooked. */
function commonName(patterns: readonly string[]): string {
  const [first = '', ...others] = patterns;
  if (others.length === 0) return first;
  const parts = first.split('.');
  const length = parts.findIndex((part, at) => others.some((other) => other.split('.')[at] !== part));
  const common = parts.slice(0, Math.max(0, length)).join('.');
  const own = patterns.map((pattern) => (common === '' ? pattern : pattern.slice(common.length + 1)));
  return common === '' ? own.join(', ') : `${common}.{${own.join(', ')}}`;
}

const patternOf = (path: string): string => path.replace(/\[\d+\]/g, '[]');

const shown = (all: readonly string[]): string =>
  all.length <= PLACES_SHOWN
    ? all.join(', ')
    : `${all.slice(0, PLACES_SHOWN).join(', ')} and ${all.length - PLACES_SHOWN} more`;

function steps(folder: string, others: readonly string[], { questions, assumed, variables }: ImportReport): string[] {
  const lines: string[] = [];
  if (others.length > 0)
    lines.push(
      `Check ${others.join(', ')}: the folder had these files before the import, and they are part of the policy.`,
    );
  if (questions.size > 0)
    lines.push(
      "Answer the questions above. For prices, --prices FILE reads LiteLLM's own map, model_prices_and_context_window.json.",
    );
  if (assumed.size > 0) {
    lines.push('Check these assumptions in models.yaml:');
    const alike = Map.groupBy(assumed, ([, what]) => what.join('; '));
    for (const [what, ones] of alike) lines.push(`  ${ones.map(([model]) => model).join(', ')}: ${what}`);
  }
  if (variables.size > 0) {
    lines.push('Set these environment variables:');
    for (const [name, what] of variables) lines.push(`  ${name}: ${what}`);
  }
  lines.push(`Then: ${checkCommand(folder)} && ${commandName()} policy test${policyArgument(folder)}`);
  return lines;
}
