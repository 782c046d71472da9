import type { NamedTeam, TeamNames } from '../../core/people/people.ts';
import { didYouMean } from '../../core/text/text.ts';
import { CASES } from '../cases/cases.ts';
import { type ASTNode, accessesOf, literalOf, nodesOf, pathOf } from '../cel/ast.ts';
import type { CheckedExpression, Program } from '../cel/check.ts';
import { comparedTexts } from '../cel/references.ts';
import { environmentOf } from '../cel/types.ts';
import type { NamedLabel } from '../define/expression-checker.ts';
import type { DraftReader } from '../define/section.ts';
import { TEAMS } from '../people/people.ts';
import { namesAfterRenames } from '../people/team-renames.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import { nearest, nearestHint } from '../report/nearest.ts';
import type { Report } from '../report/report.ts';

export type TeamChecker = ReturnType<typeof createTeamChecker>;

const isTeamName = (node: ASTNode): boolean => pathOf(node)?.join('.') === 'team.name';

/** Makes the checker for team names in the expressions of one policy. @param present the teams in the store; null if they are not known */
export function createTeamChecker(of: DraftReader, present: TeamNames | null, report: Report) {
  const stated = of(TEAMS);
  const known = present && namesAfterRenames(present, stated);
  const declared = new Set(stated.map(({ name }) => name));
  const imagined = new Set(of(CASES).cases.flatMap(({ given }) => given.team?.name ?? []));
  const names = lazyNames(known, declared);
  const ids = new Map<string, string | null>();
  const uses: TeamUses = { label: null, team: null };

  /**
   * Returns the team ID that a name in the condition of a budget means. If no team has the name yet, `idOf` returns the name itself, which
   * is never an ID.
   */
  function idOf(name: string, place: SourceSpan): string {
    if (name === '') return '';
    const found = known?.get(name);
    ids.set(name, found?.id ?? null);
    if (found) reviewFormer(name, found, place);
    else if (known && !declared.has(name)) report.addUnknown('team', name, names(), place);
    else if (!known && !imagined.has(name)) reviewSimilar(name, declared, place, report);
    return found?.id ?? name;
  }

  function reviewFormer(name: string, found: NamedTeam, place: SourceSpan): void {
    if (declared.has(name) || (found.name === name && !found.isDeleted)) return;
    const change = found.isDeleted ? 'was deleted' : `is now called \`${found.name}\``;
    const hint = found.isDeleted ? 'name another team, or remove this part' : `write \`${JSON.stringify(found.name)}\``;
    report.add('no-such-team', place, `the team \`${name}\` ${change}`, { hint });
  }

  return {
    /** The team names that conditions of budgets contain, each with its ID; null for a team that does not exist yet. */
    ids: ids as ReadonlyMap<string, string | null>,

    /** Records where expressions use the key label `team`, and where they use teams. */
    note({ ast, placeOf }: CheckedExpression<unknown>): void {
      for (const { node, path } of accessesOf(ast)) {
        if (path[0] === 'team') uses.team ??= placeOf(node);
        if (path.join('.').startsWith(LABEL) && path.length === 3 && path[2] === 'team') uses.label ??= placeOf(node);
      }
    },

    noteLabel(named: NamedLabel): void {
      if (named.label === 'team') uses.label ??= named.place;
    },

    /**
     * Replaces team names in the condition of a budget by their IDs, which stay when a team is renamed. `resolved` returns null for a wrong
     * condition.
     */
    resolved(program: Program): Program | null {
      const owners = [...nodesOf(program.ast)].filter(isTeamName);
      if (owners.length === 0) return program;
      const compared = comparedNames(program.ast);
      const loose = owners.find((owner) => !compared.owners.has(owner));
      if (loose) {
        const message =
          'in a budget, `team.name` can only be compared with names, because Signalbox replaces each name by the ID of its team';
        const hint = 'write `team.name == "search"` or `team.name in ["search", "ads"]`';
        report.add('cel-refused', program.placeOf(loose), message, { hint });
        return null;
      }
      const changes = [
        ...owners.map((node) => ({ node, text: 'team.id' })),
        ...compared.names.map(({ node, name }) => ({ node, text: JSON.stringify(idOf(name, program.placeOf(node))) })),
      ];
      const text = edited(program.draft.text, changes);
      const run = environmentOf('budget').parse(text);
      return { ...program, draft: { ...program.draft, text }, run: (view) => run(view) === true };
    },

    /** Reports an `each` of a budget that reads a team name, because a renamed team would get a new window. */
    isGroupedByName({ ast, placeOf }: CheckedExpression<unknown>): boolean {
      const found = [...nodesOf(ast)].find(isTeamName);
      if (!found) return false;
      const message = '`each` of a budget cannot read `team.name`, because a renamed team would get a new window';
      report.add('cel-refused', placeOf(found), message, {
        hint: 'write `each: team`, or use `team.id` within an expression',
      });
      return true;
    },

    /** Warns about names that no team has now, in expressions that read the current name. */
    reviewNames({ ast, placeOf }: CheckedExpression<unknown>): void {
      for (const { text, path, literal } of comparedTexts(ast)) {
        if (path !== 'team.name' || text === '' || declared.has(text) || imagined.has(text)) continue;
        const found = known?.get(text);
        if (found) reviewFormer(text, found, placeOf(literal));
        else if (!known) reviewSimilar(text, declared, placeOf(literal), report);
        else {
          const hint = report.mayCompare(known.size) ? nearestHint(text, names()) : undefined;
          report.add('no-such-team', placeOf(literal), `there is no team \`${text}\``, { hint });
        }
      }
    },

    /** Warns about a policy that uses both teams and the key label `team`. */
    review(): void {
      const place = uses.team ?? stated[0]?.place;
      if (!uses.label || !(place || names().length > 0)) return;
      const message =
        '`key.labels.team` groups keys by their label `team`, but there are also teams: the two count separately';
      report.add('two-meanings-of-team', uses.label, message, {
        hint: 'for teams write `each: team` or `team.name == "search"`; to keep both, rename the label, for example to `project`',
        ...(place && { related: { place, message: 'teams are used here' } }),
      });
    },
  };
}

