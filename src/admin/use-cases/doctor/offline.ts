import { messageOf } from '../../../core/thrown.ts';
import { iso } from '../../../core/time/clock.ts';
import { processTimers } from '../../../host/telemetry/process-timers.ts';
import { compileCandidate, isRejected } from '../../../policy/runtime/candidate.ts';
import { isStoreLocked, readStore } from '../../../store/open.ts';
import { clusterStatus } from '../cluster.ts';
import { checkWords, policyName } from '../policy/folder-words.ts';
import { idleIn, type JudgeTools, readPolicy } from '../policy/tools.ts';
import type { Principal } from '../principal.ts';
import type { DoctorPolicy, DoctorSources, Door } from './finding.ts';
import { type Doctor, openDoctor } from './run.ts';

/** A data folder, a policy folder and the variables of a shell. */
interface OfflinePlace
  extends Pick<DoctorSources, 'command' | 'place' | 'folder' | 'secretPaths' | 'databaseFault' | 'now'> {
  /** The person who asks. */
  readonly by: Principal;
  readonly judge: JudgeTools;
  readonly door: () => Promise<Door>;
}

/** Opens the checks without a server. */
export function openOfflineDoctor(place: OfflinePlace): Doctor {
  const { judge: _, by, ...sources } = place;
  return openDoctor(() => ({
    ...sources,
    timers: processTimers,
    server: null,
    policy: () => policyHere(place),
    cluster: () => clusterHere(by, sources.place.database),
  }));
}

/** Loads the policy as `serve` would here. */
async function policyHere({ folder, judge, command }: OfflinePlace): Promise<DoctorPolicy> {
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
async function clusterHere(by: Principal, database: string): ReturnType<typeof clusterStatus> {
  if (!(await isStoreLocked(database))) return { instances: [], isSplit: false };
  using reader = await readStore(database, ['instances']);
  return await clusterStatus(by, reader);
}
