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
 * The former names of a team that is renamed, the latest first. Leaves out those that other teams have now.
 * @param teamNamed the team that has a name now
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
 * Adds to changes what follows for former names: a name that a team gives up, by a rename or a deletion, stays with this team
 * alone. At that moment every server sees all teams that had the name before, so no two teams keep it.
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
