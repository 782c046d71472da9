import type { Caller } from '../core/caller.ts';
import { SignalboxError } from '../core/errors.ts';

/** Who asks. `admin`: an operator. `report`: one who reads figures of all and changes nothing. `caller`: an application, for itself. */
export const ROLES = ['admin', 'report', 'caller'] as const;
export type Role = (typeof ROLES)[number];

const ADMIN = ['admin'] as const;
const REPORTED = ['admin', 'report'] as const;
const OWN = ['admin', 'caller'] as const;

/** Every action beside requests of models, with the roles that may take it. A route names its action. */
export const ACTIONS = {
  'models.read': ROLES,
  'usage.own': OWN,
  'usage.read': REPORTED,
  'ledger.read': REPORTED,
  'decisions.list': REPORTED,
  // A caller its own.
  'decisions.explain': ROLES,
  'content.read': ADMIN,
  'feedback.give': OWN,
  'policy.read': REPORTED,
  'policy.reload': ADMIN,
  'endpoints.read': REPORTED,
  'status.read': REPORTED,
  'learning.read': ADMIN,
  'keys.read': ADMIN,
  'keys.change': ADMIN,
  'trail.read': ADMIN,
  'wallets.own': OWN,
  'wallets.pay': OWN,
  'wallets.read': ADMIN,
  'wallets.change': ADMIN,
  // A caller its own.
  'payments.own': OWN,
  'payments.read': ADMIN,
  'payments.change': ADMIN,
} as const satisfies Record<string, readonly Role[]>;
export type Action = keyof typeof ACTIONS;

export const ACTION_NAMES = Object.keys(ACTIONS) as Action[];
export const isAction = (name: string): name is Action => Object.hasOwn(ACTIONS, name);

export function roleOf({ scopes }: Pick<Caller, 'scopes'>): Role {
  if (scopes.has('admin')) return 'admin';
  return scopes.has('report') ? 'report' : 'caller';
}

export const mayTake = (role: Role, action: Action): boolean => ACTIONS[action].some((one) => one === role);

/**
 * Refuses an action that the role of the caller may not take.
 * @throws SignalboxError `insufficient_permissions`
 */
export function checkAction(caller: Pick<Caller, 'scopes'>, action: Action): void {
  const role = roleOf(caller);
  if (mayTake(role, action)) return;
  const message = mayTake('caller', action)
    ? 'A key with the scope `report` has nothing of its own. It reads the figures of all keys, such as GET /admin/usage.'
    : `This API key lacks the scope ${scopesFor(action)}.`;
  throw new SignalboxError('insufficient_permissions', message);
}

/** The scopes that open an action which not every key may take, as texts list them. */
export const scopesFor = (action: Action): string =>
  ACTIONS[action]
    .toReversed()
    .map((role) => `\`${role}\``)
    .join(' or ');
