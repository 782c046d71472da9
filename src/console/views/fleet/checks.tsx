import type { Static } from '@sinclair/typebox';
import type { CheckReport } from '../../../admin/doctor-report.ts';
import { docsHref } from '../../api/base.ts';
import { Card } from '../../design/card.tsx';
import { plural, span } from '../../design/format.ts';
import { Empty } from '../../design/states.tsx';
import { State, type Tone } from '../../design/tag.tsx';
import { Coded, When } from '../../design/written.tsx';
import { Actions } from '../../kit/actions.tsx';

/** The answer of the route `POST /admin/doctor`. */
export type Checkup = Static<typeof CheckReport>;

/** The headings of the findings by state, the most urgent first. */
const GROUPS = [
  ['problem', 'bad', 'Problems'],
  ['warning', 'warn', 'Warnings'],
  ['not_checked', 'quiet', 'Not checked'],
  ['ok', 'good', 'Fine'],
] as const;

interface ChecksProps {
  /** The last run of this page; null before the first. */
  readonly checkup: Checkup | null;
  readonly onCheckup: (checkup: Checkup) => void;
}

/** The checks of the installation, which run when the viewer asks for it, because they call the providers. */
export const Checks = ({ checkup, onCheckup }: ChecksProps) => (
  <Card
    id="checks"
    heading={checkup ? sentenceOf(checkup) : 'The checks of this server'}
    aside={
      <Actions
        of={[
          {
            label: 'Run the checks',
            busy: 'Running…',
            action: 'status.read',
            path: '/admin/doctor',
            done: '',
            // The response has the schema of the route.
            onDone: (answer) => onCheckup(answer as Checkup),
          },
        ]}
      />
    }
  >
    {checkup ? (
      <Findings checkup={checkup} />
    ) : (
      <Empty title="The checks have not run on this page yet">
        They test the keys of the providers with a free call, and examine clocks, disk, database, permissions, ports,
        the age of prices and the other servers. Each finding says what to do.{' '}
        <a href={docsHref('operate/doctor.md')}>The checks and their limits</a>
      </Empty>
    )}
  </Card>
);

function sentenceOf({ problems, warnings }: Checkup): string {
  if (problems > 0) return `The checks found ${plural(problems, 'problem')}.`;
  return warnings > 0
    ? `The checks found ${plural(warnings, 'warning')} and no problem.`
    : 'The checks found no problem.';
}

const Findings = ({ checkup: { began_at, ended_at, data } }: { readonly checkup: Checkup }) => {
  const took = Date.parse(ended_at) - Date.parse(began_at);
  return (
    <div class="stack">
      <p class="dim">
        Checked <When at={ended_at} />, in {took < 1_000 ? 'less than a second' : span(took)}.
      </p>
      {GROUPS.map(([state, tone, title]) => {
        const own = data.filter((one) => one.state === state);
        return own.length > 0 && <Group key={state} id={`checks-${state}`} tone={tone} title={title} findings={own} />;
      })}
    </div>
  );
};

interface GroupProps {
  readonly id: string;
  readonly tone: Tone;
  readonly title: string;
  readonly findings: Checkup['data'];
}

const Group = ({ id, tone, title, findings }: GroupProps) => (
  <section aria-labelledby={id}>
    <h3 id={id}>
      <State tone={tone}>{title}</State>
    </h3>
    <ul class="fleet-findings">
      {findings.map(({ check, title: name, subject, found, advice }) => (
        <li key={`${check} ${subject} ${found}`}>
          <p>
            {name}
            {subject !== null && <span class="dim mono">{subject}</span>}
          </p>
          <div>
            <p>
              <Coded text={found} />
            </p>
            {advice !== null && (
              <p>
                <strong>To do:</strong> <Coded text={advice} />
              </p>
            )}
          </div>
        </li>
      ))}
    </ul>
  </section>
);
