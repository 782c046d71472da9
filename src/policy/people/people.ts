import type { Static } from '@sinclair/typebox';
import {
  type GroupTerms,
  type HolderTerms,
  NO_GROUP_TERMS,
  NO_TERMS,
  type TeamDeclaration,
  type TeamNames,
} from '../../core/people/people.ts';
import type { AmountContext } from '../check/amounts.ts';
import { type CheckContext, checkList, checkSection, sectionSubject } from '../check/section-checks.ts';
import { readLimit } from '../limits/budgets.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import type { Report } from '../report/report.ts';
import { checkTimeZone } from '../report/time-zone.ts';
import { ratesOf } from '../schema/limits.ts';
import { LevelBudgetText, OrganizationText, TeamText } from '../schema/people.ts';
import { placeAt, type Tree, valueAt } from '../yaml/tree.ts';
import { checkFormerNames } from './team-renames.ts';

type GroupText = Static<typeof OrganizationText>;
type TermsText = Omit<GroupText, 'member_defaults'>;

/** The data that is needed to read terms. */
interface TermsContext extends AmountContext {
  /** The default time zone of budgets. */
  readonly zone: string;
  /** Whether a name is the name of a model. */
  readonly models: ModelNames;
}

/** The models that the terms of teams and users can name. */
export interface ModelNames {
  readonly ids: ReadonlyMap<string, SourceSpan>;
  /** Prefixes of IDs that wildcards serve. */
  readonly starts: readonly string[];
}

/** The organization and the teams of a policy, with the location of each team's name. */
export interface PeopleDraft {
  readonly organization: GroupTerms;
  readonly teams: readonly (TeamDeclaration & { readonly place: SourceSpan })[];
}

/** Checks the sections `organization` and `teams`. `draftPeople` leaves out a team with errors completely. */
export function draftPeople(context: CheckContext & AmountContext, zone: string, models: ModelNames): PeopleDraft {
  const { report, usdPerCredit, converted } = context;
  const terms: TermsContext = { report, usdPerCredit, converted, zone, models };
  const organization = checkSection('organization', OrganizationText, context);
  const { tree } = sectionSubject('organization', context);
  const items = checkList('teams', TeamText, context);
  checkFormerNames(items, report);
  return {
    organization: organization ? groupOf(organization, tree, 'organization', terms) : NO_GROUP_TERMS,
    teams: items.flatMap(({ data, tree: item, path }) => {
      if (!data) return [];
      const { name, formerly, ...text } = data;
      const names = { name, ...(formerly !== undefined && { formerly }) };
      return { ...names, place: placeAt(item, 'name'), ...groupOf(text, item, path, terms) };
    }),
  };
}

function groupOf({ member_defaults: defaults, ...text }: GroupText, tree: Tree, path: string, context: TermsContext) {
  const below = valueAt(tree, 'member_defaults');
  return {
    ...termsOf(text, tree, path, context),
    memberDefaults: defaults && below ? termsOf(defaults, below, `${path}.member_defaults`, context) : NO_TERMS,
  };
}

function termsOf({ models, limits, budgets }: TermsText, tree: Tree, path: string, context: TermsContext): HolderTerms {
  for (const [at, model] of (models ?? []).entries()) checkModel(model, placeAt(tree, 'models', at), context);
  return {
    models: models ?? null,
    limits: limits ? ratesOf(limits) : null,
    budgets: budgets.map(({ window, time_zone: stated, on_exhausted: onExhausted }, at) => {
      const item = valueAt(tree, 'budgets', at) ?? tree;
      const timeZone = stated ?? context.zone;
      if (stated !== undefined) checkTimeZone(stated, placeAt(item, 'time_zone'), context.report);
      checkOnce(budgets.slice(0, at), { window, timeZone, onExhausted }, item, context);
      const subject = { path: `${path}.budgets[${at}]`, tree: item, place: item.place };
      const limit = readLimit(LevelBudgetText, subject, context).limit ?? 0;
      return { limit, window, timeZone, onExhausted };
    }),
  };
}

/** Reports two budgets of a level with the same window, because both would be the same fund. */
function checkOnce(
  before: TermsText['budgets'],
  { window, timeZone, onExhausted }: Omit<HolderTerms['budgets'][number], 'limit'>,
  tree: Tree,
  { report, zone }: TermsContext,
): void {
  const isSame = (other: (typeof before)[number]) =>
    other.window === window && (other.time_zone ?? zone) === timeZone && other.on_exhausted === onExhausted;
  if (!before.some(isSame)) return;
  const message = `two budgets have the same window, \`${window}\` in ${timeZone}`;
  report.add('conflicting-keys', placeAt(tree, 'window'), message, { hint: 'keep one of the budgets' });
}

function checkModel(model: string, place: SourceSpan, { models: { ids, starts }, report }: TermsContext): void {
  if (ids.has(model) || starts.some((start) => model.startsWith(start))) return;
  report.addUnknown('model', model, ids.keys(), place);
}

/** Reports declared teams that already exist through the API. A team is managed either by the policy or by the API, never by both. */
export function reviewTeams({ teams }: PeopleDraft, present: TeamNames, report: Report): void {
  for (const { name, place } of teams) {
    const found = present.get(name);
    if (!found?.isOfApi || found.isDeleted || found.name !== name) continue;
    const { id } = found;
    report.add('team-exists', place, `the team \`${name}\` already exists: it was created through the API (${id})`, {
      hint: `give this team another name, or let the policy manage the existing team: \`signalbox teams change ${id} --origin policy\``,
    });
  }
}
