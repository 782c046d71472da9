import { useState } from 'preact/hooks';
import { useResource } from '../../api/resource.ts';
import { Button, ButtonLink } from '../../design/button.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { Field } from '../../design/field.tsx';
import { Panel } from '../../design/panel.tsx';
import { Loaded } from '../../design/states.tsx';
import { When } from '../../design/written.tsx';
import { go, hrefOf, hrefWith, param } from '../../shell/router.ts';
import { reachOfViewer } from '../../shell/session.ts';
import { deed } from './deeds.ts';
import { NEW_TEAM, type TeamAnswer, type TeamForm, type TeamMoney, teamBody, teamDraft } from './drafts.ts';
import { ChangeForm, DraftForm, type ErrorAt } from './form.tsx';
import { Budgets } from './headroom.tsx';
import { Fact } from './key-facts.tsx';
import { RecentTrail } from './recent-trail.tsx';
import { TERMS_KNOWN, TermsFields } from './terms-fields.tsx';
import { budgetText, keyName, limitsText, modelsText, ORIGINS, ROLE_WORDS, userName } from './words.ts';

interface TeamPanelProps {
  readonly id: string;
  readonly closeHref: string;
  onMade(id: string): void;
  onChange(): void;
}

const KNOWN = [...TERMS_KNOWN, 'name', ...TERMS_KNOWN.map((name) => `member_defaults.${name}`)];

interface TeamFieldsProps {
  readonly draft: TeamForm;
  set(part: Partial<TeamForm>): void;
  readonly errorAt: ErrorAt;
}

const TeamFields = ({ draft, set, errorAt }: TeamFieldsProps) => (
  <>
    <Field label="Name" value={draft.name} onValue={(name) => set({ name })} error={errorAt('name')} />
    <h3>The team as a whole</h3>
    <TermsFields draft={draft} set={set} errorAt={errorAt} none="all that the organization may use" />
    <h3>Each member that states none of its own</h3>
    <TermsFields
      draft={draft.defaults}
      set={(part) => set({ defaults: { ...draft.defaults, ...part } })}
      errorAt={(path) => errorAt(`member_defaults.${path}`)}
      none="all that the team may use"
    />
  </>
);

/** A team beside the list. */
export function TeamPanel({ id, closeHref, onMade, onChange }: TeamPanelProps) {
  const isNew = id === 'new';
  const team = useResource(`/admin/teams/${id}`, {}, { every: 10_000, isWanted: !isNew });
  const view = hrefWith({ edit: null });
  if (isNew) {
    return (
      <Panel title="Make a team" closeHref={closeHref}>
        <DraftForm<TeamForm, TeamAnswer>
          first={NEW_TEAM}
          bodyOf={(draft) => teamBody(draft, NEW_TEAM)}
          method="POST"
          path="/admin/teams"
          action="Make team"
          known={KNOWN}
          onDone={(made) => made && onMade(made.id)}
          onClose={() => go(closeHref)}
        >
          {(draft, set, errorAt) => <TeamFields draft={draft} set={set} errorAt={errorAt} />}
        </DraftForm>
      </Panel>
    );
  }
  return (
    <Panel title={team.data?.name ?? 'Team'} closeHref={closeHref}>
      {param('edit') === '' ? (
        <Loaded what="This team" of={team}>
          {(found) => <TeamDetail of={found} onChange={onChange} onRemoved={() => go(closeHref)} />}
        </Loaded>
      ) : (
        <ChangeForm
          what="This team"
          path={`/admin/teams/${id}`}
          draftOf={teamDraft}
          bodyOf={teamBody}
          known={KNOWN}
          onClose={() => go(view)}
          onDone={() => {
            onChange();
            go(view);
          }}
        >
          {(draft: TeamForm, set: (part: Partial<TeamForm>) => void, errorAt) => (
            <TeamFields draft={draft} set={set} errorAt={errorAt} />
          )}
        </ChangeForm>
      )}
    </Panel>
  );
}

interface TeamDetailProps {
  readonly of: TeamMoney;
  onChange(): void;
  onRemoved(): void;
}

