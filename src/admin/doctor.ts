import { CheckReport } from './doctor-report.ts';
import { operationsOn } from './kit/operation.ts';
import { countStates, type Doctor, REPORT_MS, RUN_MS, runDoctor } from './use-cases/doctor/run.ts';
import { CHECK_STATE_NAMES, type CheckState } from './use-cases/doctor/states.ts';

/** The services that the checks use. */
export interface DoctorServices {
  readonly doctor: Doctor;
}

/** The operation of `POST /admin/doctor` and `signalbox doctor`. */
export const runChecks = operationsOn<DoctorServices>()({
  name: 'doctor',
  use: 'when something does not work, and after you have set up a server.',
  example: 'doctor',
  http: 'POST /admin/doctor',
  action: 'status.read',
  isLong: true,
  summary: 'Check keys, clocks, disk, database, permissions and ports, and say what to do',
  details: `Calls each provider in use once for its list of models, which is free of charge, and the service of each guard once with the text “Hello”, and examines the database, the disk and the settings of the server. Each finding says what to do. The checks change nothing and end within ${RUN_MS / 1_000} seconds. Calls at the same time share one run. Callers who are no operators get the report of a run that ended less than ${REPORT_MS / 1_000} seconds ago. The exit code of the command is 2 if there is a problem.`,
  output: CheckReport,
  answer: 'The findings.',
  isFinding: ({ problems }: { readonly problems: number }) => problems > 0,
  prints: findingsText,
  async run({ doctor }, { by }) {
    const { findings, ...times } = await runDoctor(by, doctor);
    const { problem: problems, warning: warnings } = countStates(findings);
    return { ...times, problems, warnings, data: findings };
  },
});

/** The headings of the command. */
const STATE_TITLES: Readonly<Record<CheckState, string>> = {
  problem: 'Problems',
  warning: 'Warnings',
  not_checked: 'Not checked',
  ok: 'Fine',
};

interface PrintedFinding {
  readonly title: string;
  readonly subject: string | null;
  readonly state: string;
  readonly found: string;
  readonly advice: string | null;
}

/** Writes the findings by state, the most urgent first. */
function findingsText({ data }: { readonly data: readonly PrintedFinding[] }): string {
  const groups = CHECK_STATE_NAMES.flatMap((state) => {
    const own = data.filter((finding) => finding.state === state);
    return own.length === 0 ? [] : [`${STATE_TITLES[state]}\n${merged(own).map(findingText).join('')}`];
  });
  const [problems = 0, warnings = 0] = ['problem', 'warning'].map(
    (name) => data.filter(({ state }) => state === name).length,
  );
  const end =
    problems === 0
      ? `No problem was found${warnings === 0 ? '' : `, but ${warnings === 1 ? 'one warning' : `${warnings} warnings`}`}.\n`
      : `After a correction, run this command again. ${problems === 1 ? 'One problem is' : `${problems} problems are`} left.\n`;
  return `${groups.join('\n')}\n${end}`;
}

/** Several checks may have the same reason and advice, which are written once. */
const merged = (findings: readonly PrintedFinding[]): readonly PrintedFinding[] =>
  [...Map.groupBy(findings, ({ subject, found, advice }) => JSON.stringify([subject, found, advice])).values()].map(
    (same) => ({ ...same[0]!, title: [...new Set(same.map(({ title }) => title))].join(', ') }),
  );

const findingText = ({ title, subject, found, advice }: PrintedFinding): string =>
  `  ${title}${subject === null ? '' : `, ${subject}`}: ${found}\n${advice === null ? '' : `    To do: ${advice}\n`}`;
