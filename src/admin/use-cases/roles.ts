import { SignalboxError } from '../../core/errors.ts';
import { type Caller, roleOf } from '../../core/people/caller.ts';
import type { Role } from '../../core/people/role.ts';

/** How far an action reaches: to everything, to what belongs to the caller's team, or to what belongs to the caller. */
export type Reach = 'all' | 'team' | 'own';

type Reaches = Readonly<Partial<Record<Role, Reach>>>;

const OPERATORS = { owner: 'all', admin: 'all' } as const satisfies Reaches;
const AUDITED = { ...OPERATORS, auditor: 'all' } as const satisfies Reaches;
const REPORTED = { ...AUDITED, report: 'all' } as const satisfies Reaches;
const MONEY = { ...REPORTED, finance: 'all' } as const satisfies Reaches;
const SENDERS = { owner: 'own', admin: 'own', lead: 'own', member: 'own' } as const satisfies Reaches;
const MEMBERS = { lead: 'team', member: 'own' } as const satisfies Reaches;
const PEOPLE_OWN = {
  owner: 'own',
  admin: 'own',
  finance: 'own',
  auditor: 'own',
  lead: 'own',
  member: 'own',
} as const satisfies Reaches;
const OWN = { ...PEOPLE_OWN, caller: 'own' } as const satisfies Reaches;

/**
 * All actions except requests to models, with the roles that may take each action and how far they reach. Each route names the action that
 * the route carries out.
 */
const ACTIONS = {
  'alerts.read': AUDITED,
  'alerts.test': OPERATORS,
  'models.read': { ...MONEY, lead: 'all', member: 'all', caller: 'all' },
  // `models.list` returns the same list as `GET /v1/models`, on a path that also accepts a login.
  'models.list': { ...MONEY, lead: 'all', member: 'all' },
  'usage.own': OWN,
  'usage.read': { ...MONEY, ...MEMBERS },
  'traffic.read': { ...MONEY, ...MEMBERS },
  'traffic.rebuild': OPERATORS,
  'ledger.read': MONEY,
  // Findings of an audit name keys and decisions, which a key with the scope `report` must not see.
  'ledger.audit': { ...AUDITED, finance: 'all' },
  'ledger.refund': OPERATORS,
  // A copy of the database contains everything in the store.
  'ledger.copy': { owner: 'all' },
  'decisions.list': { ...REPORTED, ...MEMBERS },
  'decisions.explain': { ...REPORTED, ...MEMBERS, caller: 'own' },
  // A key with the scope `report` may not repeat decisions, and this action repeats a decision.
  'decisions.repeat': { ...AUDITED, ...MEMBERS },
  // People may read the texts of their own requests if the policy allows it. A lead may see the figures of the team, but not the texts of
  // its members.
  'content.read': { ...OPERATORS, lead: 'own', member: 'own' },
  'feedback.give': { owner: 'own', admin: 'own', lead: 'own', member: 'own', caller: 'own' },
  // A person sends requests as one of their own keys. An application has a key of its own.
  'playground.send': SENDERS,
  // Each kind of event also needs the action for its list: decisions.list, alerts.read, policy.read, endpoints.read.
  'events.read': { ...REPORTED, ...MEMBERS },
  'policy.read': REPORTED,
  'policy.check': REPORTED,
  // Leads and members explain requests as one of their own keys, with the active policy.
  'policy.explain': { ...REPORTED, ...MEMBERS },
  'policy.reload': OPERATORS,
  // Only owners may make guarded edits, and only if the server was started with the option `--allow-policy-writes`.
  'policy.write': OPERATORS,
  'endpoints.read': REPORTED,
  'status.read': REPORTED,
  'database.change': { owner: 'all' },
  'learning.read': AUDITED,
  'learning.change': OPERATORS,
  'keys.read': { ...AUDITED, finance: 'all', ...MEMBERS },
  'keys.change': { ...OPERATORS, ...MEMBERS },
  'keys.grant': OPERATORS,
  // An imported key was not created here, so only an owner decides that it works.
  'keys.import': { owner: 'all' },
  'me.read': { ...PEOPLE_OWN, report: 'own' },
  'logins.read': { ...AUDITED, report: 'own', finance: 'own', lead: 'own', member: 'own' },
  'logins.end': { ...OPERATORS, auditor: 'own', report: 'own', finance: 'own', lead: 'own', member: 'own' },
  'people.read': { ...AUDITED, finance: 'all', ...MEMBERS },
  'people.change': { ...OPERATORS, lead: 'team' },
  'teams.change': OPERATORS,
  // Leads and members may not resume keys, because an operator may have suspended them.
  'keys.suspend': OPERATORS,
  // Only keys with the scope `delegate` may create child keys.
  'keys.delegate': { owner: 'own', caller: 'own' },
  'trail.read': AUDITED,
  // An administrator must not be able to erase their own name.
  'trail.erase': { owner: 'all' },
  'subjects.read': { ...AUDITED, finance: 'all' },
  'subjects.change': OPERATORS,
  'wallets.own': OWN,
  'wallets.pay': OWN,
  'wallets.read': { ...AUDITED, finance: 'all' },
  'wallets.change': OPERATORS,
  'payments.own': OWN,
  'payments.read': { ...AUDITED, finance: 'all' },
  'payments.change': OPERATORS,
} as const satisfies Record<string, Reaches>;
export type Action = keyof typeof ACTIONS;

const REACHES: Readonly<Record<Action, Reaches>> = ACTIONS;

export const ACTION_NAMES = Object.keys(ACTIONS) as Action[];
export const isAction = (name: string): name is Action => Object.hasOwn(ACTIONS, name);

/** Returns how far a role reaches with an action; null if the role does not include the action. */
export const reachOf = (role: Role, action: Action): Reach | null => REACHES[action][role] ?? null;

export const mayTake = (role: Role, action: Action): boolean => reachOf(role, action) !== null;

/**
 * Refuses an action that the caller's role does not include.
 * @returns how far the action reaches; the use case checks that its subject is within this reach
 * @throws SignalboxError `insufficient_permissions`
 */
export function checkAction(caller: Pick<Caller, 'role' | 'scopes'>, action: Action): Reach {
  const role = roleOf(caller);
  const reach = reachOf(role, action);
  if (reach !== null) return reach;
  throw new SignalboxError('insufficient_permissions', refusalOf(caller, role, action));
}

function refusalOf({ role: person }: Pick<Caller, 'role'>, role: Role, action: Action): string {
  if (person) return `The role \`${role}\` does not include the action ${action}.`;
  return mayTake('caller', action)
    ? 'A key with the scope `report` owns nothing itself. It can read the figures of all keys, for example with GET /admin/usage.'
    : `This API key lacks the scope ${scopesFor(action)}.`;
}

/** Lists the scopes that allow an action which not every key may take. */
export const scopesFor = (action: Action): string => (mayTake('report', action) ? '`report` or `admin`' : '`admin`');
