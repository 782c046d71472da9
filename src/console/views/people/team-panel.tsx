import { useState } from 'preact/hooks';
import { useResource } from '../../api/resource.ts';
import { Button, ButtonLink } from '../../design/button.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { Field } from '../../design/field.tsx';
import { Loaded } from '../../design/states.tsx';
import { When } from '../../design/written.tsx';
import { go, hrefOf, hrefWith } from '../../shell/router.ts';
import { reachOfViewer } from '../../shell/session.ts';
import { deed } from './deeds.ts';
import { type DraftFieldsProps, DraftPanel, type PanelPlace } from './draft-panel.tsx';
import { NEW_TEAM, type TeamAnswer, type TeamForm, type TeamMoney, teamBody, teamDraft } from './drafts.ts';
import { Budgets } from './headroom.tsx';
import { Fact } from './key-facts.tsx';
import { RecentTrail } from './recent-trail.tsx';
import { TERMS_KNOWN, TermsFields } from './terms-fields.tsx';
import { budgetText, keyName, limitsText, modelsText, ORIGINS, ROLE_WORDS, userName } from './words.ts';

const KNOWN = [...TERMS_KNOWN, 'name', ...TERMS_KNOWN.map((name) => `member_defaults.${name}`)];

const TeamFields = ({ draft, set, errorAt }: DraftFieldsProps<TeamForm>) => (
  <>
    <Field label="Name" value={draft.name} onValue={(name) => set({ name })} error={errorAt('name')} />
    <h3>The team as a whole</h3>
    <TermsFields
      draft={draft}
      set={set}
      errorAt={errorAt}
      none="the team may use every model that the organization may use"
    />
    <h3>Each member that states none of its own</h3>
    <TermsFields
      draft={draft.defaults}
      set={(part) => set({ defaults: { ...draft.defaults, ...part } })}
      errorAt={(path) => errorAt(`member_defaults.${path}`)}
      none="a member may use every model that the team may use"
    />
  </>
);

/** A team beside the list. */
export const TeamPanel = (place: PanelPlace) => (
  <DraftPanel
    place={place}
    noun="team"
    what="This team"
    list="/admin/teams"
    path={`/admin/teams/${place.id}`}
    titleOf={({ name }) => name}
    none={NEW_TEAM}
    draftOf={teamDraft}
    bodyOf={teamBody}
    known={KNOWN}
    fields={(props) => <TeamFields {...props} />}
  >
    {(found) => <TeamDetail of={found} onChange={place.onChange} onRemoved={() => go(place.closeHref)} />}
  </DraftPanel>
);

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
  const takeOver = async () => {
    setBusy(true);
    const options = { method: 'PATCH', body: { origin: 'api' } } as const;
    await deed(`/admin/teams/${id}`, `Team ${name} is changed here from now on.`, options);
    setBusy(false);
    onChange();
  };
  return (
    <div class="row">
      {origin === 'former' ? (
        <>
          <p class="people-whole">
            The policy no longer declares this team. Its terms hold until it is declared again, taken over or removed.
          </p>
          <Button kind="first" disabled={isBusy} onClick={() => void takeOver()}>
            Take over
          </Button>
        </>
      ) : (
        <ButtonLink href={hrefWith({ edit: 'yes' })}>Change</ButtonLink>
      )}
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
          Only a team without members and valid keys can be removed. Its earlier usage keeps its ID.
        </Dialog>
      )}
    </div>
  );
}
