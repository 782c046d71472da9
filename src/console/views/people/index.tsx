import type { ComponentType } from 'preact';
import type { Action } from '../../../admin/use-cases/roles.ts';
import { NoPermission } from '../../design/states.tsx';
import { Tabs } from '../../design/tabs.tsx';
import { go, hrefOf, partsBelow } from '../../shell/router.ts';
import { mayView, reachOfViewer } from '../../shell/session.ts';
import { ViewHead } from '../../shell/view-head.tsx';
import { KeysTab } from './keys.tsx';
import { LoginsTab } from './logins.tsx';
import { MembersTab } from './members.tsx';
import { SubjectsTab } from './subjects.tsx';
import { TeamsTab } from './teams.tsx';
import { TrailTab } from './trail.tsx';

interface PeopleTab {
  readonly id: string;
  readonly label: string;
  readonly action: Action;
  readonly Body: ComponentType<{ readonly id: string | null }>;
}

const TABS: readonly PeopleTab[] = [
  { id: 'teams', label: 'Teams', action: 'people.read', Body: TeamsTab },
  { id: 'members', label: 'Members', action: 'people.read', Body: MembersTab },
  { id: 'keys', label: 'Keys', action: 'keys.read', Body: KeysTab },
  { id: 'logins', label: 'Logins', action: 'logins.read', Body: LoginsTab },
  { id: 'subjects', label: 'Workloads', action: 'subjects.read', Body: SubjectsTab },
  { id: 'trail', label: 'Trail', action: 'trail.read', Body: TrailTab },
];

const REACHES = { all: 'All teams', team: 'Your team', own: 'You and your keys' } as const;

/** Teams, people and their keys, logins, and the audit trail. */
export default function People() {
  const [name, id = null] = partsBelow('/people');
  const reach = reachOfViewer('people.read') ?? 'own';
  // A viewer who sees only their own data opens the view for their keys.
  const first = reach === 'own' ? 'keys' : 'teams';
  const shown = TABS.find((one) => one.id === (name ?? first));
  const tab = shown?.id ?? first;
  return (
    <div class="stack">
      <ViewHead title="People" summary={REACHES[reach]} hasRange={false} />
      <Tabs
        label="People and keys"
        tabs={TABS.filter(({ action }) => mayView(action))}
        value={tab}
        onValue={(next) => go(hrefOf(`/people/${next}`))}
        panel="people-tab"
      />
      <div class="stack people-tab" id="people-tab" role="tabpanel" aria-labelledby={`people-tab-${tab}`}>
        {!shown ? (
          <p>
            The view People has no such part. <a href={hrefOf('/people')}>Go to the first</a>
          </p>
        ) : mayView(shown.action) ? (
          <shown.Body id={id} />
        ) : (
          <NoPermission what={shown.label} />
        )}
      </div>
    </div>
  );
}
