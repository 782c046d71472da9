import type { UserRole } from './people.ts';
import type { Claims } from './token-issuer.ts';

/** Roles that claims can give. An owner is made by an owner, or by an admin key. */
export type ClaimedRole = Exclude<UserRole, 'owner'>;

/** A row of `sign_in.roles`: people whose claims fulfil it have its role, and belong to its team. */
export interface RoleRow {
  /** Null for everybody. False where it cannot be judged, such as without the claim: it must not open anything. */
  readonly when: ((claims: Claims) => boolean) | null;
  readonly role: ClaimedRole;
  /** Name of a team; null for none. */
  readonly team: string | null;
}

/** The section `sign_in` of the policy: how people sign in by OpenID Connect. */
export interface SignInPolicy {
  /** As the issuer's configuration and its tokens name it. */
  readonly issuer: string;
  readonly clientId: string;
  /** Name of the variable with the secret; null for a public client. */
  readonly clientSecretEnv: string | null;
  readonly scopes: readonly string[];
  /** The first that holds decides. */
  readonly roles: readonly RoleRow[];
}

/** The role and team that claims give; null for none. */
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
