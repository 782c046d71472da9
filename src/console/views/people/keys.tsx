import { useEffect, useState } from 'preact/hooks';
import { Copy } from '../../design/copy.tsx';
import { Actions, type Change } from '../../kit/actions.tsx';
import { Detail } from '../../kit/detail.tsx';
import { optionsOf } from '../../kit/draft.ts';
import { below, Listing, type Place } from '../../kit/listing.tsx';
import { type Fact, Facts } from '../../kit/show.tsx';
import { hrefOf, hrefWith, param } from '../../shell/router.ts';
import { reachOfViewer } from '../../shell/session.ts';
import { GrantForm } from './grant.tsx';
import { Budgets, fullestFundColumn, useFunds } from './headroom.tsx';
import { keyParts } from './key-form.tsx';
import { spendColumn, useKeySpend } from './key-spend.tsx';
import { KeyTree } from './key-tree.tsx';
import { KeyUsage } from './key-usage.tsx';
import { KeyState, KeyTitle, ownerText } from './marks.tsx';
import { RecentTrail } from './recent-trail.tsx';
import {
  KEY_STATE_WORDS,
  type KeyAnswer,
  type KeyMoney,
  keyName,
  limitsText,
  modelsText,
  namesIn,
  teamOptions,
  userOptions,
  useTeams,
  useUsers,
} from './words.ts';

/** The list of keys, with filters and the actions that create, change and end keys. */
export function KeysTab({ id }: { readonly id: string | null }) {
  const teams = useTeams().data;
  const users = useUsers(param('team') || null).data;
  const nameOf = { team: namesIn(teams), user: namesIn(useUsers().data) };
  const isWide = reachOfViewer('keys.read') !== 'own';
  const [fundsOf, spendOf] = [useFunds(), useKeySpend()];
  return (
    <Listing
      path="/admin/keys"
      what="Keys"
      noun="key"
      filters={[
        { of: 'search', param: 'q', label: 'Name or ID' },
        { of: 'state', label: 'State', any: 'Any state', options: optionsOf(KEY_STATE_WORDS) },
        ...(isWide
          ? [
              {
                of: 'team',
                label: 'Team',
                any: 'Any team',
                clears: ['user'],
                options: teamOptions(teams?.data ?? []),
              },
              { of: 'user', label: 'Member', any: 'Any member', options: userOptions(users?.data ?? []) },
              { of: 'label', label: 'Label', any: 'Label name=value' },
            ]
          : []),
      ]}
      mayMake={reachOfViewer('keys.change') !== null}
      columns={[
        { head: 'Key', cell: (key) => <KeyTitle of={key} />, sort: keyName },
        { of: 'state', cell: ({ state }) => <KeyState state={state} />, phone: 'more' },
        {
          head: 'Belongs to',
          cell: (key) => ownerText(key, nameOf.team, nameOf.user) || <span class="dim">No owner</span>,
        },
        { of: 'last_used_at', none: 'Never', phone: 'more' },
        spendColumn(spendOf),
        { ...fullestFundColumn<KeyAnswer>(({ id, budgets }) => ({ budgets, funds: fundsOf(id) })), phone: 'more' },
        { of: 'expires_at', none: 'Never' },
      ]}
      empty={['No key yet', 'An application needs a key to send requests. Create the first key.']}
      at={below('/people/keys')}
      id={id}
      panel={(place) => <KeyPanel place={place} />}
    />
  );
}

/** A key with its secret, which only the response to the creation or rotation of the key contains. */
type NewKey = KeyAnswer & { readonly key: string };

/** Shows a key: its properties, its usage, and its actions. */
function KeyPanel({ place }: { readonly place: Place<KeyAnswer> }) {
  const { id } = place;
  // Only this state of the panel contains the secret of the new key, until the panel closes.
  const [secret, setSecret] = useState<NewKey | null>(null);
  useEffect(() => {
    if (secret?.id !== id) setSecret(null);
  }, [id]);
  const [teams, users] = [useTeams().data, useUsers().data];
  // The response to a creation or rotation is the key with its secret.
  const made = (answer: unknown) => setSecret(answer as NewKey);
  return (
    <Detail
      key={id}
      place={place}
      noun="key"
      path={`/admin/keys/${id}`}
      title={keyName}
      form={{
        path: '/admin/keys',
        parts: (isNew) => keyParts(isNew, teams?.data ?? [], users?.data ?? []),
        stated: { user: param('user'), team: param('team') },
        onMade: made,
      }}
    >
      {(key) => (
        <>
          {secret?.id === id && (
            <div class="notice people-secret" role="status">
              <p>
                <strong>Copy the secret now.</strong> Signalbox shows it only once and stores only its hash.
              </p>
              <Copy text={secret.key} label="the secret" />
            </div>
          )}
          <Actions of={keyActions(key, made)} />
          <Facts of={key} facts={keyFacts(namesIn(teams), namesIn(users))} />
          <section class="stack-tight">
            <h3>Budgets</h3>
            <Budgets
              of={key.budgets}
              holder={id}
              balance={key.balance}
              none="The key has no budget of its own. Budgets of the policy, its team and its member apply."
            />
            {reachOfViewer('keys.grant') !== null && key.state !== 'revoked' && (
              <GrantForm
                path={`/admin/keys/${id}/grant`}
                hint={key.balance ? 'A negative amount removes Credits.' : 'The first grant makes the key prepaid.'}
                question={
                  key.balance
                    ? undefined
                    : [
                        `Make ${keyName(key)} prepaid?`,
                        'The key then works only while its balance lasts, in addition to its budgets. You cannot undo this. To limit what the key spends each month, give it a budget instead.',
                        'Make key prepaid',
                      ]
                }
              />
            )}
          </section>
          <KeyUsage id={id} />
          <KeyTree of={key} />
          <RecentTrail subject={id} />
        </>
      )}
    </Detail>
  );
}

