import {
  type DoctorRun,
  type Finding,
  fine,
  type LoadedPolicy,
  notChecked,
  problem,
  type ServerFacts,
  warning,
} from './finding.ts';

/** From this offset on, a limit for a minute counts into a wrong window noticeably, ms. */
export const CLOCK_WARNING_MS = 5_000;
/** Tokens of workloads and logins are accepted up to this offset, ms. */
export const CLOCK_PROBLEM_MS = 60_000;

const SYNCHRONIZE = 'Let NTP (chrony or systemd-timesyncd) set the clocks of both machines.';

/** Judges the difference between two clocks. @param offsetMs the other clock minus the clock of this machine, ms */
export function clockFinding(other: string, offsetMs: number, subject: string | null = null): Finding {
  const size = Math.abs(offsetMs);
  const seconds = (size / 1_000).toLocaleString('en', { maximumFractionDigits: 1 });
  const way = offsetMs > 0 ? 'ahead of' : 'behind';
  if (size < CLOCK_WARNING_MS)
    return fine(`${other} and the clock of this machine agree within ${CLOCK_WARNING_MS / 1_000} s.`, subject);
  if (size < CLOCK_PROBLEM_MS)
    return warning(`${other} is ${seconds} s ${way} the clock of this machine.`, SYNCHRONIZE, subject);
  return problem(
    `${other} is ${seconds} s ${way} the clock of this machine, so tokens and logins may be refused.`,
    SYNCHRONIZE,
    subject,
  );
}

export const checkDatabaseClock = (_: DoctorRun, { instance }: ServerFacts): readonly Finding[] => [
  clockFinding('The clock of the database', instance.clockOffsetMs),
];

/** Compares this machine's clock with the clocks of the providers, by the median, so that one wrong provider decides nothing. */
export async function checkProviderClocks(run: DoctorRun, policy: LoadedPolicy): Promise<readonly Finding[]> {
  const calls = await run.calls(policy);
  const offsets = calls.flatMap(({ clockOffsetMs }) => clockOffsetMs ?? []);
  const median = offsets.toSorted((one, other) => one - other)[Math.floor((offsets.length - 1) / 2)];
  if (median === undefined)
    return [
      notChecked(
        calls.length === 0 ? 'No provider was called.' : 'No provider answered with a date.',
        'See the findings on provider keys.',
      ),
    ];
  return [clockFinding(offsets.length === 1 ? 'The clock of a provider' : 'The median clock of the providers', median)];
}
