import { ID_PREFIXES } from '../../core/people/people.ts';
import { editDistance } from '../../core/text/edit-distance.ts';
import { didYouMean } from '../../core/text/text.ts';
import { CASES } from '../cases/cases.ts';
import { accessesOf } from '../cel/ast.ts';
import type { CheckedExpression } from '../cel/check.ts';
import { USER_IN_BUDGETS } from '../cel/fields.ts';
import { comparedTexts } from '../cel/references.ts';
import type { CelKind } from '../cel/types.ts';
import type { NamedLabel } from '../define/expression-checker.ts';
import type { DraftReader } from '../define/section.ts';
import { MODELS } from '../models/catalog.ts';
import { servable } from '../models/wildcards.ts';
import type { Report } from '../report/report.ts';

/** Maps a label to the values that keys have for it. */
export type KnownLabels = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * Returns the existing values that rules can compare with, if they are known.
 * @param labels labels of the existing keys. `knownValues` adds the labels in the policy's test cases.
 */
export function knownValues(of: DraftReader, labels: KnownLabels) {
  const { drafts, wildcards } = of(MODELS);
  const { cases } = of(CASES);
  const models = servable({ models: drafts, wildcards });
  const all: Map<string, Set<string>> = new Map([...labels].map(([name, values]) => [name, new Set(values)]));
  for (const { given } of cases)
    for (const [name, value] of Object.entries(given.key.labels))
      all.set(name, (all.get(name) ?? new Set()).add(value));
  return {
    regions: [...new Set(models.flatMap(({ endpoints }) => endpoints.flatMap(({ endpoint }) => endpoint.regions)))],
    tags: [...new Set(models.flatMap(({ model }) => model.tags))],
    labels: all,
    /** IDs of teams and users that test cases state. */
    imagined: new Set(cases.flatMap(({ given: { team, user } }) => [team?.id ?? [], user?.id ?? []].flat())),
  };
}

/** Warns about a label that no key has, if it resembles an existing label. */
export function reviewLabel({ label, place, path }: NamedLabel, labels: KnownLabels, report: Report): void {
  if (labels.has(label) || !report.mayCompare(labels.size)) return;
  const meant = [...labels.keys()].find((one) => isAlike(label, one));
  if (meant === undefined) return;
  report.add('misspelt-value', place, `no key has the label \`${label}\``, { hint: didYouMean(`${path}${meant}`) });
}

/**
 * Warns about a text that is compared with a field although no such value exists, if it resembles an existing value: `"EU"` for the region
 * `eu`.
 */
export function reviewValues(
  program: CheckedExpression<unknown>,
  { regions, tags, labels, imagined }: ReturnType<typeof knownValues>,
  report: Report,
): void {
  reviewIds(program, imagined, report);
  const { ast, placeOf } = program;
  for (const { node, path } of accessesOf(ast)) {
    const [owner, field, label] = path;
    if (owner !== 'key' || field !== 'labels' || label === undefined) continue;
    reviewLabel({ label, place: placeOf(node), path: 'key.labels.' }, labels, report);
  }
  for (const { text, path, literal } of comparedTexts(ast)) {
    const [, label] = /^key\.labels\.(.+)$/.exec(path) ?? [];
    const [what, known] =
      path === 'endpoint.regions'
        ? ['endpoint has the region', regions]
        : path === 'model.tags'
          ? ['model has the tag', tags]
          : [`key has the label \`${label}\` with`, [...(labels.get(label ?? '') ?? [])]];
    // Keys come and go, so Signalbox reports only differences in spelling for their labels.
    const resembles = label === undefined ? isAlike : isSpeltAlike;
    if (known.includes(text) || !report.mayCompare(known.length)) continue;
    const meant = known.find((one) => resembles(text, one));
    if (meant === undefined) continue;
    report.add('misspelt-value', placeOf(literal), `no ${what} \`${text}\``, { hint: didYouMean(`"${meant}"`) });
  }
}

/** The field that a condition should compare instead of an ID. A budget sees only the ID of a user. */
const INSTEAD_OF_IDS: Readonly<Record<keyof typeof ID_PREFIXES, (kind: CelKind) => string>> = {
  team: () => 'to compare names, write `team.name`',
  user: (kind) => (kind === 'budget' ? USER_IN_BUDGETS : 'to compare names, write `user.name`'),
};

/** Warns about texts that are compared with the ID of a team or user and cannot be such an ID. */
function reviewIds({ ast, placeOf, kind }: CheckedExpression<unknown>, imagined: ReadonlySet<string>, report: Report) {
  for (const { text, path, literal } of comparedTexts(ast)) {
    const owner = path === 'team.id' ? 'team' : path === 'user.id' ? 'user' : null;
    if (owner === null || text === '' || imagined.has(text) || text.startsWith(ID_PREFIXES[owner])) continue;
    const message = `\`${text}\` cannot be the ID of a ${owner}: such an ID begins with \`${ID_PREFIXES[owner]}\``;
    report.add('misspelt-value', placeOf(literal), message, { hint: INSTEAD_OF_IDS[owner](kind) });
  }
}

const folded = (text: string): string => text.toLowerCase().replaceAll(/[\s_-]/g, '');

/** Whether two texts differ only in capitals, spaces and dashes. */
const isSpeltAlike = (a: string, b: string): boolean => a !== b && folded(a) === folded(b);

/** The shortest text that is compared. Words that are shorter often differ by one letter: `us` and `uk`. */
const LETTERS_MIN = 4;
const digitsOf = (text: string): string => text.replaceAll(/\D/g, '');

/** Whether one text is probably a misspelling of the other. Texts with different numbers are different names: `eu-west-1`, `eu-west-2`. */
function isAlike(a: string, b: string): boolean {
  if (isSpeltAlike(a, b)) return true;
  const shorter = Math.min(a.length, b.length);
  if (shorter < LETTERS_MIN || digitsOf(a) !== digitsOf(b)) return false;
  const most = shorter < 2 * LETTERS_MIN ? 1 : 2;
  return editDistance(a.toLowerCase(), b.toLowerCase(), most) <= most;
}
