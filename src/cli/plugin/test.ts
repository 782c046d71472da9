import { existsSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Plugin } from '../../contract/kinds.ts';
import { commandName } from '../../core/command-name.ts';
import { type Paint, painter } from '../../core/text/paint.ts';
import { messageOf } from '../../core/thrown.ts';
import { UsageError } from '../../core/usage-error.ts';
import { SOURCES_ROOT } from '../../host/program.ts';
import { scrub, scrubAll } from '../../host/telemetry/secrets.ts';
import type { LawReport } from '../../tools/conformance/law.ts';
import { samplesBeside } from '../../tools/plugin/samples.ts';
import { type PluginReport, tried } from '../../tools/plugin/trial.ts';
import { onlyOne, parseArguments, SWITCH, TEXT, wholeOf } from '../arguments.ts';
import type { CommandContext, CommandDefinition } from '../command.ts';
import type { CommandResult } from '../result.ts';
import { jsonText } from '../text.ts';

const RUNS = 200;
const RUNS_MAX = 100_000;
const SEED_MAX = 2_147_483_647;

/** The folder of the plugins that come with Signalbox. A built program has no such folder. */
const SHIPPED_PLUGINS = SOURCES_ROOT === null ? null : join(SOURCES_ROOT, 'plugins');

/** The time limit of one law, ms, depending on how many cases it tries. The time limit is far more than a correct plugin needs. */
const lawMs = (runs: number): number => 10_000 + 50 * runs;

/** `signalbox plugin test`. Throws UsageError if there is nothing to test. */
export const pluginTest: CommandDefinition = {
  usesData: false,
  use: 'while you write a plugin, and in its continuous integration.',
  example: 'plugin test ./cheapest',
  usage: 'FILE [--seed N] [--runs 200] [--json]',
  summary: 'Test the plugins of a file, a folder or a package against the contract.',
  details: `Runs every law of the contract with random cases. A provider is also tested with the answers recorded
in the folder samples/ next to it. Shows the smallest case that breaks a law, and the seed to repeat it.
Exit code: 0 if all laws hold, 2 if a law is broken, 1 if FILE cannot be loaded.`,
  run: testPlugin,
};

async function testPlugin(args: readonly string[], { shipped, terminal }: CommandContext): Promise<CommandResult> {
  const { values, positionals } = parseArguments(args, { seed: TEXT, runs: TEXT, json: SWITCH });
  const file = onlyOne(positionals, 'plugin test needs one file, or one package, with a plugin.');
  const runs = values.runs === undefined ? RUNS : wholeOf('--runs', values.runs, 1, RUNS_MAX);
  const seed =
    values.seed === undefined ? Math.floor(Math.random() * SEED_MAX) : wholeOf('--seed', values.seed, 0, SEED_MAX);
  const { specifier, home } = located(file);
  const samples = samplesBeside(home);
  const reports = await tried({ specifier, folder: process.cwd(), seed, runs, samples }, lawMs(runs)).catch(
    (cause: unknown) => {
      const why = messageOf(cause);
      throw new UsageError(`${file} cannot be loaded: ${why.replace(/\.$/, '')}.`);
    },
  );
  const plugins = await shipped();
  const found = reports.map((report) => withName(report, plugins, home));
  const isBroken = found.some(({ laws }) => laws.some(({ outcome }) => outcome === 'broken'));
  const text = values.json
    ? jsonText(scrubAll({ ok: !isBroken, seed, runs, plugins: found }))
    : asText(found, { file, seed, runs }, painter(terminal));
  return { text, code: isBroken ? 2 : 0 };
}

/** Finds the module to load, and the folder of its code, which also has recorded answers. A name that is not a file may be a package. */
function located(file: string): { readonly specifier: string; readonly home: string } {
  const path = resolve(file);
  if (existsSync(path)) return { specifier: path, home: statSync(path).isDirectory() ? path : dirname(path) };
  if (/^\.{0,2}\//.test(file) || /\.[cm]?[jt]sx?$/.test(file))
    throw new UsageError(`There is no file ${path}. Name a file, a folder or a package.`);
  try {
    return { specifier: file, home: dirname(Bun.resolveSync(file, process.cwd())) };
  } catch {
    return { specifier: file, home: process.cwd() };
  }
}

/** A policy refuses a plugin with the name of a shipped plugin, even if the plugin keeps all laws. */
function withName(report: PluginReport, shipped: readonly Plugin[], home: string): PluginReport {
  const isTaken = shipped.some(({ kind, name }) => kind === report.kind && name === report.name);
  const isShipped = SHIPPED_PLUGINS !== null && home.startsWith(SHIPPED_PLUGINS);
  if (!isTaken || isShipped) return report;
  const fault = `Signalbox already has a ${report.kind} \`${report.name}\`, so a policy that lists this plugin is rejected`;
  const law: LawReport = {
    law: 'name',
    says: 'no shipped plugin has its name',
    outcome: 'broken',
    fault,
    example: null,
  };
  return { ...report, laws: [law, ...report.laws] };
}

const MARKS: Readonly<Record<LawReport['outcome'], string>> = { holds: '✓', broken: '✗', note: '·', skipped: '-' };

function asText(
  reports: readonly PluginReport[],
  { file, seed, runs }: { readonly file: string; readonly seed: number; readonly runs: number },
  paint: Paint,
): string {
  const parts = reports.map(({ kind, name, status, laws }) =>
    [`${paint.strong(`${kind} ${name}`)} (${status})`, ...laws.map((law) => lawText(law, paint))].join('\n'),
  );
  const all = reports.flatMap(({ laws }) => laws);
  const broken = all.filter(({ outcome }) => outcome === 'broken').length;
  const kept = all.filter(({ outcome }) => outcome === 'holds').length;
  const sum = broken === 0 ? `${file}: all ${kept} laws hold` : `${file}: ${broken} of ${kept + broken} laws broken`;
  const again =
    broken === 0 ? '' : `\nTo repeat these cases: ${commandName()} plugin test ${file} --seed ${seed} --runs ${runs}`;
  return `${parts.join('\n\n')}\n\n${sum}; seed ${seed}, ${runs} cases for each law${again}\n`;
}

function lawText({ law, says, outcome, fault, example }: LawReport, paint: Paint): string {
  const mark = outcome === 'broken' ? paint.error(MARKS.broken) : MARKS[outcome];
  const head = `  ${mark} ${law}: ${says}`;
  if (outcome === 'skipped') return `${head} (not applicable)`;
  if (fault === null) return head;
  const not = outcome === 'note' ? 'Not required, and not the case: ' : '';
  const lines = [`${not}${scrub(fault)}`, ...(example === null ? [] : [`in: ${scrub(example)}`])];
  return [head, ...lines.map((line) => `      ${line}`)].join('\n');
}
