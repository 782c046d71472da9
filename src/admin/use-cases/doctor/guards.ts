import { messageOf } from '../../../core/thrown.ts';
import { within } from '../../../core/time/timers.ts';
import { callGuard, GuardFailure, type RunningGuard } from '../../../gateway/guards/guard-runtime.ts';
import { OpenService } from '../../../gateway/guards/guard-service.ts';
import { AT_ONCE } from '../../../host/turns.ts';
import { type DoctorRun, type Finding, fine, type LoadedPolicy, problem, sentence } from './finding.ts';

/** The longest time for the reply of a service, ms. */
const CALL_MS = 8_000;

/** The text that services receive. */
const PROBE = { side: 'input', texts: [{ text: 'Hello', role: 'user', kind: 'text' }] } as const;

/** Checks that the service of each guard replies in the right form. */
export async function checkGuards({ timers }: DoctorRun, { runtime }: LoadedPolicy): Promise<readonly Finding[]> {
  const guards = runtime.guards.filter(({ rule }) => rule.service);
  if (guards.length === 0) return [fine('No guard of the policy calls a service.')];
  return await Promise.all(
    guards.map(async (guard) => {
      const { name, deadlineMs } = guard.rule;
      const cause = await failureOf(guard, (work) => within(timers, CALL_MS, work, LATE));
      if (cause === null) return fine('Its service replies.', name);
      return problem(
        sentence(`The guard cannot inspect anything: ${cause}`),
        `Check the service, its address and its key in the policy. The guard waits ${deadlineMs} ms for it.`,
        name,
      );
    }),
  );
}

/** The guards that have a service are not pure, so their calls take no steps. */
const WORK = { turns: AT_ONCE, clock: () => 0, check() {} };
const LATE = `its service did not reply within ${CALL_MS / 1_000} s`;

/** @returns why the guard failed; null if it did not */
async function failureOf(
  guard: RunningGuard,
  inTime: (work: Promise<string | null>) => Promise<string | null>,
): Promise<string | null> {
  const service = OpenService.of(guard, () => CALL_MS);
  const call = async (): Promise<string | null> => {
    try {
      await callGuard(guard, PROBE, WORK, service);
      return null;
    } catch (cause) {
      if (cause instanceof GuardFailure) return messageOf(cause);
      throw cause;
    }
  };
  try {
    return await inTime(call());
  } finally {
    service?.end();
  }
}
