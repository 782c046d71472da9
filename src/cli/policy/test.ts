import { namedBundle } from '../../admin/use-cases/policy/bundles.ts';
import { testPolicy } from '../../admin/use-cases/policy/test.ts';
import { readPolicy } from '../../admin/use-cases/policy/tools.ts';
import { UsageError } from '../../core/usage-error.ts';
import { parseArguments, type parseFlags, SWITCH, TEXT } from '../arguments.ts';
import type { CommandDefinition } from '../command.ts';
import type { CommandResult } from '../result.ts';
import { jsonText, pathText } from '../text.ts';
import { folderIn, type PolicyCommand } from './command.ts';
import { testText } from './test-text.ts';
import { testOnEdits } from './test-watch.ts';

const FLAGS = { case: TEXT, watch: SWITCH, coverage: SWITCH, min: TEXT, here: SWITCH, json: SWITCH };

/** `signalbox policy test`. Throws UsageError if there is no policy to test. */
export const policyTest: CommandDefinition = {
  usesPolicies: true,
  use: 'after every change of a policy, to see that requests still get the models that you expect.',
  example: 'policy test ./policies --coverage --min 80',
  usage: `[DIR] [--case TEXT] [--watch] [--coverage] [--min PERCENT] [--here] [--json]
[--data DIR]`,
  summary: "Run a policy's cases.",
  details: `Runs each case as if every variable were set, and again with the variables that are set;
--here does only the second. --case selects cases by a part of their name.
--watch runs the cases again after every edit. --coverage lists the rules and models that no case uses.
Exit code: 0 if all cases hold, 2 if a case fails or coverage is below --min, 1 if no case ran.`,
  run: async (args, context) => runTest(args, await context.policy()),
};

async function runTest(args: readonly string[], command: PolicyCommand): Promise<CommandResult> {
  const { values, positionals } = parseArguments(args, FLAGS);
  const min = values.min === undefined ? null : percentOf(values.min);
  const folder = folderIn(positionals, 'test', command);
  const run = (judge: PolicyCommand['judge']) => testOnce({ ...values, folder, min }, { ...command, judge });
  return values.watch ? testOnEdits({ ...values, folder }, command, run) : run(command.judge);
}

function percentOf(text: string): number {
  const percent = Number(text);
  if (!/^\d{1,3}(\.\d+)?$/.test(text) || percent > 100) {
    throw new UsageError(`--min must be a percentage from 0 to 100, not "${text}".`);
  }
  return percent;
}

interface TestOptions extends Omit<ReturnType<typeof parseFlags<typeof FLAGS>>, 'min'> {
  readonly folder: string;
  /** The least coverage in percent; null for no minimum. */
  readonly min: number | null;
}

async function testOnce(options: TestOptions, { judge, terminal: colour }: PolicyCommand): Promise<CommandResult> {
  const { folder, case: text = null, here: onlyHere, min, json, watch } = options;
  const files = await readPolicy(folder);
  // As in `policy check`, the JSON output names files as the API does.
  const bundle = json ? namedBundle(files) : files;
  const coverage = options.coverage || min !== null ? { min } : null;
  const result = await testPolicy(folder, bundle, judge, { text, onlyHere, coverage });
  const isFine = result.counts?.failed === 0 && (result.coverage?.enough ?? true);
  // With `--watch` there are many results, so each is written on one line.
  const asJson = () => (watch ? `${JSON.stringify(result)}\n` : jsonText(result));
  return {
    text: json ? asJson() : testText(result, bundle, { folder: pathText(folder), colour }),
    code: isFine ? 0 : 2,
  };
}
