import {
  block,
  commentedText,
  exact,
  type Field,
  type FieldBlock,
  field,
  flow,
  isOneOf,
  type PolicyText,
  type PolicyValue,
  some,
  writeFile,
} from '../../../policy/yaml/emit.ts';
import type { ImportedLimits } from './budgets.ts';
import type { ImportContext } from './context.ts';
import type { Deployment } from './entries.ts';
import type { ImportedModel, ImportedProvider } from './models.ts';
import type { ImportedPeople } from './people.ts';
import type { ImportedSelector, SelectorPlan } from './selectors.ts';
import type { CommonSettings } from './settings.ts';
import { wildcardBlock } from './wildcards.ts';
import { contextOf, modelBlock, qualityOf } from './write-models.ts';

/** The parts of the policy to write. */
interface ImportedPolicy {
  readonly providers: readonly ImportedProvider[];
  readonly chosen: SelectorPlan;
  readonly wildcards: readonly Deployment[];
  /** Models that need an answer from the operator. Models that need an answer are written as comments. */
  readonly open: readonly Deployment[];
  readonly common: CommonSettings;
  readonly limits: ImportedLimits;
  readonly people: ImportedPeople;
  /** The name of the configuration. */
  readonly source: string;
}

const MODELINE = 'yaml-language-server: $schema=./policy.schema.json';

/** Writes the files of the policy. */
export function writePolicy(drafts: ImportedPolicy, context: ImportContext): PolicyText[] {
  const { limits, people, source, providers } = drafts;
  const { organization } = people;
  const teams = field('teams', some(people.teams), { isApart: organization !== null });
  const budgets = field('budgets', some(limits.budgets));
  const rateLimits = field('rate_limits', some(limits.rateLimits), { isApart: budgets !== null });
  const entries = [
    ...modelsOf(drafts).map((one) => [one.id, modelBlock(one, drafts.common, context)] as const),
    ...drafts.wildcards.map((one) => [one.group, wildcardBlock(one, drafts.common, context)] as const),
  ];
  const models = entries.map(([id, value], at) => field(id, value, { isApart: at > 0 }));
  const file = (name: string, about: string, ...fields: readonly (Field | null)[]) =>
    writeFile(name, [MODELINE, about], ...fields);
  const catalog = file('models.yaml', CATALOG, field('models', block(...models)));
  return [
    file(
      'signalbox.yaml',
      `Imported from the LiteLLM configuration ${source} on ${context.today}. Edit it freely: all files of this folder are one policy.`,
      ...main(drafts),
    ),
    file(
      'providers.yaml',
      'The providers of the models. A provider is left out, with its models, while its variable is not set.',
      field('providers', block(...providers.map(providerField))),
    ),
    withQuestions(catalog, drafts, context),
    ...(budgets || rateLimits ? [file('limits.yaml', LIMITS, budgets, rateLimits)] : []),
    ...(organization || teams ? [file('people.yaml', PEOPLE, field('organization', organization), teams)] : []),
    file(
      'cases.yaml',
      'The meaning of the configuration, as cases. They must hold before a policy becomes active.',
      field('cases', casesOf(drafts)),
    ),
  ];
}

const CATALOG = 'The catalog. Prices are USD per 1M tokens. Quality is the share of good answers.';
const PEOPLE =
  'Teams, and the terms of users. Create users with `users create --team`, and their keys with `keys create --user`.';
const LIMITS = 'The limits on spend in a window of time, in Credits, and on the rate of requests.';

/** Adds the entries that need an answer from the operator, as comments. */
function withQuestions({ name, text }: PolicyText, drafts: ImportedPolicy, context: ImportContext): PolicyText {
  const entries = drafts.open.map((one) => {
    const entry = modelBlock({ id: one.group, deployments: [one] }, drafts.common, context);
    return `  # QUESTION: replace each ?, then remove the comment marks.\n${commentedText(2, field(one.group, entry))}`;
  });
  // After a comment at the end of a line, the formatter would add a second blank line.
  const gap = / # [^\n]*\n$/.test(text) ? '' : '\n';
  return { name, text: entries.length === 0 ? text : `${text}${gap}${entries.join('\n')}` };
}

