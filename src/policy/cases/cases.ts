import type { TSchema } from '@sinclair/typebox';
import { REJECTIONS } from '../../core/decision/decision.ts';
import { list } from '../../core/define/fields.ts';
import { ERRORS } from '../../core/errors.ts';
import type { PolicyCase } from '../../core/policy/case.ts';
import { type AmountContext, creditsAt } from '../check/amounts.ts';
import { validPartsOf } from '../check/check.ts';
import { checkExcluded } from '../check/key-rules.ts';
import { checkList, emptyMap, type NamedItem } from '../check/section-checks.ts';
import type { SentName } from '../define/expression-checker.ts';
import { type DraftContext, type DraftReader, defineSection, ORDINARY } from '../define/section.ts';
import { GUARDS } from '../guards/guards.ts';
import { MODELS } from '../models/catalog.ts';
import { PROVIDERS } from '../providers/providers.ts';
import type { Report } from '../report/report.ts';
import { inSteps } from '../report/steps.ts';
import { CONSTRAINTS } from '../rules/constraints.ts';
import { amountContext } from '../sections/credits.ts';
import { TASKS } from '../sections/tasks.ts';
import { openNamesOf } from '../selectors/selectors.ts';
import { alternativesIn } from '../yaml/slip-hints.ts';
import { entryOf, placeAt, valueAt } from '../yaml/tree.ts';
import { CaseText, ConstraintsText, ExpectText, GivenText } from './schema.ts';

/** The names that test cases may refer to. */
type NamesOf = Record<'models' | 'providers' | 'constraints' | 'tasks' | 'guards', Names>;
interface CaseNames extends Readonly<NamesOf> {
  readonly patterns: readonly string[];
  /** Returns the model ID that a name means through a wildcard; null for none. */
  wildcard(name: string): string | null;
  /** Collects the names that cases send as `model`. */
  readonly sent: SentName[];
}

interface Names {
  has(name: string): boolean;
  keys(): Iterable<string>;
}

/**
 * The section `cases`: the test cases of the policy. Every name in them must exist. `admin/use-cases/policy/rehearse.ts` runs the test cases
 * of a policy.
 */
export const CASES = defineSection({
  name: 'cases',
  text: list(CaseText, 'Test cases of the policy, which run before it becomes active.'),
  guard: ORDINARY,
  page: ['Run', 'testing.md'],
  draft(context) {
    const names = namesFor(context.of);
    return { cases: draftCases(amountContext(context), names), sent: names.sent };
  },
  *compile({ cases, sent }, { check }): Generator<undefined, readonly PolicyCase[]> {
    yield* inSteps(sent, (name) => check.sent(name));
    return cases;
  },
});

function namesFor(of: DraftReader): CaseNames {
  const namesIn = (named: readonly { readonly name: string }[]) => new Set(named.map(({ name }) => name));
  const { ids, wildcards } = of(MODELS);
  const { named: providers, openings } = of(PROVIDERS);
  return {
    models: ids,
    tasks: namesIn(of(TASKS)),
    providers: namesIn(providers),
    constraints: namesIn(of(CONSTRAINTS)),
    guards: namesIn(of(GUARDS)),
    patterns: [...wildcards.map(({ pattern }) => pattern), ...openings.map((opening) => `${opening}*`)],
    wildcard: openNamesOf(of, null),
    sent: [],
  };
}

function draftCases(context: DraftContext & AmountContext, names: CaseNames): PolicyCase[] {
  return checkList('cases', CaseText, context).flatMap((named) => {
    const { data, tree, name } = named;
    checkNames(named, data ?? readNames(named), names, context.report);
    if (!data) return [];
    checkKeys(named, data, context.report);
    const { constraints, costBelowCredits } = readCosts(named, data, context);
    const { metadata, key, team, user, escalated, time = null, answer, body, model: usual, ...query } = data.given;
    const model = typeof body?.model === 'string' ? body.model : usual;
    const { expect } = data;
    return [
      {
        name,
        place: placeAt(tree, 'name'),
        given: {
          model,
          query: Object.fromEntries(
            Object.entries({ ...query, constraints }).filter(([, value]) => value !== undefined),
          ),
          ...(body && { body }),
          metadata,
          key: { id: key.id, labels: key.labels, models: key.models ?? null },
          team: team ?? null,
          user: user ?? null,
          ...(escalated !== undefined && { escalated }),
          time,
          ...(answer !== undefined && { answer }),
        },
        expect: {
          models: expect.model === undefined ? null : [expect.model].flat(),
          provider: expect.provider ?? null,
          task: expect.task ?? null,
          reason: expect.reason ?? null,
          tier: expect.tier ?? null,
          rejected: expect.rejected,
          costBelowCredits,
          latencyBelowMs: expect.latency_below_ms ?? null,
          qualityAbove: expect.quality_above ?? null,
          blocked: expect.blocked ?? null,
          masked: expect.masked,
          repaired: expect.repaired,
          cached: expect.cached ?? null,
          refused: expect.refused ?? null,
        },
      },
    ];
  });
}

