import type { UserRole } from '../people/people.ts';
import type { Claims } from '../people/token-issuer.ts';

/** Roles that claims can give. Only an owner or an admin key can create an owner. */
export type ClaimedRole = Exclude<UserRole, 'owner'>;

/** A row of `sign_in.roles`. People whose claims satisfy the condition get the row's role and team. */
export interface RoleRow {
  /**
   * The condition; null for everyone. The condition is false if it cannot be evaluated, for example because a claim is missing, so that an
   * error never grants a role.
   */
  readonly when: ((claims: Claims) => boolean) | null;
  readonly role: ClaimedRole;
  /** Name of a team; null for none. */
  readonly team: string | null;
}

/** The policy section `sign_in`: how people sign in with OpenID Connect. */
export interface SignInPolicy {
  /** The issuer's name in its configuration and its tokens. */
  readonly issuer: string;
  readonly clientId: string;
  /** The environment variable that holds the client secret; null for a public client. */
  readonly clientSecretEnv: string | null;
  readonly scopes: readonly string[];
  /** The rows of `sign_in.roles` in order. The first row whose condition is true applies. */
  readonly roles: readonly RoleRow[];
}

/** Returns the role and team that claims give; null for none. */
export function rowFor({ roles }: Pick<SignInPolicy, 'roles'>, claims: Claims): Omit<RoleRow, 'when'> | null {
  const row = roles.find(({ when }) => when === null || judged(when, claims));
  return row ? { role: row.role, team: row.team } : null;
}

function judged(when: (claims: Claims) => boolean, claims: Claims): boolean {
  try {
    return when(claims);
  } catch {
    return false;
  }
}