const modelsOf = ({ chosen }: ImportedPolicy): ImportedModel[] => chosen.groups.flatMap(({ models }) => models);

function main({ chosen, common }: ImportedPolicy): (Field | null)[] {
  const longest = Math.max(0, ...chosen.selectors.map(({ steps }) => steps.flat().length - 1));
  const alternatives = common.alternatives ?? (longest > 3 ? Math.min(16, longest) : null);
  const gateway = block(
    field('retries_max', common.retriesMax, { beside: 'attempts after the first at each endpoint' }),
    field('alternatives', alternatives, { beside: 'models that can be tried after a failure' }),
    field('concurrency_max', common.concurrencyMax, { beside: 'requests that run at the same time' }),
  );
  const embedders = new Set(chosen.groups.flatMap(({ models }) => models.filter(isEmbedder).map(({ id }) => id)));
  const selectors = block(
    ...chosen.selectors.flatMap((one) => one.names.map((name) => selectorField(name, one, common))),
    ...chosen.aliases.map(({ name, model }) => {
      const vector_space = embedders.has(model) ? model : null;
      return field(
        name,
        flow({ strategy: 'auto', vector_space, models: flow({ require: isOneOf('model.id', [model]) }) }),
      );
    }),
  );
  const orNone = (fields: FieldBlock) => (fields.fields.length > 0 ? fields : null);
  const isApart = true;
  return [
    field('version', exact('2')),
    field('credits', block(field('usd_per_credit', exact('0.001'), { beside: '1 Credit = 0.1 US cent' })), { isApart }),
    field('gateway', orNone(gateway), { isApart }),
    field('selectors', orNone(selectors), { isApart, above: [SELECTORS] }),
    field('preferences', some(chosen.selectors.flatMap(preferencesOf)), { isApart, above: [PREFERENCES] }),
  ];
}

const SELECTORS =
  'Names that callers can send as `model` for one or more models. A request that names a model’s own ID gets that model only.';
const PREFERENCES =
  'The order of the models of a selector. `worth` brings their quality to 0.9, 0.8 and so on; if you correct a quality, correct `worth` too.';

function providerField({ name, connection }: ImportedProvider): Field | null {
  const { preset, adapter, baseUrl, baseUrlEnv, keyEnv, isPrivate, comment } = connection;
  const address = { base_url: baseUrl, base_url_env: baseUrlEnv, api_key_env: keyEnv };
  const value = flow({ preset, adapter, ...address, allow_private_network: isPrivate || null });
  return field(name, value, comment === null ? {} : { above: [`${baseUrlEnv ?? name}: ${comment}`] });
}

const ids = (models: readonly ImportedModel[]): string[] => models.map(({ id }) => id);

function selectorField(name: string, { names, steps }: ImportedSelector, common: CommonSettings): Field | null {
  const models = steps.flat();
  const isOrdered = steps.length > 1;
  // The built-in selectors other than `auto` use the weights of `auto`.
  const strategy = isOrdered || name === 'auto' ? 'auto' : common.strategy;
  const value = block(
    field('strategy', strategy),
    isOrdered ? field('options', flow({ quality: 1, cost: 0, latency: 0 })) : null,
    field('models', flow({ require: isOneOf('model.id', ids(models)) })),
  );
  const order = steps.map((step) => step.map(({ id }) => id).join(' or ')).join(', then ');
  const said = name === names[0] ? isOrdered && order : `as ${names[0]}`;
  return field(name, value, said ? { above: [said] } : {});
}

/** The target quality of the first step, and the distance from each step to the next. */
const BEST = 0.9;
const STEP = 0.1;

