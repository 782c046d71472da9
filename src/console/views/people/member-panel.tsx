import { useState } from 'preact/hooks';
import type { UserRole } from '../../../core/people.ts';
import { useResource } from '../../api/resource.ts';
import { Button, ButtonLink } from '../../design/button.tsx';
import { Copy } from '../../design/copy.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { Field, Select } from '../../design/field.tsx';
import { Loaded } from '../../design/states.tsx';
import { When } from '../../design/written.tsx';
import { go, hrefOf, hrefWith } from '../../shell/router.ts';
import { reachOfViewer, session } from '../../shell/session.ts';
import { deed } from './deeds.ts';
import { type DraftFieldsProps, DraftPanel, type PanelPlace } from './draft-panel.tsx';
import { NEW_USER, type UserAnswer, type UserForm, type UserMoney, userBody, userDraft } from './drafts.ts';
import { Budgets } from './headroom.tsx';
import { Fact } from './key-facts.tsx';
import { KeyState, UserState } from './marks.tsx';
import { RecentTrail } from './recent-trail.tsx';
import { TERMS_KNOWN, TermsFields } from './terms-fields.tsx';
import { keyName, limitsText, modelsText, ROLE_WORDS, userName, useTeams } from './words.ts';

const KNOWN = [...TERMS_KNOWN, 'name', 'email', 'role', 'team'];
const HIGH: ReadonlySet<UserRole> = new Set(['owner', 'admin']);

/** Whether the viewer may change a person: owners alone change owners and admins, and a lead the members of its team. */
function mayChange({ role }: Pick<UserAnswer, 'role'>): boolean {
  const reach = reachOfViewer('people.change');
  const isOwner = session.value.state === 'in' && session.value.viewer.role === 'owner';
  if (reach === null || (HIGH.has(role) && !isOwner)) return false;
  return reach === 'all' || role === 'member';
}

/** A person beside the list. */
export const MemberPanel = (place: PanelPlace) => (
  <DraftPanel
    place={place}
    noun="member"
    what="This member"
    list="/admin/users"
    path={`/admin/users/${place.id}`}
    titleOf={userName}
    none={NEW_USER}
    draftOf={userDraft}
    bodyOf={userBody}
    known={KNOWN}
    fields={(props) => <MemberFields {...props} />}
  >
    {(found) => <MemberDetail of={found} onChange={place.onChange} onRemoved={() => go(place.closeHref)} />}
  </DraftPanel>
);

function MemberFields({ draft, set, errorAt }: DraftFieldsProps<UserForm>) {
  const teams = useTeams().data?.data ?? [];
  const roles = (Object.keys(ROLE_WORDS) as UserRole[]).filter((role) => role === draft.role || mayChange({ role }));
  return (
    <>
      <Field label="Name" value={draft.name} onValue={(name) => set({ name })} error={errorAt('name')} />
      <Field
        label="Email"
        type="email"
        value={draft.email}
        onValue={(email) => set({ email })}
        hint="Only shown: it does not identify the member."
        error={errorAt('email')}
      />
      {reachOfViewer('people.change') === 'all' && (
        <div class="columns">
          <Select
            label="Role"
            value={draft.role}
            options={roles.map((value) => ({ value, label: ROLE_WORDS[value] }))}
            onValue={(role) => set({ role })}
            error={errorAt('role')}
          />
          <Select
            label="Team"
            value={draft.team}
            options={[{ value: '', label: 'No team' }, ...teams.map(({ id, name }) => ({ value: id, label: name }))]}
            onValue={(team) => set({ team })}
            error={errorAt('team')}
          />
        </div>
      )}
      <TermsFields draft={draft} set={set} errorAt={errorAt} none="the models of the members of the team apply" />
    </>
  );
}

interface DetailProps {
  readonly of: UserMoney;
  onChange(): void;
  onRemoved(): void;
}

