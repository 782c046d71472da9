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
import type { ImportedName } from './selectors.ts';
import type { CommonSettings } from './settings.ts';
import { wildcardBlock } from './wildcards.ts';
import { contextOf, fallbacksField, modelBlock } from './write-models.ts';

/** The parts of the policy to write. */
interface ImportedPolicy {
  readonly providers: readonly ImportedProvider[];
  readonly names: readonly ImportedName[];
  readonly wildcards: readonly Deployment[];
  /** Models that need an answer from the operator. Models that need an answer are written as comments. */
  readonly open: readonly Deployment[];
  readonly common: CommonSettings;
  readonly limits: ImportedLimits;
  readonly people: ImportedPeople;
  readonly guards: readonly FieldBlock[];
  readonly cache: FieldBlock | null;
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
    ...drafts.names.flatMap((name) =>
      name.models.map((one) => {
        return [one.id, modelBlock(one, name.isSelector ? {} : name, drafts.common, context)] as const;
      }),
    ),
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
    ...(drafts.guards.length > 0 ? [file('guards.yaml', GUARDS, field('guards', drafts.guards))] : []),
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
const GUARDS = 'The guards, which run in this order.';
const LIMITS = 'The limits on spend in a window of time, in Credits, and on the rate of requests.';

/** Adds the entries that need an answer from the operator, as comments. */
function withQuestions({ name, text }: PolicyText, drafts: ImportedPolicy, context: ImportContext): PolicyText {
  const entries = drafts.open.map((one) => {
    const entry = modelBlock({ id: one.group, deployments: [one], shares: [] }, {}, drafts.common, context);
    return `  # QUESTION: replace each ?, then remove the comment marks.\n${commentedText(2, field(one.group, entry))}`;
  });
  // After a comment at the end of a line, the formatter would add a second blank line.
  const gap = / # [^\n]*\n$/.test(text) ? '' : '\n';
  return { name, text: entries.length === 0 ? text : `${text}${gap}${entries.join('\n')}` };
}

function main({ names, common, cache }: ImportedPolicy): (Field | null)[] {
  const longest = Math.max(0, ...names.map(({ models }) => models.length - 1));
  const alternatives = common.alternatives ?? (longest > 3 ? Math.min(16, longest) : null);
  const gateway = block(
    field('retries_max', common.retriesMax, { beside: 'attempts after the first at each endpoint' }),
    field('alternatives', alternatives, { beside: 'models that can be tried after a failure' }),
    field('concurrency_max', common.concurrencyMax, { beside: 'requests that run at the same time' }),
  );
  const selectors = block(...names.map((one) => (one.isSelector ? selectorField(one, common) : null)));
  const orNone = (fields: FieldBlock) => (fields.fields.length > 0 ? fields : null);
  const isApart = true;
  return [
    field('version', exact('1')),
    field('credits', block(field('usd_per_credit', exact('0.001'), { beside: '1 Credit = 0.1 US cent' })), { isApart }),
    field('gateway', orNone(gateway), { isApart }),
    field('selectors', orNone(selectors), { isApart, above: [SELECTORS] }),
    field('cache', cache, { isApart }),
  ];
}

const SELECTORS = 'Names that callers can send as `model` for several models, or that every policy has for a selector.';

function providerField({ name, connection }: ImportedProvider): Field | null {
  const { preset, adapter, baseUrl, baseUrlEnv, keyEnv, isPrivate, comment } = connection;
  const address = { base_url: baseUrl, base_url_env: baseUrlEnv, api_key_env: keyEnv };
  const value = flow({ preset, adapter, ...address, allow_private_network: isPrivate || null });
  return field(name, value, comment === null ? {} : { above: [`${baseUrlEnv ?? name}: ${comment}`] });
}

const ids = (models: readonly ImportedModel[]): string[] => models.map(({ id }) => id);

function selectorField({ name, aliases, first, fallbacks }: ImportedName, common: CommonSettings): Field | null {
  // The built-in selectors other than `auto` use the weights of `auto`.
  const strategy = name === 'auto' ? 'auto' : common.strategy;
  const value = block(
    field('strategy', strategy),
    field('aliases', some(aliases)),
    field('models', flow({ require: isOneOf('model.id', ids(first)) })),
    fallbacksField(fallbacks),
  );
  return field(name, value);
}

function casesOf({ names }: ImportedPolicy): FieldBlock[] {
  const all = names.flatMap(({ models }) => models).filter((model) => !isEmbedder(model));
  return names.flatMap((one) => [
    ...[one.name, ...one.aliases].flatMap((sent) => nameCase(sent, one, all) ?? []),
    ...longCase(one, all),
  ]);
}

type Values = Readonly<Record<string, PolicyValue>>;

const caseOf = (name: string, given: Values, expect: Values): FieldBlock =>
  block(field('name', name), field('given', flow(given)), field('expect', flow(expect)));

/** A case for a name that callers send; null if the policy has no model that would show a mistake. */
function nameCase(
  sent: string,
  { name, isSelector, models: own, first: [first, ...others], fallbacks }: ImportedName,
  all: readonly ImportedModel[],
): FieldBlock | null {
  if (first && others.length === 0 && takesUsual(first)) {
    const says = isSelector
      ? `chooses ${first.id} first`
      : sent === name
        ? 'can be requested by name'
        : `means ${name}`;
    return caseOf(`${sent} ${says}`, { model: sent }, { model: first.id });
  }
  const reachable = new Set([...ids(own), ...Object.values(fallbacks).flat()]);
  const outside = all.find(({ id }) => !reachable.has(id));
  if (!isSelector || !outside) return null;
  return caseOf(
    `${sent} chooses among its own models`,
    { model: sent },
    { rejected: flow({ [outside.id]: 'selector' }) },
  );
}

/** A case for a prompt that only the fallback for long prompts can take. */
function longCase({ name, first, fallbacks }: ImportedName, all: readonly ImportedModel[]): FieldBlock[] {
  if (fallbacks.context.join() === fallbacks.error.join()) return [];
  const long = longest([...new Set([...first, ...all.filter(({ id }) => fallbacks.context.includes(id))])]);
  if (!long || !fallbacks.context.includes(long.id)) return [];
  return [
    caseOf(
      `${name} uses ${long.id} for prompts that are too long for the others`,
      { model: name, estimated_input_tokens: long.tokens },
      { model: long.id },
    ),
  ];
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
