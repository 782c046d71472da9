import type { Static } from '@sinclair/typebox';
import { type NamedTeam, renamedTeam, type TeamDeclaration, type TeamNames } from '../../core/people/people.ts';
import type { NamedItem } from '../check/section-checks.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import { listNames } from '../report/nearest.ts';
import type { Report } from '../report/report.ts';
import { placeAt } from '../yaml/tree.ts';
import type { TeamText } from './schema.ts';

type PlacedTeam = Pick<TeamDeclaration, 'name' | 'formerly'> & { readonly place: SourceSpan };

/** Reports previous names that other entries also state, because it would be unclear which entry is the team. */
export function checkFormerNames(items: readonly NamedItem<Static<typeof TeamText>>[], report: Report): void {
  const names = new Set(items.flatMap(({ data }) => data?.name ?? []));
  const places = new Map<string, SourceSpan>();
  for (const { data, tree, path } of items) {
    if (data?.formerly === undefined) continue;
    const place = placeAt(tree, 'formerly');
    const first = places.get(data.formerly);
    if (names.has(data.formerly)) {
      const message = `\`${path}.formerly\` names the team \`${data.formerly}\`, which \`teams\` also declares`;
      const hint = 'remove `formerly` once the team is renamed, or remove the entry with the previous name';
      report.add('conflicting-keys', place, message, { hint });
    } else if (first) {
      const related = { place: first, message: 'first stated here' };
      const message = `two teams state \`formerly: ${data.formerly}\``;
      report.add('conflicting-keys', place, message, { hint: 'keep one of the two entries', related });
    } else places.set(data.formerly, place);
  }
}

const existing =
  (known: TeamNames) =>
  (name: string): NamedTeam | null => {
    const found = known.get(name);
    return found && found.name === name && !found.isDeleted ? found : null;
  };

/** Returns the names of teams as they are once a policy is active, because its declarations can rename teams. */
export function namesAfterRenames(known: TeamNames, teams: readonly PlacedTeam[]): TeamNames {
  const renamed = teams.flatMap((team) => {
    const found = renamedTeam(team, existing(known));
    return found ? [{ ...found, name: team.name, isOfApi: false, formerly: found.name }] : [];
  });
  if (renamed.length === 0) return known;
  return new Map([
    ...known,
    ...renamed.flatMap(
      ({ formerly, ...team }) =>
        [
          [team.name, team],
          [formerly, team],
        ] as const,
    ),
  ]);
}

/** Warns about teams with keys that a policy no longer declares while it declares new teams, because a rename was probably intended. */
export function reviewReplacedTeams(
  teams: readonly PlacedTeam[],
  known: TeamNames,
  withKeys: ReadonlySet<string>,
  report: Report,
): void {
  const teamNamed = existing(known);
  const kept = new Set(teams.flatMap((team) => teamNamed(team.name)?.id ?? renamedTeam(team, teamNamed)?.id ?? []));
  const added = teams.filter(({ name, formerly }) => formerly === undefined && teamNamed(name) === null);
  const [first] = added;
  if (!first) return;
  for (const [name, { id, isDeclared }] of known) {
    if (!isDeclared || teamNamed(name) === null || kept.has(id) || !withKeys.has(id)) continue;
    const names = listNames(added.map((team) => team.name));
    const are = added.length === 1 ? 'is a new team' : 'are new teams';
    const message = `${names} ${are}, and the team \`${name}\`, which has keys, is no longer declared`;
    const hint = `to rename \`${name}\`, add \`formerly: ${name}\`: the team then keeps its keys, budgets and figures`;
    report.add('team-replaced', first.place, message, { hint });
  }
}
