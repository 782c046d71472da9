import { lazy } from '../../../core/lazy.ts';
import { isOperator } from '../../../core/people/caller.ts';
import { messageOf } from '../../../core/thrown.ts';
import { within } from '../../../core/time/timers.ts';
import { scrub } from '../../../host/telemetry/secrets.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';
import { CHECKS } from './checks.ts';
import { findNoDatabase } from './data-folder.ts';
import { type Check, type DoctorRun, type DoctorSources, type Finding, faultFinding, notChecked } from './finding.ts';
import { callProviders } from './provider-calls.ts';
import type { CheckState } from './states.ts';

/** The time limit of a run, ms. A check that takes longer is reported as not made. */
export const RUN_MS = 30_000;

/** How long a report answers callers who only read, ms, so that they cannot start one run after another. */
export const REPORT_MS = 5_000;

/** A finding, with the check that found it. */
export interface CheckFinding extends Finding {
  readonly check: string;
  readonly title: string;
}

export interface DoctorReport {
  /** Milliseconds since 1970. */
  readonly beganAt: number;
  readonly endedAt: number;
  /** In the order of `CHECKS`. */
  readonly findings: readonly CheckFinding[];
}

/** The checks of a running server, or of a data folder. */
export interface Doctor {
  /**
   * Makes all checks, or waits for the run that is in progress. Never rejects.
   * @param mayBeOld whether the report of a run that ended some seconds ago is an answer, too
   */
  run(mayBeOld?: boolean): Promise<DoctorReport>;
}

/** Makes all checks. Rejects with SignalboxError if the caller's role does not include the action. */
export async function runDoctor({ caller }: Principal, doctor: Doctor): Promise<DoctorReport> {
  checkAction(caller, 'status.read');
  // An operator who has corrected something runs the checks again.
  return doctor.run(!isOperator(caller));
}

/** @returns how many findings are in each state */
export const countStates = (findings: readonly Pick<Finding, 'state'>[]): Readonly<Record<CheckState, number>> => {
  const counts = { problem: 0, warning: 0, not_checked: 0, ok: 0 };
  for (const { state } of findings) counts[state]++;
  return counts;
};

/** Makes runs of the checks, one at a time. State: doctor. */
export function openDoctor(sources: () => DoctorSources, checks: readonly Check[] = CHECKS): Doctor {
  let running: Promise<DoctorReport> | null = null;
  let last: DoctorReport | null = null;
  const runOnce = async (given: DoctorSources): Promise<DoctorReport> => {
    try {
      last = await runChecks(given, checks);
      return last;
    } finally {
      running = null;
    }
  };
  const run = async (mayBeOld = false): Promise<DoctorReport> => {
    if (running) return running;
    const given = sources();
    if (mayBeOld && last && Math.abs(given.now() - last.endedAt) < REPORT_MS) return last;
    running = runOnce(given);
    return running;
  };
  return { run };
}

async function runChecks(sources: DoctorSources, checks: readonly Check[]): Promise<DoctorReport> {
  const { now, timers } = sources;
  const beganAt = now();
  const policy = lazy(sources.policy);
  const noDatabase = lazy(() => findNoDatabase(sources));
  const calls = lazy(async () => {
    const loaded = await policy();
    return 'runtime' in loaded ? callProviders(loaded.runtime, now) : [];
  });
  const run: DoctorRun = { ...sources, policy, calls, noDatabase };
  const late = [
    notChecked(
      `The check took longer than ${RUN_MS / 1_000} s.`,
      'Run the checks again, when the machine is less busy.',
    ),
  ];
  const found = await Promise.all(
    checks.map(async (check) => {
      const findings = await within(timers, RUN_MS, findingsOf(check, run), late);
      return findings.map((finding) => ({ check: check.id, title: check.title, ...withoutSecrets(finding) }));
    }),
  );
  return { beganAt, endedAt: now(), findings: found.flat() };
}

async function findingsOf(check: Check, run: DoctorRun): Promise<readonly Finding[]> {
  try {
    switch (check.needs) {
      case null:
        return await check.run(run);
      case 'database':
        // A server has its own connections.
        return run.server || (await run.noDatabase()) === null ? await check.run(run) : [NO_DATABASE];
      case 'server':
        return run.server ? await check.run(run, run.server) : [NO_SERVER];
      case 'policy': {
        const policy = await run.policy();
        return 'runtime' in policy ? await check.run(run, policy) : [NO_POLICY];
      }
    }
  } catch (cause) {
    if (check.needs === 'database' && (await run.noDatabase()) !== null) return [NO_DATABASE];
    return [faultFinding(messageOf(cause))];
  }
}

const NO_DATABASE = notChecked('This check needs the database.', 'See the finding on the database.');
const NO_SERVER = notChecked(
  'Only a running server knows this, and this run did not use one.',
  'Start the server, and run the command on its data folder without --offline.',
);
const NO_POLICY = notChecked('The policy cannot be loaded.', 'Correct the policy first.');

/** Errors of databases and providers can repeat a secret. */
const withoutSecrets = ({ state, subject, found, advice }: Finding): Finding => ({
  state,
  subject: subject && scrub(subject),
  found: scrub(found),
  advice: advice && scrub(advice),
});
