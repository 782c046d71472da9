import { type Caller, roleOf, SCOPES, type Scope } from '../../core/caller.ts';
import { SignalboxError } from '../../core/errors.ts';
import type { KeyInfo } from '../../store/keys.ts';
import type { Reach } from './roles.ts';

/**
 * Members of a key that leads and members may state when they make it, each with the reaches that may change it later.
 * Operators alone decide all others.
 */
export const OWNER_TERMS: ReadonlyMap<string, readonly Reach[]> = new Map<string, readonly Reach[]>([
  ['name', ['team', 'own']],
  ['scopes', ['team']],
  // Rules and budgets of the policy go by labels: other labels could give the key what the policy gives to others.
  ['labels', []],
  ['models', ['team']],
  ['limits', ['team']],
  ['budgets', ['team']],
  ['wallets', []],
  ['expires_at', ['team']],
  ['team', []],
  ['user', []],
]);

/** A key, as far as it says whose it is. */
export type OwnedKey = Pick<KeyInfo, 'id' | 'team' | 'user'>;

/** Whether a key lies within a reach of a caller. A person's own are those of its user; a key has nothing but itself. */
export function isWithin(reach: Reach, { role, keyId, team, user }: Caller, key: OwnedKey): boolean {
  if (reach === 'all' || key.id === keyId) return true;
  if (role === undefined) return false;
  if (user !== undefined && key.user === user) return true;
  return reach === 'team' && team !== undefined && key.team === team;
}

/** Scopes that a key of a person's own, or of its team, may have. */
const PERSONAL: readonly Scope[] = SCOPES.filter((scope) => scope !== 'admin' && scope !== 'report');

/** The scopes that a caller may give to a key: no more than it has, or its role stands for. */
function givableScopes({ role, scopes }: Pick<Caller, 'role' | 'scopes'>): readonly Scope[] {
  switch (roleOf({ role, scopes })) {
    case 'owner':
      return SCOPES;
    case 'admin':
      return SCOPES.filter((scope) => scope !== 'admin');
    default:
      // A login has no scopes of its own; a workload has those that the policy gives to it.
      return scopes.size === 0 ? PERSONAL : PERSONAL.filter((scope) => scopes.has(scope));
  }
}

/**
 * Refuses to hand out a secret, or scopes, beyond those of the caller.
 * @throws SignalboxError `insufficient_permissions`
 */
export function checkGivable(caller: Pick<Caller, 'role' | 'scopes'>, scopes: readonly Scope[]): void {
  const givable = givableScopes(caller);
  const beyond = scopes.find((scope) => !givable.includes(scope));
  if (beyond === undefined) return;
  const message = `A key with the scope \`${beyond}\` is beyond your role, which may give ${givable.map((scope) => `\`${scope}\``).join(', ')}.`;
  throw new SignalboxError('insufficient_permissions', message, { param: 'scopes' });
}

/**
 * Refuses to change or revoke a key with the scope `admin` or `report` to roles that reach a team or themselves alone: such a key
 * can do more than they can.
 * @throws SignalboxError `insufficient_permissions`
 */
export function checkNoOperatorKey(reach: Reach, { scopes }: Pick<KeyInfo, 'scopes'>): void {
  const beyond = reach === 'all' ? undefined : scopes.find((scope) => !PERSONAL.includes(scope));
  if (beyond === undefined) return;
  const message = `This key has the scope \`${beyond}\`, so only an operator can change, rotate or revoke it. Ask an operator.`;
  throw new SignalboxError('insufficient_permissions', message);
}
