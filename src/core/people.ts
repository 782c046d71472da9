import type { KeyBudget, KeyLimits } from './caller.ts';
import type { Role } from './role.ts';

/** Roles that a user can have. `lead` and `member` are of its team. */
export const USER_ROLES = ['owner', 'admin', 'finance', 'auditor', 'lead', 'member'] as const satisfies readonly Role[];
export type UserRole = (typeof USER_ROLES)[number];

/** The beginning of the IDs of teams and users. */
export const ID_PREFIXES = { team: 'team_', user: 'user_' } as const;

/** Terms of a level: the organization, a team or a user. Each level applies beside the others. */
export interface HolderTerms {
  /** IDs of the models that it may use; null for all. */
  readonly models: readonly string[] | null;
  /** Null for those of the other levels alone. */
  readonly limits: KeyLimits | null;
  readonly budgets: readonly KeyBudget[];
}

/** Terms of a user: null for those that its team states for members, or else the organization. */
export interface MemberTerms extends Omit<HolderTerms, 'budgets'> {
  readonly budgets: readonly KeyBudget[] | null;
}

/** Terms of a group, with those of each member that states none of its own. */
export interface GroupTerms extends HolderTerms {
  readonly memberDefaults: HolderTerms;
}

/** A team of the policy. */
export interface DeclaredTeam extends GroupTerms {
  readonly name: string;
}

/** A team as a policy declares it. */
export interface TeamDeclaration extends DeclaredTeam {
  /** The name that it had before; absent for none. */
  readonly formerly?: string;
}

/**
 * The team that a declaration renames: the one with the former name, where no team has the new one. Null for none.
 * @param teamNamed the existing team that has a name now
 */
export function renamedTeam<Found>(
  { name, formerly }: Pick<TeamDeclaration, 'name' | 'formerly'>,
  teamNamed: (name: string) => Found | null,
): Found | null {
  return formerly === undefined || teamNamed(name) ? null : teamNamed(formerly);
}

/** The most former names of a team that requests and commands rename. */
export const FORMER_NAMES_MAX = 16;

/** A team as policies can name it. */
export interface NamedTeam {
  readonly id: string;
  /** Its present name, or the last one of a deleted team. */
  readonly name: string;
  /** Whether requests and commands change it, and not a policy. */
  readonly isOfApi: boolean;
  /** Whether the policy in force declares it. */
  readonly isDeclared: boolean;
  readonly isDeleted: boolean;
}

/** Name → the team that has it now, or else the team that had it last. */
export type TeamNames = ReadonlyMap<string, NamedTeam>;

export const NO_TERMS: HolderTerms = Object.freeze({ models: null, limits: null, budgets: Object.freeze([]) });
export const NO_GROUP_TERMS: GroupTerms = Object.freeze({ ...NO_TERMS, memberDefaults: NO_TERMS });
/** Those of a user that states none. */
export const INHERITED: MemberTerms = Object.freeze({ models: null, limits: null, budgets: null });