/** Reads the amounts of a case. The query gets Credits as a number, as a request states them. */
function readCosts({ tree, path }: NamedItem<CaseText>, { given }: CaseText, context: DraftContext & AmountContext) {
  const read = (schema: TSchema, key: string, ...steps: readonly string[]) => {
    const owner = valueAt(tree, ...steps);
    return owner ? creditsAt(schema, { path: [path, ...steps].join('.'), tree: owner }, key, context) : null;
  };
  const { constraints } = given;
  const { max_cost_credits: ceiling } = ConstraintsText.properties;
  const { cost_below_credits: bound } = ExpectText.properties;
  const cost = read(ceiling, 'max_cost_credits', 'given', 'constraints');
  return {
    constraints: constraints && { ...constraints, ...(cost !== null && { max_cost_credits: cost }) },
    costBelowCredits: read(bound, 'cost_below_credits', 'expect'),
  };
}

/** Returns the valid references of a case that does not satisfy its schema. */
function readNames({ tree, place }: NamedItem<CaseText>) {
  const given = validPartsOf(GivenText, valueAt(tree, 'given') ?? emptyMap(place));
  return { given, expect: validPartsOf(ExpectText, valueAt(tree, 'expect') ?? emptyMap(place)) };
}

function checkNames(
  { tree }: NamedItem<CaseText>,
  { given, expect }: ReturnType<typeof readNames>,
  names: CaseNames,
  report: Report,
): void {
  const check = (what: string, name: string | undefined, known: Names, ...path: readonly (string | number)[]) => {
    if (name === undefined || known.has(name) || (what === 'model' && names.wildcard(name) === name)) return;
    report.addUnknown(what, name, known.keys(), placeAt(tree, ...path));
  };
  if (given.model !== undefined) names.sent.push({ name: given.model, place: placeAt(tree, 'given', 'model') });
  const listable = new Set([...names.models.keys(), ...names.patterns]);
  for (const [at, id] of (given.key?.models ?? []).entries()) {
    check('model', id, listable, 'given', 'key', 'models', at);
  }
  for (const [at, id] of [expect.model ?? []].flat().entries()) {
    // If the case states a single model instead of a list, the location of the value replaces the location of the list item.
    const several = alternativesIn(id);
    if (several) {
      const hint = `write a list: [${several.join(', ')}]`;
      report.add('unknown-reference', placeAt(tree, 'expect', 'model', at), `there is no model \`${id}\``, { hint });
    } else check('model', id, names.models, 'expect', 'model', at);
  }
  check('provider', expect.provider, names.providers, 'expect', 'provider');
  check('task', expect.task, names.tasks, 'expect', 'task');
  check('guard', expect.blocked, names.guards, 'expect', 'blocked');
  for (const key of ['masked', 'repaired'] as const) {
    for (const [at, guard] of (expect[key] ?? []).entries()) check('guard', guard, names.guards, 'expect', key, at);
  }
  check('error code', expect.refused, new Set(Object.keys(ERRORS)), 'expect', 'refused');
  const reasons = new Set([...names.constraints.keys(), ...Object.keys(REJECTIONS)]);
  const rejected = valueAt(tree, 'expect', 'rejected');
  for (const [id, reason] of Object.entries(expect.rejected ?? {})) {
    const entry = rejected && entryOf(rejected, id);
    if (entry && !names.models.has(id) && names.wildcard(id) !== id)
      report.addUnknown('model', id, names.models.keys(), entry.place);
    check('constraint or kind of rejection', reason, reasons, 'expect', 'rejected', id);
  }
}

function checkKeys({ tree, path, place }: NamedItem<CaseText>, { expect }: CaseText, report: Report): void {
  const subjectAt = (key: string) => ({ path: `${path}.${key}`, tree: valueAt(tree, key) ?? emptyMap(place) });
  checkExcluded(
    GivenText,
    subjectAt('given'),
    report,
    () => 'either `body` or the other keys: `body` is the whole request',
  );
  const stated = subjectAt('expect');
  checkExcluded(
    ExpectText,
    stated,
    report,
    () => 'either `refused` or the other key: a refused request has no chosen model',
  );
  const { rejected, masked, repaired, ...others } = expect;
  const keys = Object.keys(others).length + Object.keys(rejected).length + masked.length + repaired.length;
  if (keys > 0) return;
  report.add('missing-key', stated.tree.place, `\`${stated.path}\` has no key`, { expected: 'at least one key' });
}
