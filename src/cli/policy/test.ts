import { plural } from '../../core/text.ts';
import { UsageError } from '../../core/usage-error.ts';
import { summaryOf } from '../../operate/policy/coverage.ts';
import { type Settings, settingsOf } from '../../operate/policy/settings.ts';
import { testBody } from '../../operate/policy/test-body.ts';
import { coverageOf, runCases } from '../../operate/policy/test-run.ts';
import { diagnosticsJson } from '../../policy/diagnostics.ts';
import { inSlices } from '../../runtime/slices.ts';
import { scrub } from '../../telemetry/secrets.ts';
import { parseArguments, type parseFlags, SWITCH, TEXT } from '../arguments.ts';
import type { CommandResult } from '../result.ts';
import { pathText } from '../text.ts';
import { folderIn, type PolicyCommand } from './command.ts';
import { problemsText } from './problems.ts';
import { testText } from './test-text.ts';
import { testOnEdits } from './test-watch.ts';

const FLAGS = { case: TEXT, watch: SWITCH, coverage: SWITCH, min: TEXT, here: SWITCH, json: SWITCH };

interface TestOptions extends Omit<ReturnType<typeof parseFlags<typeof FLAGS>>, 'min'> {
  readonly folder: string;
  /** The least coverage in percent; null for none. */
  readonly min: number | null;
}

/** `signalbox policy test`. Throws UsageError when there is nothing to run. */
export async function runTest(args: readonly string[], command: PolicyCommand): Promise<CommandResult> {
  const { values, positionals } = parseArguments(args, FLAGS);
  const min = values.min === undefined ? null : percentOf(values.min);
  const folder = folderIn(positionals, 'test', command);
  const options: TestOptions = { ...values, folder, coverage: values.coverage || min !== null, min };
  if (!values.watch) return testOnce(options, command);
  return testOnEdits(options, command, (judge) => testOnce(options, { ...command, judge }));
}

function percentOf(text: string): number {
  const percent = Number(text);
  if (!/^\d{1,3}(\.\d+)?$/.test(text) || percent > 100) {
    throw new UsageError(`--min takes a percentage from 0 to 100, not "${text}".`);
  }
  return percent;
}

const never = () => false;

async function testOnce(options: TestOptions, command: PolicyCommand): Promise<CommandResult> {
  const { folder, case: text = null, min, json, watch } = options;
  const settings = await settingsOf(folder, command.judge, options.here);
  if (settings.problems.length > 0) return brokenPolicy(settings, options, command);
  const results = await inSlices(runCases(settings, text), never);
  const coverage = options.coverage ? summaryOf(await inSlices(coverageOf(settings, results), never), min) : null;
  const isFine = results.every(({ status }) => status !== 'failed') && (coverage?.isEnough ?? true);
  const code = isFine ? 0 : 2;
  if (json) return { text: resultText(testBody(settings, results, coverage), watch), code };
  const form = { folder: pathText(folder), colour: command.terminal };
  return { text: scrub(testText(settings, results, coverage, form)), code };
}

/** Reports a policy that cannot be compiled, as `policy check` does: it has no cases to run. */
function brokenPolicy(
  { bundle, problems }: Settings,
  options: TestOptions,
  { terminal }: PolicyCommand,
): CommandResult {
  if (options.json) {
    const body = { ...diagnosticsJson(problems), counts: null, settings: [], cases: [], coverage: null };
    return { text: resultText(body, options.watch), code: 2 };
  }
  const errors = `${plural(problems.length, 'error')}, so no case was run`;
  const text = `${problemsText(problems, bundle, terminal)}\n\n${pathText(options.folder)}: ${errors}\n`;
  return { text, code: 2 };
}

/** With `--watch` there are many results: one line for each. */
const resultText = (body: object, compact: boolean): string =>
  `${scrub(JSON.stringify(body, null, compact ? 0 : 2))}\n`;