/** Warns about a name that resembles the name of a declared team, for a check that does not know the other teams. */
function reviewSimilar(name: string, declared: ReadonlySet<string>, place: SourceSpan, report: Report): void {
  const meant = !declared.has(name) && report.mayCompare(declared.size) ? nearest(name, declared) : null;
  if (meant === null) return;
  report.add('no-such-team', place, `the policy declares no team \`${name}\``, {
    hint: `${didYouMean(meant)} If the API manages a team of this name, ignore the warning`,
  });
}

const LABEL = 'key.labels.';

/** Where a policy first uses the key label `team`, and where it first uses teams. */
interface TeamUses {
  label: SourceSpan | null;
  team: SourceSpan | null;
}

/** Returns the names of existing and declared teams. The list of team names is made only for a policy that needs it. */
function lazyNames(known: TeamNames | null, declared: ReadonlySet<string>): () => readonly string[] {
  let listed: readonly string[] | null = null;
  return () => {
    const present = () =>
      [...(known ?? [])].flatMap(([name, team]) => (team.name === name && !team.isDeleted ? [name] : []));
    listed ??= [...new Set([...declared, ...present()])];
    return listed;
  };
}

/** Returns the comparisons of `team.name` with texts: the nodes that read the name, and the texts. */
function comparedNames(ast: ASTNode) {
  const owners = new Set<ASTNode>();
  const names: { readonly node: ASTNode; readonly name: string }[] = [];
  for (const node of nodesOf(ast)) {
    if (node.op !== '==' && node.op !== '!=' && node.op !== 'in') continue;
    const [left, right] = node.args;
    const [owner, other] = isTeamName(left) ? [left, right] : [right, left];
    if (!isTeamName(owner)) continue;
    const stated = node.op === 'in' && other.op === 'list' ? other.args : [other];
    const texts = stated.flatMap((one) => {
      const name = literalOf(one);
      return typeof name === 'string' ? [{ node: one, name }] : [];
    });
    if (texts.length < stated.length) continue;
    owners.add(owner);
    names.push(...texts);
  }
  return { owners, names };
}

/** Returns a text in which the ranges of some nodes are replaced. */
function edited(text: string, changes: readonly { readonly node: ASTNode; readonly text: string }[]): string {
  const fromTheEnd = [...changes].sort((one, other) => other.node.start - one.node.start);
  return fromTheEnd.reduce((all, { node, text: part }) => all.slice(0, node.start) + part + all.slice(node.end), text);
}