const TeamDetail = ({ of: team, onChange, onRemoved }: TeamDetailProps) => (
  <div class="stack">
    <TeamDeeds of={team} onChange={onChange} onRemoved={onRemoved} />
    <dl class="facts">
      <Fact name="Origin">{ORIGINS[team.origin]}</Fact>
      <Fact name="Models">{modelsText(team.models) ?? <span class="dim">All</span>}</Fact>
      <Fact name="Rate limits">{limitsText(team.limits) ?? <span class="dim">None of its own</span>}</Fact>
      <Fact name="Each member">
        {defaultsText(team.member_defaults) ?? <span class="dim">No terms of its own</span>}
      </Fact>
      <Fact name="Made">
        <When at={team.created_at} />
      </Fact>
    </dl>
    <section class="stack-tight">
      <h3>Budgets of the team</h3>
      <Budgets of={team.budgets} holder={team.id} none="None: the team as a whole is not limited here." />
    </section>
    <TeamMembers of={team} />
    <TeamKeys of={team} />
    <RecentTrail subject={team.id} />
  </div>
);

function defaultsText({ models, limits, budgets }: TeamAnswer['member_defaults']): string | null {
  const parts = [modelsText(models), limitsText(limits), ...budgets.map(budgetText)].filter((part) => part !== null);
  return parts.length === 0 ? null : parts.join('; ');
}

const SHOWN = 8;

function TeamMembers({ of: { id, users } }: { readonly of: TeamAnswer }) {
  const members = useResource('/admin/users', { team: id, limit: SHOWN });
  return (
    <section class="stack-tight">
      <div class="row row-apart">
        <h3>{users === 1 ? '1 member' : `${users} members`}</h3>
        {users > SHOWN && <a href={hrefOf('/people/members', { team: id })}>All members</a>}
      </div>
      <Loaded what="Members" of={members}>
        {({ data }) => (
          <ul class="people-list">
            {data.map((user) => (
              <li key={user.id} class="row row-apart">
                <a href={hrefOf(`/people/members/${user.id}`)}>{userName(user)}</a>
                <span class="dim">{ROLE_WORDS[user.role]}</span>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </section>
  );
}

function TeamKeys({ of: { id } }: { readonly of: TeamAnswer }) {
  const keys = useResource('/admin/keys', { team: id, state: 'valid', limit: SHOWN });
  return (
    <section class="stack-tight">
      <div class="row row-apart">
        <h3>Valid keys</h3>
        <a href={hrefOf('/people/keys', { team: id })}>All keys</a>
      </div>
      <Loaded what="Keys" of={keys}>
        {({ data }) =>
          data.length === 0 ? (
            <p class="dim">None.</p>
          ) : (
            <ul class="people-list">
              {data.map((key) => (
                <li key={key.id}>
                  <a href={hrefOf(`/people/keys/${key.id}`)}>{keyName(key)}</a>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </section>
  );
}

/** The line of the policy that declares a team. The view of the policy names files within its folder. */
const policyHref = (place: TeamMoney['declared_at']): string =>
  place
    ? hrefOf(`/policies/files/${encodeURIComponent(place.file.split('/').at(-1) ?? '')}`, { line: String(place.line) })
    : hrefOf('/policies');

/** A team of the policy is changed there; one that the policy has left can be taken over. */
function TeamDeeds({ of: { id, name, origin, declared_at }, onChange, onRemoved }: TeamDetailProps) {
  const [isAsked, setAsked] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const mayChange = reachOfViewer('teams.change') !== null;
  if (origin === 'policy') {
    return (
      <div class="stack-tight">
        <p>
          {declared_at ? `Declared in ${declared_at.file}, line ${declared_at.line}. ` : ''}
          {mayChange ? 'Change it there: the policy decides its terms.' : 'The policy decides its terms.'}
        </p>
        {reachOfViewer('policy.read') !== null && (
          <div>
            <ButtonLink href={policyHref(declared_at)}>Open the policy</ButtonLink>
          </div>
        )}
      </div>
    );
  }
  if (!mayChange) return null;
  const remove = async () => {
    setBusy(true);
    const gone = await deed(`/admin/teams/${id}`, `Team ${name} is removed.`, { method: 'DELETE' });
    setBusy(false);
    setAsked(false);
    if (!gone) return;
    onChange();
    onRemoved();
  };
  return (
    <div class="row">
      <ButtonLink href={hrefWith({ edit: 'yes' })}>Change</ButtonLink>
      <Button kind="danger" onClick={() => setAsked(true)}>
        Remove
      </Button>
      {isAsked && (
        <Dialog
          title={`Remove team ${name}?`}
          action="Remove team"
          isBusy={isBusy}
          onClose={() => setAsked(false)}
          onAction={() => void remove()}
        >
          Only a team without members and valid keys can be removed. Its usage of before keeps its ID.
        </Dialog>
      )}
    </div>
  );
}
