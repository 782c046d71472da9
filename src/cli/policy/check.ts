import { namedBundle } from '../../admin/use-cases/policy/bundles.ts';
import { checkPolicy, type PolicyCheck, unreadFiles } from '../../admin/use-cases/policy/check.ts';
import type { PolicyChoice } from '../../admin/use-cases/policy/choices.ts';
import { policyName } from '../../admin/use-cases/policy/folder-words.ts';
import type { SettingName } from '../../admin/use-cases/policy/settings.ts';
import { readPolicy } from '../../admin/use-cases/policy/tools.ts';
import { commandName } from '../../core/command-name.ts';
import { grouped } from '../../core/money/amount.ts';
import { bothAmounts } from '../../core/money/budget-words.ts';
import { DIFFICULTIES } from '../../core/request/facts.ts';
import { TIERS, tierText } from '../../core/request/tiers.ts';
import { painter } from '../../core/text/paint.ts';
import { shellWord } from '../../core/text/shell-word.ts';
import { plural } from '../../core/text/text.ts';
import { visible } from '../../core/text/visible.ts';
import { UsageError } from '../../core/usage-error.ts';
import { STALE_AFTER_DAYS } from '../../policy/models/figures.ts';
import { countText } from '../../policy/models/wildcards.ts';
import type { Diagnostic } from '../../policy/report/diagnostics.ts';
import type { PolicyBundle } from '../../policy/runtime/source.ts';
import { parseArguments, SWITCH } from '../arguments.ts';
import type { CommandDefinition } from '../command.ts';
import type { CommandResult } from '../result.ts';
import { grid } from '../terminal.ts';
import { jsonText } from '../text.ts';
import { folderIn, type PolicyCommand } from './command.ts';
import { problemsText } from './problems.ts';
import { leftOutText, REASONS_MAX } from './setting-text.ts';

/** `signalbox policy check`. Throws UsageError if there is no policy to check. */
export const policyCheck: CommandDefinition = {
  usesPolicies: true,
  use: 'before you save or push a policy, and in continuous integration.',
  example: 'policy check ./policies --strict',
  usage: '[DIR] [--all] [--strict] [--choices [--here]] [--json] [--data DIR]',
  summary: 'List every mistake in a policy, with its location and fix.',
  details: `Without DIR, the command checks the policy folder of the last server that used --data.
The check needs no provider key. If --data has a ledger, the policy must also fit that ledger.
--choices also prints which model each selector chooses for each task and difficulty, as if every variable
were set; with --here, for the variables that are set.
Many similar warnings are counted; --all lists each of them. --strict treats warnings as mistakes.
Exit code: 0 if a server can use the policy, 2 if it cannot, 1 if there is no policy.`,
  run: async (args, context) => runCheck(args, await context.policy()),
};

async function runCheck(args: readonly string[], options: PolicyCommand): Promise<CommandResult> {
  const flags = { all: SWITCH, choices: SWITCH, here: SWITCH, json: SWITCH, strict: SWITCH };
  const { values, positionals } = parseArguments(args, flags);
  if (values.here && !values.choices) throw new UsageError('--here needs --choices.');
  const folder = folderIn(positionals, 'check', options);
  const files = await readPolicy(folder);
  // The JSON output names files as the API does. The text output names paths that an editor can open.
  const bundle = values.json ? namedBundle(files) : files;
  const choices: SettingName | null = values.choices ? (values.here ? 'here' : 'all_set') : null;
  const unread = [
    ...(positionals.length === 0 ? unusedText(options.unusedFolder) : []),
    ...(await unreadFiles(folder)),
  ];
  const check = await checkPolicy(folder, bundle, options.judge, { unread, choices });
  const isWrong = check.errors > 0 || (values.strict && check.warnings + check.not_read.length > 0);
  const form = { folder, all: values.all || values.strict, colour: options.terminal, choices };
  return { text: values.json ? jsonText(check) : asText(check, bundle, form), code: isWrong ? 2 : 0 };
}

