import { type Caller, roleOf } from '../../core/caller.ts';
import { SignalboxError } from '../../core/errors.ts';
import type { Role } from '../../core/role.ts';

/** How far an action reaches: to everything, to what a team has, or to what is one's own. */
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

/** Every action beside requests of models, with the roles that may take it and how far they reach. A route names its action. */
const ACTIONS = {
  'alerts.read': AUDITED,
  'alerts.test': OPERATORS,
  'models.read': { ...MONEY, lead: 'all', member: 'all', caller: 'all' },
  // The same list, on a path that a login opens.
  'models.list': { ...MONEY, lead: 'all', member: 'all' },
  'usage.own': OWN,
  'usage.read': { ...MONEY, ...MEMBERS },
  'traffic.read': { ...MONEY, ...MEMBERS },
  'traffic.rebuild': OPERATORS,
  'ledger.read': MONEY,
  // Findings name keys and decisions, which reports are not shown.
  'ledger.audit': { ...AUDITED, finance: 'all' },
  'ledger.refund': OPERATORS,
  // The copy has all that the store has.
  'ledger.copy': { owner: 'all' },
  'decisions.list': { ...REPORTED, ...MEMBERS },
  'decisions.explain': { ...REPORTED, ...MEMBERS, caller: 'own' },
  // A key with the scope `report` reads no replay, and this is one.
  'decisions.repeat': { ...AUDITED, ...MEMBERS },
  // Their own where the policy says so. A lead's reach over the figures of a team does not extend to the words of its members.
  'content.read': { ...OPERATORS, lead: 'own', member: 'own' },
  'feedback.give': { owner: 'own', admin: 'own', lead: 'own', member: 'own', caller: 'own' },
  // As a key of one's own; an application has its key.
  'playground.send': SENDERS,
  // Of each kind of event as its list: decisions.list, alerts.read, policy.read, endpoints.read.
  'events.read': { ...REPORTED, ...MEMBERS },
  'policy.read': REPORTED,
  'policy.check': REPORTED,
  // As one of their own keys, on the policy in force.
  'policy.explain': { ...REPORTED, ...MEMBERS },
  'policy.reload': OPERATORS,
  // Of what gives power, owners alone, and only where the server was started for it.
  'policy.write': OPERATORS,
  'endpoints.read': REPORTED,
  'status.read': REPORTED,
  'database.change': { owner: 'all' },
  'learning.read': AUDITED,
  'learning.change': OPERATORS,
  'keys.read': { ...AUDITED, finance: 'all', ...MEMBERS },
  'keys.change': { ...OPERATORS, ...MEMBERS },
  'keys.grant': OPERATORS,
  'me.read': { ...PEOPLE_OWN, report: 'own' },
  'logins.read': { ...AUDITED, report: 'own', finance: 'own', lead: 'own', member: 'own' },
  'logins.end': { ...OPERATORS, auditor: 'own', report: 'own', finance: 'own', lead: 'own', member: 'own' },
  'people.read': { ...AUDITED, finance: 'all', ...MEMBERS },
  'people.change': { ...OPERATORS, lead: 'team' },
  'teams.change': OPERATORS,
  // Else one could resume what an operator has suspended.
  'keys.suspend': OPERATORS,
  // Of keys with the scope `delegate`.
  'keys.delegate': { owner: 'own', caller: 'own' },
  'trail.read': AUDITED,
  // An administrator could take its own name out.
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

/** How far a role reaches in an action; null for not at all. */
export const reachOf = (role: Role, action: Action): Reach | null => REACHES[action][role] ?? null;

export const mayTake = (role: Role, action: Action): boolean => reachOf(role, action) !== null;

/**
 * Refuses an action that the role of the caller may not take.
 * @returns how far it reaches; the use case judges whether what it is about lies within
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
    ? 'A key with the scope `report` has nothing of its own. It reads the figures of all keys, such as GET /admin/usage.'
    : `This API key lacks the scope ${scopesFor(action)}.`;
}

/** The scopes that open an action which not every key may take, as texts list them. */
export const scopesFor = (action: Action): string => (mayTake('report', action) ? '`report` or `admin`' : '`admin`');
