import type { KeyBudget, KeyLimits } from './caller.ts';
import type { Role } from './role.ts';

/** Roles that a user can have. `lead` and `member` apply within the user's team. */
export const USER_ROLES = ['owner', 'admin', 'finance', 'auditor', 'lead', 'member'] as const satisfies readonly Role[];
export type UserRole = (typeof USER_ROLES)[number];

/** Prefixes of the IDs of teams and users. */
export const ID_PREFIXES = { team: 'team_', user: 'user_' } as const;

/** Terms of a level: the organization, a team or a user. The terms of all levels apply together. */
export interface HolderTerms {
  /** IDs of the models that the level allows; null for all. */
  readonly models: readonly string[] | null;
  /** Limits of this level; null if it has none of its own. */
  readonly limits: KeyLimits | null;
  readonly budgets: readonly KeyBudget[];
}

/** Terms of a user. If a member of a user's terms is null, the team's terms for members apply, or else the organization's. */
export interface MemberTerms extends Omit<HolderTerms, 'budgets'> {
  readonly budgets: readonly KeyBudget[] | null;
}

/** The terms of a group, and the terms of each member of the group who states no terms of their own. */
export interface GroupTerms extends HolderTerms {
  readonly memberDefaults: HolderTerms;
}

/** A team that the policy declares. */
export interface DeclaredTeam extends GroupTerms {
  readonly name: string;
}

/** A team as a policy declares it. */
export interface TeamDeclaration extends DeclaredTeam {
  /** The team's previous name, if the policy renames it; absent otherwise. */
  readonly formerly?: string;
}

/**
 * Returns the team that a declaration renames: the team with the previous name, if no team has the new name yet. Returns null if the
 * declaration renames none.
 * @param teamNamed the existing team that has a name now
 */
export function renamedTeam<Found>(
  { name, formerly }: Pick<TeamDeclaration, 'name' | 'formerly'>,
  teamNamed: (name: string) => Found | null,
): Found | null {
  return formerly === undefined || teamNamed(name) ? null : teamNamed(formerly);
}

/** The most former names of a team that is renamed through the API or by a command. */
export const FORMER_NAMES_MAX = 16;

/** A team as policies can name it. */
export interface NamedTeam {
  readonly id: string;
  /** The team's current name, or the last name of a deleted team. */
  readonly name: string;
  /** Whether the API and commands, rather than a policy, manage the team. */
  readonly isOfApi: boolean;
  /** Whether the active policy declares the team. */
  readonly isDeclared: boolean;
  readonly isDeleted: boolean;
}

/** Maps a name to the team that has it now, or else to the team that had it last. */
export type TeamNames = ReadonlyMap<string, NamedTeam>;

export const NO_TERMS: HolderTerms = Object.freeze({ models: null, limits: null, budgets: Object.freeze([]) });
export const NO_GROUP_TERMS: GroupTerms = Object.freeze({ ...NO_TERMS, memberDefaults: NO_TERMS });
/** Terms of a user who states none. */
export const INHERITED: MemberTerms = Object.freeze({ models: null, limits: null, budgets: null });
