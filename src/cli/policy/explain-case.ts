import { UsageError } from '../../core/usage-error.ts';
import { runCase } from '../../operate/policy/cases.ts';
import { factsOf } from '../../operate/policy/reasons.ts';
import type { CommandResult } from '../result.ts';
import { caseNamed } from './case-names.ts';
import type { PolicyCommand } from './command.ts';
import { told } from './explain-told.ts';
import { SETTING_WORDS, type Setting, settingsOf } from './settings.ts';
import { missingText, placeText } from './test-text.ts';

/** A case is decided by the policy alone. */
const NOTE =
  'Cases are decided by the policy’s own figures: nothing that was learnt of models or seen of endpoints counts, and no budget binds.';

/**
 * Explains the request of a case, as it is decided when the case runs: as if every variable were set unless only the
 * variables that are set here let it run, or `onlyHere` is asked for. Throws UsageError, or SignalboxError as the API would.
 */
export async function explainCase(
  name: string,
  folder: string,
  onlyHere: boolean,
  json: boolean,
  command: PolicyCommand,
): Promise<CommandResult> {
  const { settings, problems, missing } = await settingsOf(folder, command.judge, onlyHere);
  if (problems.length > 0) throw new UsageError(`${folder}: the policy is wrong; signalbox policy check tells where.`);
  const found = caseNamed(name, settings[0]?.runtime.snapshot.cases ?? []);
  const at = settings[0]!.runtime.snapshot.cases.indexOf(found);
  const runs = settings.map((setting) => ({ setting, run: runOf(setting, at) }));
  const ran = runs.find(({ run }) => run.outcome !== null);
  if (!ran) throw new UsageError(`The case "${found.name}" cannot run: ${missingText(runs[0]!.run.missing)}.`);
  const { runtime, names } = ran.setting;
  const { failures } = ran.run;
  const status = failures.length === 0 ? 'holds' : 'failed';
  const keys = failures.map(({ key, wanted, got }) => `${key} is ${got} where ${wanted} is expected`);
  const { file, line, column } = found.place;
  return told(
    factsOf(found, runtime),
    { estimate: null, words: () => new Map() },
    runtime,
    {
      json,
      before: [`The case “${found.name}” (${placeText(found.place)}), ${SETTING_WORDS[names[0]!]}.`],
      after: [keys.length === 0 ? 'The case holds.' : `The case fails: ${keys.join('; ')}.`],
      note: NOTE,
      missing: names.includes('here') ? missing : [],
      head: { case: { name: found.name, file, line, column, status, settings: names } },
    },
    command,
  );
}

const runOf = ({ runtime }: Setting, at: number) => runCase(runtime.snapshot.cases[at]!, runtime);
