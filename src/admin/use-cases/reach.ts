import { SignalboxError } from '../../core/errors.ts';
import { type Caller, roleOf, SCOPES, type Scope } from '../../core/people/caller.ts';
import type { KeyInfo } from '../../store/keys.ts';
import type { Reach } from './roles.ts';

/**
 * Members of a key that leads and members may set when they create the key. The list says which reaches may change the member later. Only
 * operators may set all other members.
 */
export const OWNER_TERMS: ReadonlyMap<string, readonly Reach[]> = new Map<string, readonly Reach[]>([
  ['name', ['team', 'own']],
  ['scopes', ['team']],
  // Rules and budgets of the policy use labels, so other labels could give the key rights that the policy reserves for other keys.
  ['labels', []],
  ['models', ['team']],
  ['not_models', ['team']],
  ['limits', ['team']],
  ['budgets', ['team']],
  ['wallets', []],
  ['expires_at', ['team']],
  ['team', []],
  ['user', []],
]);

/** The members of a key that say which team and user the key belongs to. */
export type OwnedKey = Pick<KeyInfo, 'id' | 'team' | 'user'>;

/** Whether a key is within the reach of a caller. A person owns the keys of its user. A key owns only itself. */
export function isWithin(reach: Reach, { role, keyId, team, user }: Caller, key: OwnedKey): boolean {
  if (reach === 'all' || key.id === keyId) return true;
  if (role === undefined) return false;
  if (user !== undefined && key.user === user) return true;
  return reach === 'team' && team !== undefined && key.team === team;
}

/** Scopes that a key of a person or of a team may have. */
const PERSONAL: readonly Scope[] = SCOPES.filter((scope) => scope !== 'admin' && scope !== 'report');

/** The scopes that a caller may give to a key: at most the scopes that the caller has, or that its role includes. */
function givableScopes({ role, scopes }: Pick<Caller, 'role' | 'scopes'>): readonly Scope[] {
  switch (roleOf({ role, scopes })) {
    case 'owner':
      return SCOPES;
    case 'admin':
      return SCOPES.filter((scope) => scope !== 'admin');
    default:
      // A login has no scopes of its own. A workload has the scopes that the policy gives it.
      return scopes.size === 0 ? PERSONAL : PERSONAL.filter((scope) => scopes.has(scope));
  }
}

/**
 * Refuses to create or show a secret with scopes that the caller may not give.
 * @throws SignalboxError `insufficient_permissions`
 */
export function checkGivable(caller: Pick<Caller, 'role' | 'scopes'>, scopes: readonly Scope[]): void {
  const givable = givableScopes(caller);
  const beyond = scopes.find((scope) => !givable.includes(scope));
  if (beyond === undefined) return;
  const message = `Your role may not give the scope \`${beyond}\` to a key. It may give ${givable.map((scope) => `\`${scope}\``).join(', ')}.`;
  throw new SignalboxError('insufficient_permissions', message, { param: 'scopes' });
}

/**
 * Refuses to change or revoke a key with the scope `admin` or `report` if the caller reaches only a team or itself, because such a key has
 * more rights than the caller.
 * @throws SignalboxError `insufficient_permissions`
 */
export function checkNoOperatorKey(reach: Reach, { scopes }: Pick<KeyInfo, 'scopes'>): void {
  const beyond = reach === 'all' ? undefined : scopes.find((scope) => !PERSONAL.includes(scope));
  if (beyond === undefined) return;
  const message = `This key has the scope \`${beyond}\`, so only an operator can change, rotate or revoke it. Ask an operator.`;
  throw new SignalboxError('insufficient_permissions', message);
}