/** Says that a policy folder is not the checked one, although its author probably means it. */
const unusedText = (folder: string | null): string[] => {
  if (folder === null) return [];
  const [check, serve] = ['policy check', 'serve --policies'].map((words) => `${commandName()} ${words}`);
  const word = shellWord(folder);
  return [`${folder} (a server uses these files only if you name them: \`${check} ${word}\`, \`${serve} ${word}\`)`];
};

/**
 * Warnings that are listed together with errors: they may explain an error, such as a misspelt value, or belong to the
 * same line of a new provider or service, such as its address.
 */
const BESIDE_ERRORS: ReadonlySet<Diagnostic['code']> = new Set(['misspelt-value', 'private-host']);
const isTold = ({ severity, code }: Diagnostic): boolean => severity === 'error' || BESIDE_ERRORS.has(code);
/** A failed case is no mistake in the text of the policy, so warnings do not distract from it and may explain it. */
const isMistake = ({ severity, code }: Diagnostic): boolean => severity === 'error' && code !== 'case-failed';

/** Many figures of a catalog become outdated at the same time, so a single line reports all outdated figures. */
const isOfFigure = ({ code }: Diagnostic): boolean => code === 'stale-figure' || code === 'unverified-figure';

const inALine = ({ file, line, column, code, message }: Diagnostic): string =>
  `  ${file}:${line}:${column}  ${code}  ${message}`;

/**
 * Counts what `--all` lists one by one. Without this count, the many figures and providers of the shipped catalog would hide the operator's
 * own mistakes.
 */
function folded(figures: readonly Diagnostic[], missing: number): string {
  const stale = figures.filter(({ code }) => code === 'stale-figure').length;
  const unverified = figures.length - stale;
  const counts = [
    stale > 0 && `${plural(stale, 'figure')} ${stale === 1 ? 'is' : 'are'} older than ${STALE_AFTER_DAYS} days`,
    unverified > 0 && `${plural(unverified, 'figure')} without a day or a source`,
    missing > 0 && `${plural(missing, 'provider')} cannot serve here`,
  ].filter(Boolean);
  return counts.length > 0 ? `. ${counts.join(', ')}: --all` : '';
}

/** Only a store can show whether a team that was created through the API exists. */
function uncheckedText(names: readonly string[]): string {
  const [teams, are] = names.length === 1 ? ['team', 'is'] : ['teams', 'are'];
  const list = names.map((name) => `\`${visible(name)}\``).join(', ');
  return `Not checked: whether the ${teams} ${list} ${are} known to the server, because this command found no data folder. Name the data folder with --data, or declare the ${teams} in \`teams\`.`;
}

/** The most amounts that are listed without `--all`. */
const AMOUNTS_MAX = 10;

/** Lists what amounts of USD are in Credits: `20 USD = 20,000 Credits  budgets.team-month.limit_usd`. */
function amountsText(amounts: PolicyCheck['amounts_in_usd'], all: boolean): string {
  const shown = all ? amounts : amounts.slice(0, AMOUNTS_MAX);
  const more = amounts.length - shown.length;
  const lines = shown.map(
    ({ path, usd, credits }) => `  ${visible(path)}: ${grouped(usd)} USD = ${bothAmounts(credits, null)}`,
  );
  return ['Amounts in USD:', ...lines, ...(more > 0 ? [`  and ${more} more: --all`] : [])].join('\n');
}

const NO_MODEL = 'no model';

/**
 * Writes the choices as a table with a column for each selector. Difficulties of a task share a row if every selector chooses the same model
 * for them.
 */
function choicesText(choices: readonly PolicyChoice[], setting: SettingName, terminal: boolean): string {
  const selectors = [...new Set(choices.map(({ selector }) => selector))];
  const asked = Map.groupBy(choices, ({ task, difficulty }) => `${task} ${difficulty}`);
  const rows: { task: string; difficulties: string[]; models: string[] }[] = [];
  for (const all of asked.values()) {
    const { task, difficulty } = all[0]!;
    const models = all.map(({ model }) => visible(model ?? NO_MODEL));
    const last = rows.at(-1);
    if (last?.task === task && Bun.deepEquals(last.models, models)) last.difficulties.push(difficulty);
    else rows.push({ task, difficulties: [difficulty], models });
  }
  const lines = rows.map(({ task, difficulties, models }, at) => [
    rows[at - 1]?.task === task ? '' : visible(task),
    difficulties.length === DIFFICULTIES.length ? 'any' : difficulties.join(', '),
    ...models,
  ]);
  const [head, ...table] = grid([['task', 'difficulty', ...selectors.map(visible)], ...lines], terminal);
  const known = setting === 'here' ? 'with the variables that are set here' : 'as if every variable were set';
  const note = `Choices for requests of the usual size of their task, ${known}, with the figures of the policy.`;
  return `${[painter(terminal).faint(head!), ...table].join('\n')}\n\n${note}`;
}

