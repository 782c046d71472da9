import { byOperation, OPERATIONS } from '../../../core/kinds/operations.ts';
import type { Scope } from '../../../core/people/caller.ts';
import { Checks } from '../../design/field.tsx';
import { type Option, optionsOf } from '../../kit/draft.ts';
import type { FormField, FormPart, InputProps } from '../../kit/field.ts';
import { param } from '../../shell/router.ts';
import { reachOfViewer, session } from '../../shell/session.ts';
import { LABELS, LAST_DAY, LIFETIME, SCOPES } from './coders.ts';
import { DENIED_MODELS, termsParts } from './terms.tsx';
import { type TeamAnswer, teamOptions, type UserAnswer, userOptions } from './words.ts';

const SCOPE_WORDS: Readonly<Record<Scope, string>> = {
  ...byOperation((operation) => `${operation}: ${OPERATIONS[operation].permits}`),
  route: 'route: find out which model would answer',
  delegate: 'delegate: create child keys',
  admin: 'admin: everything under /admin',
  report: 'report: read usage figures of all keys',
};

/** A choice of scopes: the scopes that the viewer may give, and the scopes that the key already has. */
function ScopesInput({ field, value, set, errorAt }: InputProps<readonly string[]>) {
  const role = session.value.state === 'in' ? session.value.viewer.role : '';
  const offered = optionsOf(SCOPE_WORDS).filter(
    ({ value: scope }) =>
      role === 'owner' || value.includes(scope) || (scope !== 'admin' && (role === 'admin' || scope !== 'report')),
  );
  return <Checks label={field.label} values={value} options={offered} onValues={set} error={errorAt()} />;
}

/**
 * The fields of a key that the viewer's role may set. A new key needs a name and usually a budget; its other fields are folded. Only
 * operators may set labels, because policy rules use them.
 */
export function keyParts(
  isNew: boolean,
  teams: readonly TeamAnswer[],
  users: readonly UserAnswer[],
): readonly FormPart[] {
  const reach = reachOfViewer('keys.change');
  const hasTerms = isNew || reach !== 'own';
  const team: FormField = {
    of: 'team',
    label: 'Team',
    sets: () => ({ user: '' }),
    options: (draft) => withKept(teamOptions(teams), draft.team, 'No team'),
  };
  const user: FormField = {
    of: 'user',
    label: 'Member',
    options: (draft) =>
      withKept(userOptions(users.filter((one) => !draft.team || one.team === draft.team)), draft.user, 'Nobody'),
    sets(id) {
      const found = users.find((one) => one.id === id)?.team;
      return found ? { team: found } : {};
    },
  };
  const expires = {
    label: 'Expires after',
    type: 'date' as const,
    hint: 'The key expires at the end of this day in your time zone. Leave it empty for a key that never expires.',
  };
  const name: FormField = { of: 'name', label: 'Name', placeholder: 'billing-app' };
  const terms = termsParts('the key may use every model that its team and member may use');
  const isBudgets = (part: FormPart) => typeof part === 'object' && 'of' in part && part.of === 'budgets';
  const rest: readonly FormPart[] = [
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
            of: 'labels',
            label: 'Labels',
            kind: LABELS,
            rows: 2,
            placeholder: 'app=billing',
            hint: 'Write name=value, one on each line. Rules and budgets of the policy can use labels.',
          },
        ]
      : []),
    ...(hasTerms ? [...terms.filter((part) => !(isNew && isBudgets(part))), DENIED_MODELS] : []),
  ];
  if (!isNew) return [name, ...rest];
  const more = `More: ${reach === 'own' ? '' : 'team, member, '}scopes, expiry, models, rate limits`;
  const isOpen = param('team') !== '' || param('user') !== '';
  return [name, ...terms.filter(isBudgets), { more, isOpen, parts: rest }];
}

/** Adds an option for "none", and the current value if the list does not contain it. */
const withKept = (options: readonly Option[], kept: unknown, none: string): readonly Option[] => [
  { value: '', label: none },
  ...(typeof kept !== 'string' || kept === '' || options.some(({ value }) => value === kept)
    ? []
    : [{ value: kept, label: kept }]),
  ...options,
];
