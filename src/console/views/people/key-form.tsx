import type { Scope } from '../../../core/caller.ts';
import { Checks } from '../../design/field.tsx';
import { type Option, optionsOf } from '../../kit/draft.ts';
import type { FormField, FormPart, InputProps } from '../../kit/field.ts';
import { reachOfViewer, session } from '../../shell/session.ts';
import { LABELS, LAST_DAY, LIFETIME, SCOPES } from './coders.ts';
import { termsParts } from './terms.tsx';
import { type TeamAnswer, teamOptions, type UserAnswer, userOptions } from './words.ts';

const SCOPE_WORDS: Readonly<Record<Scope, string>> = {
  chat: 'chat: send requests to models',
  embed: 'embed: make embeddings',
  route: 'route: ask which model it would be',
  delegate: 'delegate: make keys below its own',
  admin: 'admin: everything under /admin',
  report: 'report: read figures of all keys',
};

/** A choice of scopes: those that the viewer may give, and those that the key has. */
function ScopesInput({ field, value, set, errorAt }: InputProps<readonly string[]>) {
  const role = session.value.state === 'in' ? session.value.viewer.role : '';
  const offered = optionsOf(SCOPE_WORDS).filter(
    ({ value: scope }) =>
      role === 'owner' || value.includes(scope) || (scope !== 'admin' && (role === 'admin' || scope !== 'report')),
  );
  return <Checks label={field.label} values={value} options={offered} onValues={set} error={errorAt()} />;
}

/** The form of a key, with as many fields as the role may set: labels decide in the policy, so operators alone choose them. */
export function keyParts(
  isNew: boolean,
  teams: readonly TeamAnswer[],
  users: readonly UserAnswer[],
): readonly FormPart[] {
  const reach = reachOfViewer('keys.change');
  const hasTerms = isNew || reach !== 'own';
  const team: FormField = {
    ...{ of: 'team', label: 'Team', sets: () => ({ user: '' }) },
    options: (draft) => withKept(teamOptions(teams), draft.team, 'No team'),
  };
  const user: FormField = {
    ...{ of: 'user', label: 'Member' },
    options: (draft) =>
      withKept(userOptions(users.filter((one) => !draft.team || one.team === draft.team)), draft.user, 'Nobody'),
    sets(id) {
      const found = users.find((one) => one.id === id)?.team;
      return found ? { team: found } : {};
    },
  };
  const expires = {
    ...{ label: 'Expires after', type: 'date' as const },
    hint: 'At the end of this day, in your time zone. Empty: never.',
  };
  return [
    { of: 'name', label: 'Name', placeholder: 'billing-app' },
    ...(isNew || reach === 'all'
      ? [
          [
            { ...team, isHidden: reach !== 'all' },
            { ...user, isHidden: reach === 'own' },
          ],
        ]
      : []),
    ...(hasTerms
      ? [
          { of: 'scopes', label: 'Scopes', kind: { ...SCOPES, Input: ScopesInput }, usual: ['chat', 'route'] },
          isNew
            ? { of: 'expires_in_seconds', kind: LIFETIME, ...expires }
            : { of: 'expires_at', kind: LAST_DAY, ...expires },
        ]
      : []),
    ...(reach === 'all'
      ? [
          {
            ...{ of: 'labels', label: 'Labels', kind: LABELS, rows: 2, placeholder: 'app=billing' },
            hint: 'name=value, one a line. Rules and budgets of the policy go by them.',
          },
        ]
      : []),
    ...(hasTerms ? termsParts('the key may use every model that its team and member may use') : []),
  ];
}

/** Options with the one of none, and the present one where the list does not have it. */
const withKept = (options: readonly Option[], kept: unknown, none: string): readonly Option[] => [
  { value: '', label: none },
  ...(typeof kept !== 'string' || kept === '' || options.some(({ value }) => value === kept)
    ? []
    : [{ value: kept, label: kept }]),
  ...options,
];