/** Lists the reasons of each selector, once each. */
function reasonsText(choices: readonly PolicyChoice[]): string {
  const reasons = choices.flatMap(({ selector, because }) => (because === null ? [] : [`${selector}: ${because}.`]));
  return [...new Set(reasons)].map(visible).join('\n');
}

/** Lists the first models of each order: `order of auto: luna, then flash`, or the lists that the policy states. */
const ordersText = (all: NonNullable<PolicyCheck['orders']>): string =>
  all
    .flatMap(({ selector, order, stated }) =>
      stated
        ? TIERS.map((name) => `models of \`${selector}\` for ${name} requests: ${tierText(stated[name])}`)
        : [`order of \`${selector}\`: ${tierText(order)}`],
    )
    .map(visible)
    .join('\n');

interface CheckForm {
  readonly folder: string;
  /** Whether to list findings that the output without `--all` only counts. */
  readonly all: boolean;
  readonly colour: boolean;
  /** The setting of variables with which selectors choose; null to list no choices. */
  readonly choices: SettingName | null;
}

function asText(
  check: PolicyCheck,
  bundle: PolicyBundle,
  { folder, all, colour, choices: setting }: CheckForm,
): string {
  const { diagnostics: found, errors, not_read: unread, left_out_here: missing, unchecked_teams: teams } = check;
  // While the policy has mistakes, the output hides the warnings, because warnings would distract from them.
  const shown = found.some(isMistake) ? found.filter(isTold) : found;
  const figures = shown.filter(isOfFigure);
  const others = shown.filter((one) => !isOfFigure(one));
  const parts = others.length === 0 ? [] : [problemsText(others, bundle, colour)];
  if (all && figures.length > 0) parts.push(`Figures to check again:\n${figures.map(inALine).join('\n')}`);
  if (unread.length > 0) parts.push(`Not read: ${visible(unread.join(', '))}`);
  // Figures that share a line are counted separately.
  const counted = all ? found : found.filter((one) => !isOfFigure(one));
  const warnings = counted.filter(({ severity }) => severity === 'warning').length + unread.length;
  const unseen = counted.filter((one) => !shown.includes(one)).length;
  const hidden = unseen === 0 ? '' : unseen === warnings ? ' (not shown)' : ` (${unseen} not shown)`;
  const counts = [
    errors > 0 && plural(errors, 'error'),
    warnings > 0 && `${plural(warnings, 'warning')}${hidden}`,
  ].filter(Boolean);
  const files = plural(check.files.length, 'file');
  const size =
    check.cases === null
      ? ''
      : `, ${countText(check.models ?? 0, check.wildcards ?? 0)}, ${plural(check.cases, 'case')}`;
  const isFew = all || missing.length <= REASONS_MAX;
  const aside = all ? '' : folded(figures, isFew ? 0 : missing.length);
  const { choices, orders, amounts_in_usd: amounts } = check;
  if (choices && setting) parts.push(choicesText(choices, setting, colour));
  if (orders && orders.length > 0) parts.push(ordersText(orders));
  if (choices && setting) parts.push(reasonsText(choices));
  parts.push(
    `${policyName(folder)}: ${files}${size}, ${counts.length > 0 ? counts.join(', ') : 'nothing wrong'}${aside}`,
  );
  if (amounts.length > 0) parts.push(amountsText(amounts, all));
  if (isFew && missing.length > 0) parts.push(leftOutText(missing));
  if (teams.length > 0) parts.push(uncheckedText(teams));
  return `${parts.join('\n\n')}\n`;
}
