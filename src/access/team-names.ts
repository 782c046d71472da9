import type { Team, VersionedRow } from '../store/people.ts';
import type { TrailAction } from '../store/trail.ts';

/** A row of a team to write. */
export interface TeamChange {
  /** Null for a new team. */
  readonly before: VersionedRow<Team> | null;
  readonly team: Team;
  readonly action: TrailAction;
}

/**
 * Returns the former names of a renamed team, latest first, without names that other teams have now.
 * @param teamNamed returns the team that currently has a name
 */
export function formerNamesOf(
  team: Team,
  name: string,
  teamNamed: (name: string) => Team | null,
): Pick<Team, 'formerNames'> {
  if (name === team.name) return {};
  const others = (team.formerNames ?? []).filter((one) => one !== name && one !== team.name && teamNamed(one) === null);
  return { formerNames: [team.name, ...others] };
}

/**
 * Adds the changes of former names. When a team gives up a name by a rename or a deletion, only this team keeps it as a former name. Every
 * server then agrees which team had the name last, so only one team keeps a former name.
 */
export function withNamesGivenUp(
  changes: readonly TeamChange[],
  all: Iterable<VersionedRow<Team>>,
): readonly TeamChange[] {
  const owners = new Map<string, string>();
  for (const { before, team } of changes) {
    if (before && (before.row.name !== team.name || team.removedAt !== null)) owners.set(before.row.name, team.id);
  }
  if (owners.size === 0) return changes;
  const changed = new Set(changes.map(({ team }) => team.id));
  const isLost = ({ id }: Team, name: string) => (owners.get(name) ?? id) !== id;
  const withoutLost = (team: Team): Team =>
    team.formerNames?.some((name) => isLost(team, name))
      ? { ...team, formerNames: team.formerNames.filter((name) => !isLost(team, name)) }
      : team;
  const others = [...all].flatMap((before): TeamChange[] => {
    const team = withoutLost(before.row);
    return team === before.row || changed.has(team.id) ? [] : [{ before, team, action: 'change' }];
  });
  return [...changes.map((change) => ({ ...change, team: withoutLost(change.team) })), ...others];
}