const keyFacts = (
  teamName: (id: string | null) => string,
  userName: (id: string | null) => string,
): readonly Fact<KeyMoney>[] => [
  ['State', ({ state }) => <KeyState state={state} />],
  'id',
  [
    'Belongs to',
    ({ user, team, wallet }) =>
      (user ?? team ?? wallet) && (
        <>
          {user && <a href={hrefOf(`/people/members/${user}`)}>{userName(user)}</a>}
          {user && team && ' in '}
          {team && <a href={hrefOf(`/people/teams/${team}`)}>{teamName(team)}</a>}
          {wallet && <span class="mono">{wallet}</span>}
        </>
      ),
    'Nobody',
  ],
  ['Created by', ({ parent }) => parent && <a href={hrefOf(`/people/keys/${parent}`)}>Key {parent}</a>],
  'scopes',
  ['Models', ({ models }) => modelsText(models), 'All models that the policy, its team and its member allow'],
  ['Denied models', ({ not_models }) => modelsText(not_models), 'None'],
  ['Rate limits', ({ limits }) => limitsText(limits), 'Limits of the policy, its team and its member'],
  'labels',
  ['Agent wallets', 'wallets'],
  ['Created', 'created_at'],
  ['Last used', 'last_used_at', 'Never'],
  ['Expires', 'expires_at', 'Never'],
  'rotated_at',
  ['Old secret works until', 'overlap_ends_at'],
  'suspended_at',
  'revoked_at',
];

const OVERLAPS = [
  { value: '86400', label: 'for a day' },
  { value: '3600', label: 'for an hour' },
  { value: '604800', label: 'for a week' },
  { value: '0', label: 'not at all' },
];

/** @param onRotated receives the key with its new secret */
function keyActions(key: KeyAnswer, onRotated: (answer: unknown) => void) {
  const name = keyName(key);
  const path = `/admin/keys/${key.id}`;
  const [isRevoked, isEnded] = [key.state === 'revoked', key.state === 'revoked' || key.state === 'expired'];
  const [suspended, resumed] = [
    `${name} is suspended. Signalbox answers its requests with status 403.`,
    `${name} works again.`,
  ];
  const state = { action: 'keys.suspend', slot: 'state', isHidden: isEnded } as const;
  const suspend: Change =
    key.state === 'suspended'
      ? { ...state, label: 'Resume', path: `${path}/resume`, done: resumed, undo: [`${path}/suspend`, suspended] }
      : { ...state, label: 'Suspend', path: `${path}/suspend`, done: suspended, undo: [`${path}/resume`, resumed] };
  const rotate: Change = {
    label: 'Rotate',
    action: 'keys.change',
    isHidden: isEnded,
    path: `${path}/rotate`,
    done: `${name} has a new secret.`,
    question: [`Rotate ${name}?`, 'The key gets a new secret, which is shown only once.', 'Rotate key'],
    input: {
      of: 'overlap_seconds',
      label: 'The old secret still works',
      usual: '86400',
      options: OVERLAPS,
      isNumber: true,
    },
    onDone: onRotated,
  };
  const revoke: Change = {
    label: 'Revoke',
    action: 'keys.change',
    kind: 'danger',
    isHidden: isRevoked,
    path: `${path}/revoke`,
    done: `${name} is revoked.`,
    question: [
      `Revoke ${name}?`,
      'Within a second, requests with this key and its child keys fail. You cannot undo this.',
      'Revoke key',
    ],
  };
  return [
    { label: 'Change', action: 'keys.change', isHidden: isRevoked, href: hrefWith({ edit: 'yes' }) } as const,
    rotate,
    suspend,
    {
      label: 'Its requests',
      action: 'decisions.list',
      kind: 'plain',
      href: hrefOf('/requests', { key: key.id }),
    } as const,
    revoke,
  ];
}
