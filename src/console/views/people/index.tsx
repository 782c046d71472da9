import type { Action } from '../../../operate/roles.ts';
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

type TabName = 'teams' | 'members' | 'keys' | 'logins' | 'subjects' | 'trail';

interface PeopleTab {
  readonly id: TabName;
  readonly label: string;
  readonly action: Action;
}

const TABS: readonly PeopleTab[] = [
  { id: 'teams', label: 'Teams', action: 'people.read' },
  { id: 'members', label: 'Members', action: 'people.read' },
  { id: 'keys', label: 'Keys', action: 'keys.read' },
  { id: 'logins', label: 'Logins', action: 'logins.read' },
  { id: 'subjects', label: 'Workloads', action: 'subjects.read' },
  { id: 'trail', label: 'Trail', action: 'trail.read' },
];

const REACHES = { all: 'All teams', team: 'Your team', own: 'You and your keys' } as const;

/** Teams, people and their keys, who is signed in, and who changed what. */
export default function People() {
  const [name, id = null] = partsBelow('/people');
  const reach = reachOfViewer('people.read') ?? 'own';
  // Somebody who sees only itself comes for its keys.
  const first = reach === 'own' ? 'keys' : 'teams';
  const tab = name === undefined ? first : (TABS.find((one) => one.id === name)?.id ?? null);
  const tabs = TABS.filter(({ action }) => mayView(action));
  const isOpen = tabs.some((one) => one.id === tab);
  return (
    <div class="stack">
      <ViewHead title="People" summary={REACHES[reach]} hasRange={false} />
      <Tabs
        label="People and keys"
        tabs={tabs}
        value={tab ?? first}
        onValue={(next) => go(hrefOf(`/people/${next}`))}
        panel="people-tab"
      />
      <div class="stack people-tab" id="people-tab" role="tabpanel" aria-labelledby={`people-tab-${tab ?? first}`}>
        {tab === null ? (
          <p>
            The view People has no such part. <a href={hrefOf('/people')}>Go to the first</a>
          </p>
        ) : isOpen ? (
          <TabBody tab={tab} id={id} />
        ) : (
          <NoPermission what={TABS.find((one) => one.id === tab)?.label ?? 'These'} />
        )}
      </div>
    </div>
  );
}

function TabBody({ tab, id }: { readonly tab: TabName; readonly id: string | null }) {
  switch (tab) {
    case 'teams':
      return <TeamsTab id={id} />;
    case 'members':
      return <MembersTab id={id} />;
    case 'keys':
      return <KeysTab id={id} />;
    case 'logins':
      return <LoginsTab />;
    case 'subjects':
      return <SubjectsTab id={id} />;
    case 'trail':
      return <TrailTab id={id} />;
  }
}