const MemberDetail = ({ of: user, onChange, onRemoved }: DetailProps) => (
  <div class="stack">
    <MemberDeeds of={user} onChange={onChange} onRemoved={onRemoved} />
    <dl class="facts">
      <Fact name="ID">
        <Copy text={user.id} label="the ID" />
      </Fact>
      <Fact name="Email">{user.email ?? <span class="dim">None</span>}</Fact>
      <Fact name="Role">{ROLE_WORDS[user.role]}</Fact>
      <Fact name="Team">
        {user.team === null ? (
          <span class="dim">None</span>
        ) : (
          <a href={hrefOf(`/people/teams/${user.team}`)}>{user.team_name ?? user.team}</a>
        )}
      </Fact>
      <Fact name="Models">
        {modelsText(user.in_force.models) ?? <span class="dim">All that the team may use</span>}
      </Fact>
      <Fact name="Rate limits">{limitsText(user.in_force.limits) ?? <span class="dim">None</span>}</Fact>
      <Fact name="Signs in at">{user.issuer ?? <span class="dim">Nowhere: it has keys alone</span>}</Fact>
      <Fact name="Made">
        <When at={user.created_at} />
      </Fact>
      {user.suspended_at !== null && (
        <Fact name="Suspended">
          <When at={user.suspended_at} />
        </Fact>
      )}
    </dl>
    <section class="stack-tight">
      <h3>Budgets</h3>
      <Budgets of={user.in_force.budgets} holder={user.id} none="None of its own." />
    </section>
    <MemberKeys of={user} />
    <RecentTrail subject={user.id} />
  </div>
);

const SHOWN = 20;

function MemberKeys({ of: { id } }: { readonly of: UserAnswer }) {
  const keys = useResource('/admin/keys', { user: id, limit: SHOWN });
  return (
    <section class="stack-tight">
      <div class="row row-apart">
        <h3>Keys</h3>
        {reachOfViewer('keys.change') !== null && <a href={hrefOf('/people/keys/new', { user: id })}>Make key</a>}
      </div>
      <Loaded what="Keys" of={keys}>
        {({ data, has_more }) =>
          data.length === 0 ? (
            <p class="dim">None.</p>
          ) : (
            <ul class="people-list">
              {data.map((key) => (
                <li key={key.id} class="row row-apart">
                  <a href={hrefOf(`/people/keys/${key.id}`)}>{keyName(key)}</a>
                  <KeyState state={key.state} />
                </li>
              ))}
              {has_more && (
                <li>
                  <a href={hrefOf('/people/keys', { user: id })}>All keys</a>
                </li>
              )}
            </ul>
          )
        }
      </Loaded>
    </section>
  );
}

function MemberDeeds({ of: user, onChange, onRemoved }: DetailProps) {
  const [isAsked, setAsked] = useState(false);
  const [isBusy, setBusy] = useState(false);
  if (!mayChange(user)) return <UserState state={user.state} />;
  const name = userName(user);
  const path = `/admin/users/${user.id}`;
  const suspend = async (isSuspended: boolean, isUndo = false): Promise<void> => {
    setBusy(true);
    const said = isSuspended ? `${name} is suspended, with all keys and logins.` : `${name} is served again.`;
    const undo = isUndo ? {} : { undo: () => void suspend(!isSuspended, true) };
    await deed(`${path}/${isSuspended ? 'suspend' : 'resume'}`, said, undo);
    setBusy(false);
    onChange();
  };
  const remove = async () => {
    setBusy(true);
    const gone = await deed(path, `${name} is removed.`, { method: 'DELETE' });
    setBusy(false);
    setAsked(false);
    if (!gone) return;
    onChange();
    onRemoved();
  };
  return (
    <div class="row">
      <ButtonLink href={hrefWith({ edit: 'yes' })}>Change</ButtonLink>
      <Button disabled={isBusy} onClick={() => void suspend(user.state === 'active')}>
        {user.state === 'active' ? 'Suspend' : 'Resume'}
      </Button>
      <Button kind="danger" onClick={() => setAsked(true)}>
        Remove
      </Button>
      <UserState state={user.state} />
      {isAsked && (
        <Dialog
          title={`Remove ${name}?`}
          action="Remove member"
          isBusy={isBusy}
          onClose={() => setAsked(false)}
          onAction={() => void remove()}
        >
          All its keys are revoked within a second, and its name and email are erased. This cannot be undone. To keep a
          member out for a while, suspend it.
        </Dialog>
      )}
    </div>
  );
}
