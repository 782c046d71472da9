import { useState } from 'preact/hooks';
import type { Scope } from '../../../core/caller.ts';
import { Checks, Field, Select } from '../../design/field.tsx';
import { param } from '../../shell/router.ts';
import { reachOfViewer, session } from '../../shell/session.ts';
import { type KeyAnswer, type KeyForm, keyBody, keyDraft, NEW_KEY, newKeyBody } from './drafts.ts';
import { ChangeForm, DraftForm, type ErrorAt } from './form.tsx';
import { TERMS_KNOWN, TermsFields } from './terms-fields.tsx';
import { userName, useTeams, useUsers } from './words.ts';

const SCOPES: Readonly<Record<Scope, string>> = {
  chat: 'chat: send requests to models',
  embed: 'embed: make embeddings',
  route: 'route: ask which model it would be',
  delegate: 'delegate: make keys below its own',
  admin: 'admin: everything under /admin',
  report: 'report: read figures of all keys',
};
const KNOWN = [...TERMS_KNOWN, 'name', 'team', 'user', 'scopes', 'labels', 'expires_at', 'expires_in_seconds'];

/** The scopes that the viewer may give. */
function scopesOfViewer(): readonly Scope[] {
  const role = session.value.state === 'in' ? session.value.viewer.role : '';
  const all = Object.keys(SCOPES) as Scope[];
  if (role === 'owner') return all;
  return all.filter((scope) => scope !== 'admin' && (role === 'admin' || scope !== 'report'));
}

interface FieldsProps {
  readonly draft: KeyForm;
  set(part: Partial<KeyForm>): void;
  readonly errorAt: ErrorAt;
  readonly isNew: boolean;
}

/** As many fields as the role may set: labels decide by the policy, so operators alone choose them. */
function KeyFields({ draft, set, errorAt, isNew }: FieldsProps) {
  const reach = reachOfViewer('keys.change');
  const hasTerms = isNew || reach !== 'own';
  const scopes = [...new Set([...scopesOfViewer(), ...draft.scopes])];
  return (
    <>
      <Field
        label="Name"
        value={draft.name}
        placeholder="billing-app"
        onValue={(name) => set({ name })}
        error={errorAt('name')}
      />
      {(reach === 'all' || (isNew && reach === 'team')) && <OwnerFields draft={draft} set={set} errorAt={errorAt} />}
      {hasTerms && (
        <>
          <Checks
            label="Scopes"
            values={draft.scopes}
            options={scopes.map((value) => ({ value, label: SCOPES[value] }))}
            onValues={(chosen) => set({ scopes: chosen })}
            error={errorAt('scopes')}
          />
          <Field
            label="Expires after"
            type="date"
            value={draft.expires}
            onValue={(expires) => set({ expires })}
            hint="At the end of this day, in your time zone. Empty: never."
            error={errorAt('expires_at') ?? errorAt('expires_in_seconds')}
          />
        </>
      )}
      {reach === 'all' && (
        <Field
          label="Labels"
          rows={2}
          value={draft.labels}
          placeholder="app=billing"
          onValue={(labels) => set({ labels })}
          hint="name=value, one a line. Rules and budgets of the policy go by them."
          error={errorAt('labels')}
        />
      )}
      {hasTerms && (
        <TermsFields
          draft={draft}
          set={set}
          errorAt={errorAt}
          none="the key may use every model that its team and member may use"
        />
      )}
    </>
  );
}

/** The team and the person that a key belongs to. */
function OwnerFields({ draft, set, errorAt }: Omit<FieldsProps, 'isNew'>) {
  const teams = useTeams().data?.data ?? [];
  const users = useUsers().data?.data ?? [];
  const ofTeam = draft.team === '' ? users : users.filter(({ team }) => team === draft.team);
  return (
    <div class="columns">
      {reachOfViewer('keys.change') === 'all' && (
        <Select
          label="Team"
          value={draft.team}
          options={withKept(
            teams.map(({ id, name }) => ({ value: id, label: name })),
            draft.team,
            'No team',
          )}
          onValue={(team) => set({ team, user: '' })}
          error={errorAt('team')}
        />
      )}
      <Select
        label="Member"
        value={draft.user}
        options={withKept(
          ofTeam.map((user) => ({ value: user.id, label: userName(user) })),
          draft.user,
          'Nobody',
        )}
        onValue={(user) => set({ user, team: users.find(({ id }) => id === user)?.team ?? draft.team })}
        error={errorAt('user')}
      />
    </div>
  );
}

type Option = { readonly value: string; readonly label: string };

/** Options with the one of none, and the present one where the list does not have it. */
const withKept = (options: readonly Option[], kept: string, none: string): readonly Option[] => [
  { value: '', label: none },
  ...(kept === '' || options.some(({ value }) => value === kept) ? [] : [{ value: kept, label: kept }]),
  ...options,
];

/** A key with the secret that only this answer has. */
export type NewKey = KeyAnswer & { readonly key: string };

export function MakeKey({ onDone, onClose }: { onDone(made: NewKey): void; onClose(): void }) {
  const [first] = useState({ ...NEW_KEY, user: param('user'), team: param('team') });
  return (
    <DraftForm<KeyForm, NewKey>
      first={first}
      bodyOf={(draft) => newKeyBody(draft, Date.now())}
      method="POST"
      path="/admin/keys"
      action="Make key"
      known={KNOWN}
      onDone={(made) => made && onDone(made)}
      onClose={onClose}
    >
      {(draft, set, errorAt) => <KeyFields draft={draft} set={set} errorAt={errorAt} isNew />}
    </DraftForm>
  );
}

export const ChangeKey = ({ id, onDone, onClose }: { readonly id: string; onDone(): void; onClose(): void }) => (
  <ChangeForm
    what="This key"
    path={`/admin/keys/${id}`}
    draftOf={keyDraft}
    bodyOf={keyBody}
    known={KNOWN}
    onDone={onDone}
    onClose={onClose}
  >
    {(draft: KeyForm, set: (part: Partial<KeyForm>) => void, errorAt) => (
      <KeyFields draft={draft} set={set} errorAt={errorAt} isNew={false} />
    )}
  </ChangeForm>
);
