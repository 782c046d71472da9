import { messageOf } from '../../core/thrown.ts';
import { iso } from '../../core/time/clock.ts';
import { processTimers } from '../../host/telemetry/process-timers.ts';
import { compileCandidate, isRejected } from '../../policy/runtime/candidate.ts';
import { isStoreLocked, readStore } from '../../store/open.ts';
import { runChecks } from '../doctor.ts';
import { clusterStatus } from '../use-cases/cluster.ts';
import type { DoctorPolicy, DoctorSources, Door } from '../use-cases/doctor/finding.ts';
import { openDoctor } from '../use-cases/doctor/run.ts';
import { checkWords, policyName } from '../use-cases/policy/folder-words.ts';
import { idleIn, readPolicy } from '../use-cases/policy/tools.ts';
import type { ServeOptions } from '../use-cases/serve-options.ts';
import { NO_WORTH, runOperation } from './operations.ts';
import type { PolicyCommand } from './policy/command.ts';
import type { CommandOutput } from './result.ts';
import { operator } from './user.ts';

interface DoctorCommand extends Pick<PolicyCommand, 'judge' | 'folder'>, Pick<DoctorSources, 'command'> {
  readonly place: Pick<ServeOptions, 'home' | 'data' | 'database'>;
  readonly secretPaths: () => readonly string[];
  readonly databaseFault: string | null;
  readonly door: () => Promise<Door>;
  now(): number;
}

/** Runs `signalbox doctor` without a server: with the data folder, the policy folder and the variables of this shell. Throws UsageError. */
export function runDoctorHere(args: readonly string[], command: DoctorCommand): Promise<CommandOutput> {
  const { judge: _, ...sources } = command;
  const call = { by: operator(), now: command.now(), id: '', credentials: null, tags: null };
  const doctor = openDoctor(() => ({
    ...sources,
    timers: processTimers,
    server: null,
    policy: () => policyHere(command),
    cluster: () => clusterHere(sources.place.database),
  }));
  return runOperation(runChecks, args, async () => (await runChecks.perform({ ...NO_WORTH, doctor }, call, {})).body);
}

/** Loads the policy as `serve` would here. */
async function policyHere({ folder, judge, command }: DoctorCommand): Promise<DoctorPolicy> {
  try {
    const today = iso(judge.now()).slice(0, 10);
    const judged = await compileCandidate(await readPolicy(folder), { ...judge, folder, today, onlyServing: true });
    if (!isRejected(judged)) return judged;
    const idle = idleIn(judged.problems);
    if (idle)
      return {
        refusal: `No provider of ${policyName(folder)} can serve with the variables of this environment.`,
        advice: `Set the variables of a provider: ${idle.hint ?? idle.message}.`,
      };
    return {
      refusal:
        judged.message ?? `The policy in ${policyName(folder)} has mistakes, so a server would not start with it.`,
      advice: `Run \`${command(checkWords(folder))}\` to see each mistake and its correction.`,
    };
  } catch (cause) {
    return { refusal: messageOf(cause), advice: 'Name the folder of the policy with --policies.' };
  }
}

/** The last reports of the servers count only while a server runs. */
async function clusterHere(database: string): ReturnType<typeof clusterStatus> {
  if (!(await isStoreLocked(database))) return { instances: [], isSplit: false };
  using reader = await readStore(database, ['instances']);
  return await clusterStatus(operator(), reader);
}
