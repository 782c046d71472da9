import type { Static } from '@sinclair/typebox';
import { list } from '../../core/define/fields.ts';
import {
  type GroupTerms,
  type HolderTerms,
  NO_GROUP_TERMS,
  NO_TERMS,
  type TeamDeclaration,
  type TeamNames,
} from '../../core/people/people.ts';
import type { AmountContext } from '../check/amounts.ts';
import { checkList, checkSection, sectionSubject } from '../check/section-checks.ts';
import { asDrafted, type DraftContext, defineSection, ORDINARY } from '../define/section.ts';
import { MODELS, otherNamesIn } from '../models/catalog.ts';
import { listedOnce } from '../models/fallbacks.ts';
import { PROVIDERS } from '../providers/providers.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import type { Report } from '../report/report.ts';
import { checkTimeZone } from '../report/time-zone.ts';
import { ratesOf } from '../schema/limits.ts';
import { readLimit } from '../sections/budget-limit.ts';
import { amountContext } from '../sections/credits.ts';
import { GATEWAY } from '../sections/gateway.ts';
import { placeAt, type Tree, valueAt } from '../yaml/tree.ts';
import { LevelBudgetText, OrganizationText, TeamText } from './schema.ts';
import { checkFormerNames, reviewReplacedTeams } from './team-renames.ts';

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
interface ModelNames {
  readonly ids: ReadonlyMap<string, SourceSpan>;
  /** Prefixes of IDs that wildcards or model servers serve. */
  readonly starts: readonly string[];
}

function termsContext(context: DraftContext): TermsContext {
  const { ids, wildcards } = context.of(MODELS);
  const { openings } = context.of(PROVIDERS);
  const starts = [...openings, ...wildcards.map(({ pattern }) => pattern.slice(0, -1))];
  return { ...amountContext(context), zone: context.of(GATEWAY).timeZone, models: { ids, starts } };
}

/** The section `organization`. */
export const ORGANIZATION = defineSection({
  name: 'organization',
  text: OrganizationText,
  guard: ORDINARY,
  page: ['Spend', '../operate/people.md#declare-teams'],
  draft(context): GroupTerms {
    const stated = checkSection('organization', OrganizationText, context);
    const { tree } = sectionSubject('organization', context);
    return stated ? groupOf(stated, tree, 'organization', termsContext(context)) : NO_GROUP_TERMS;
  },
  compile: asDrafted,
});

/** A team of the policy, with the location of its name. */
type TeamDraft = TeamDeclaration & { readonly place: SourceSpan };

/** The section `teams`. A team with errors is left out completely. */
export const TEAMS = defineSection({
  name: 'teams',
  text: list(TeamText, 'Teams that the policy manages. Other teams are created through the API.'),
  guard: ORDINARY,
  page: ['Spend', '../operate/people.md#declare-teams'],
  draft(context): readonly TeamDraft[] {
    const { report } = context;
    const items = checkList('teams', TeamText, context);
    checkFormerNames(items, report);
    const terms = termsContext(context);
    const teams = items.flatMap(({ data, tree, path }) => {
      if (!data) return [];
      const { name, formerly, ...text } = data;
      const names = { name, ...(formerly !== undefined && { formerly }) };
      return { ...names, place: placeAt(tree, 'name'), ...groupOf(text, tree, path, terms) };
    });
    reviewFallbacks(context, teams);
    return teams;
  },
  *compile(drafts, { installation, report }): Generator<undefined, readonly TeamDeclaration[]> {
    yield;
    const { today, teams, teamsWithKeys } = installation;
    if (teams) reviewTeams(drafts, teams, report);
    if (today !== undefined && teams && teamsWithKeys) reviewReplacedTeams(drafts, teams, teamsWithKeys, report);
    return drafts.map(({ place: _, ...team }) => team);
  },
});

/** Warns about fallbacks that those who may use the model may not use. */
function reviewFallbacks(context: DraftContext, teams: readonly TeamDraft[]): void {
  const { drafts } = context.of(MODELS);
  const organization = context.of(ORGANIZATION);
  const sound = new Set(drafts.map(({ model }) => model.id));
  const levels = [
    { who: 'the organization', path: 'organization.models', models: organization.models },
    ...teams.map(({ name, models }) => ({ who: `the team \`${name}\``, path: `teams.${name}.models`, models })),
  ];
  for (const owner of otherNamesIn(context).filter(({ name }) => sound.has(name))) {
    for (const [id, { place }] of listedOnce(owner)) {
      if (!sound.has(id) || id === owner.name) continue;
      const excluding = levels.filter(({ models }) => models?.includes(owner.name) && !models.includes(id));
      for (const { who, path } of excluding) {
        const message = `${who} may use \`${owner.name}\`, but not its fallback \`${id}\``;
        context.report.add('idle-fallback', place, message, { hint: `add \`${id}\` to \`${path}\`` });
      }
    }
  }
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
function reviewTeams(teams: readonly TeamDraft[], present: TeamNames, report: Report): void {
  for (const { name, place } of teams) {
    const found = present.get(name);
    if (!found?.isOfApi || found.isDeleted || found.name !== name) continue;
    const { id } = found;
    report.add('team-exists', place, `the team \`${name}\` already exists: it was created through the API (${id})`, {
      hint: `give this team another name, or let the policy manage the existing team: \`signalbox teams change ${id} --origin policy\``,
    });
  }
}
