import { budgetTermsText } from '../../../core/money/budget-words.ts';
import { ButtonLink } from '../../design/button.tsx';
import { Tag } from '../../design/tag.tsx';
import { Actions } from '../../kit/actions.tsx';
import { Detail } from '../../kit/detail.tsx';
import { optionsOf } from '../../kit/draft.ts';
import type { FormPart } from '../../kit/field.ts';
import { below, Listing, type Place } from '../../kit/listing.tsx';
import { Related } from '../../kit/related.tsx';
import { Facts } from '../../kit/show.tsx';
import { hrefOf, hrefWith } from '../../shell/router.ts';
import { reachOfViewer } from '../../shell/session.ts';
import { Budgets, fullestFundColumn, useFunds } from './headroom.tsx';
import { RecentTrail } from './recent-trail.tsx';
import { termsParts } from './terms.tsx';
import {
  keyName,
  limitsText,
  modelsText,
  ORIGINS,
  ROLE_WORDS,
  type TeamAnswer,
  type TeamMoney,
  userName,
} from './words.ts';

/** The list of teams, each with its fullest budget. */
export function TeamsTab({ id }: { readonly id: string | null }) {
  const fundsOf = useFunds();
  return (
    <Listing
      path="/admin/teams"
      what="Teams"
      noun="team"
      every={null}
      filters={[{ of: 'origin', label: 'Origin', any: 'Any origin', options: optionsOf(ORIGINS) }]}
      mayMake={reachOfViewer('teams.change') !== null}
      columns={[
        { head: 'Team', name: ({ name }) => name },
        { of: 'origin', cell: ({ origin }) => <Tag>{ORIGINS[origin]}</Tag>, phone: 'fact' },
        { head: 'Members', count: ({ users }) => users },
        { head: 'Models', cell: ({ models }) => (models === null ? <span class="dim">All</span> : models.length) },
        fullestFundColumn<TeamAnswer>(({ id, budgets }) => ({ budgets, funds: fundsOf(id) })),
        { head: 'Created', of: 'created_at' },
      ]}
      empty={[
        'No team yet',
        <>
          Create a team here, or declare it under <code>teams</code> in the policy. A team has members, models, limits
          and budgets.
        </>,
      ]}
      at={below('/people/teams')}
      id={id}
      panel={(place) => <TeamPanel key={place.id} place={place} />}
    />
  );
}

const PARTS: readonly FormPart[] = [
  { of: 'name', label: 'Name' },
  'The team as a whole',
  ...termsParts('the team may use every model that the organization may use'),
  'Each member without terms of their own',
  ...termsParts('a member may use every model that the team may use', 'member_defaults.'),
];

const SHOWN = 8;

const TeamPanel = ({ place }: { readonly place: Place<TeamAnswer> }) => (
  <Detail
    place={place}
    noun="team"
    path={`/admin/teams/${place.id}`}
    title={({ name }) => name}
    form={{ path: '/admin/teams', parts: () => PARTS }}
  >
    {(team) => (
      <>
        <TeamActions of={team} onRemoved={place.removed} />
        <Facts
          of={team}
          facts={[
            ['Origin', ({ origin }) => ORIGINS[origin]],
            ['Models', ({ models }) => modelsText(models), 'All'],
            ['Rate limits', ({ limits }) => limitsText(limits), 'None for the team'],
            ['Each member', defaultsText, 'No default terms'],
            ['Created', 'created_at'],
          ]}
        />
        <section class="stack-tight">
          <h3>Budgets of the team</h3>
          <Budgets of={team.budgets} holder={team.id} none="The team as a whole has no budget." />
        </section>
        <Related
          heading={team.users === 1 ? '1 member' : `${team.users} members`}
          path="/admin/users"
          query={{ team: team.id, limit: SHOWN }}
          link={team.users > SHOWN && <a href={hrefOf('/people/members', { team: team.id })}>All members</a>}
          none="None."
          row={(user) => (
            <>
              <a href={hrefOf(`/people/members/${user.id}`)}>{userName(user)}</a>
              <span class="dim">{ROLE_WORDS[user.role]}</span>
            </>
          )}
        />
        <Related
          heading="Valid keys"
          path="/admin/keys"
          query={{ team: team.id, state: 'valid', limit: SHOWN }}
          link={<a href={hrefOf('/people/keys', { team: team.id })}>All keys</a>}
          none="None."
          row={(key) => <a href={hrefOf(`/people/keys/${key.id}`)}>{keyName(key)}</a>}
        />
        <RecentTrail subject={team.id} />
      </>
    )}
  </Detail>
);

function defaultsText({ member_defaults: { models, limits, budgets } }: TeamAnswer): string | null {
  const parts = [modelsText(models), limitsText(limits), ...budgets.map(budgetTermsText)].filter(
    (part) => part !== null,
  );
  return parts.length === 0 ? null : parts.join('; ');
}

/** Links to the line of the policy that declares a team. The Policies view names files relative to the policy folder. */
const policyHref = (place: TeamMoney['declared_at']): string =>
  place
    ? hrefOf(`/policies/files/${encodeURIComponent(place.file.split('/').at(-1) ?? '')}`, { line: String(place.line) })
    : hrefOf('/policies');

/** A team that the policy declares can only be changed in the policy. A team that the policy no longer declares can be taken over. */
function TeamActions({ of, onRemoved }: { readonly of: TeamMoney; onRemoved(): void }) {
  const { id, name, origin, declared_at } = of;
  const path = `/admin/teams/${id}`;
  const mayChange = reachOfViewer('teams.change') !== null;
  if (origin === 'policy') {
    return (
      <div class="stack-tight">
        <p>
          {declared_at ? `The policy declares this team in ${declared_at.file}, line ${declared_at.line}. ` : ''}
          {mayChange
            ? 'The policy declares this team. To change the team, edit the policy.'
            : 'The policy declares this team. Only an edit of the policy can change the team.'}
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
  return (
    <>
      {origin === 'former' && (
        <p>
          The policy no longer declares this team. Its limits and budgets apply until it is declared again, taken over
          or removed.
        </p>
      )}
      <Actions
        of={[
          {
            label: 'Take over',
            kind: 'first',
            isHidden: origin !== 'former',
            path,
            method: 'PATCH',
            body: { origin: 'api' },
            done: `From now on, team ${name} is changed here and not in the policy.`,
          },
          { label: 'Change', isHidden: origin === 'former', href: hrefWith({ edit: 'yes' }) },
          {
            label: 'Remove',
            kind: 'danger',
            path,
            method: 'DELETE',
            done: `Team ${name} is removed.`,
            question: [
              `Remove team ${name}?`,
              'You can remove a team only if it has no members and no valid keys. Its past usage stays under its ID.',
              'Remove team',
            ],
            onDone: onRemoved,
          },
        ]}
      />
    </>
  );
}