function preferencesOf({ names, steps }: ImportedSelector): FieldBlock[] {
  const [name = ''] = names;
  if (steps.length < 2) return [];
  const step = Math.min(STEP, BEST / steps.length);
  const when = isOneOf('request.model', names);
  return steps.flatMap((models, at) => {
    // Models of the same step with different qualities get different amounts, so that all reach the quality of the step.
    const worthOf = (model: ImportedModel) => Math.round((BEST - step * at - qualityOf(model)) * 1000) / 1000;
    const byWorth = Map.groupBy(models, worthOf);
    return [...byWorth].flatMap(([worth, ones], part) => {
      if (worth === 0) return [];
      const suffix = part === 0 ? '' : `.${part + 1}`;
      return [
        block(
          field('name', `${name}:${at + 1}${suffix}`),
          field('when', when),
          field('prefer', isOneOf('model.id', ids(ones))),
          field('worth', worth),
        ),
      ];
    });
  });
}

function casesOf(drafts: ImportedPolicy): FieldBlock[] {
  const { groups, selectors, aliases } = drafts.chosen;
  const byName = groups.flatMap(({ name, models }) =>
    models.some((model) => model.id === name && takesUsual(model))
      ? [caseOf(`${name} can be requested by name`, { model: name }, { model: name })]
      : [],
  );
  const all = modelsOf(drafts).filter((model) => !isEmbedder(model));
  const usual = new Set(ids(all.filter(takesUsual)));
  const byAlias = aliases.flatMap(({ name, model }) =>
    usual.has(model) ? [caseOf(`${name} means ${model}`, { model: name }, { model })] : [],
  );
  const bySelector = selectors.flatMap((selector) =>
    selector.names.flatMap((name) => selectorCases(name, selector, all)),
  );
  return [...byName, ...byAlias, ...bySelector];
}

type Values = Readonly<Record<string, PolicyValue>>;

const caseOf = (name: string, given: Values, expect: Values): FieldBlock =>
  block(field('name', name), field('given', flow(given)), field('expect', flow(expect)));

function selectorCases(
  name: string,
  { steps, forLength }: ImportedSelector,
  all: readonly ImportedModel[],
): FieldBlock[] {
  const inside = new Set(steps.flat());
  const cases: FieldBlock[] = [];
  const [first, ...others] = steps[0] ?? [];
  const outside = all.find((model) => !inside.has(model));
  if (first && others.length === 0 && takesUsual(first))
    cases.push(caseOf(`${name} chooses ${first.id} first`, { model: name }, { model: first.id }));
  else if (outside)
    cases.push(
      caseOf(`${name} chooses among its own models`, { model: name }, { rejected: flow({ [outside.id]: 'selector' }) }),
    );
  const long = forLength > 0 ? longest([...inside]) : null;
  if (long)
    cases.push(
      caseOf(
        `${name} uses ${long.id} for prompts that are too long for the others`,
        { model: name, estimated_input_tokens: long.tokens },
        { model: long.id },
      ),
    );
  return cases;
}

/** More tokens than any case needs that states no length. */
const USUAL_MAX = 4_096;

/** Whether a case can expect the model without stating a length. */
const takesUsual = (model: ImportedModel): boolean =>
  !isEmbedder(model) && (contextOf(model) ?? USUAL_MAX) >= USUAL_MAX;

const isEmbedder = ({ deployments }: ImportedModel): boolean => deployments.some((one) => one.isEmbedder);

/** A generous allowance for the output of a request without a cap. */
const ROOM = 20_000;

/** The model with the largest context window, and an input length that only this model accepts; null if there is none. */
function longest(models: readonly ImportedModel[]): { readonly id: string; readonly tokens: number } | null {
  const windows = models.flatMap((model) => {
    const window = contextOf(model);
    return window === null ? [] : [{ id: model.id, window }];
  });
  const [first, second] = windows.sort((a, b) => b.window - a.window);
  if (windows.length < models.length || !first || !second || first.window < second.window + ROOM) return null;
  return { id: first.id, tokens: second.window + 1 };
}
