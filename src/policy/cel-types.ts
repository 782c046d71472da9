import { Environment } from '@marcbachmann/cel-js';
import type { BudgetScope } from '../core/budget.ts';
import { lazy } from '../core/lazy.ts';
import type { LimitScope } from '../core/rate-limit.ts';
import type { RuleScope } from '../core/rules.ts';
import { addClaimObject, ClaimObject } from './claim-object.ts';
import type { EndpointDraft, ModelDraft } from './models.ts';

/**
 * Size limits of fields that callers control. A condition that reads a larger field fails, and so counts as true. With
 * these limits the cost of every condition is known when the policy is loaded.
 */

/** Entries of `request.metadata`. */
export const METADATA_MAX = 64;
/** Characters of `request.user`, and of each name and text of `request.metadata`. */
export const TEXT_MAX = 1024;
/** Entries of a list of a request, such as its programming languages, and of a list or map of claims. */
export const LIST_ENTRIES_MAX = 256;

/**
 * The kind of an expression decides its variables: the `when` of a rule has the request, the key and
 * whose it is, and the time; a budget the parts of them that the ledger keeps; a rate limit the key and whose it is; the `require` of a
 * constraint the model and its endpoint; a filter or preference the model; an issuer of tokens their claims.
 */
export type CelKind = 'when' | 'budget' | 'limit' | 'constraint' | 'model' | 'claims';

/**
 * All fields of expressions: type → field → CEL type and meaning. Figures are doubles, as JS numbers
 * are. The environments, hints and docs are made from this table.
 */
export const FIELDS = {
  Request: {
    operation: ['string', 'The operation: `chat` or `embed`.'],
    model: ['string', 'The requested selector or model.'],
    task: ['string', 'Its task, such as `coding`.'],
    difficulty: ['string', '`easy`, `hard` or `usual`.'],
    input_tokens: ['double', 'Expected input, tokens.'],
    max_tokens: ['double', "The caller's cap on output tokens; 0 without one."],
    stream: ['bool', 'Whether it asks for a stream.'],
    tools: ['bool', 'Whether it offers tools.'],
    images: ['double', 'Number of images.'],
    output_tokens: ['double', 'Expected visible output of a choice, tokens.'],
    needs: ['list<string>', 'Features that the model must have, such as `tools`.'],
    languages: ['list<string>', 'Programming languages of the question or its requirements, by canonical names.'],
    natural_language: ['string', 'Language of the question, such as `en` (ISO 639-1); `und` if unclear.'],
    budget_limit: ['double', '`budget_limit`, Credits; 0 without one.'],
    user: ['string', '`user`; empty without one.'],
    metadata: ['map<string, string>', '`metadata`; a missing key reads as the empty text.'],
  },
  BudgetRequest: {
    model: ['string', 'The requested selector or model.'],
  },
  Key: {
    id: ['string', 'ID of the key.'],
    labels: ['map<string, string>', 'Labels of the key; a missing one reads as the empty text.'],
  },
  Team: {
    id: ['string', 'ID of the team that the key belongs to; empty for none.'],
    name: ['string', 'Its name.'],
  },
  User: {
    id: ['string', 'ID of the user that the key belongs to; empty for none.'],
    name: ['string', 'Its name.'],
    role: ['string', 'Its role, such as `member` or `lead`.'],
  },
  BudgetTeam: {
    id: ['string', 'ID of the team that the key belonged to; empty for none.'],
    name: [
      'string',
      'Its name, in `match` alone, to be compared with texts. Each is replaced by the ID of its team when the policy loads.',
    ],
  },
  BudgetUser: {
    id: ['string', 'ID of the user that the key belonged to; empty for none.'],
  },
  Time: {
    year: ['double', 'Such as 2026.'],
    month: ['double', '1 to 12.'],
    day: ['double', '1 to 31.'],
    weekday: ['double', '1 is Monday, 7 is Sunday.'],
    hour: ['double', '0 to 23.'],
    minute: ['double', '0 to 59.'],
  },
  Model: {
    id: ['string', 'ID in the catalog.'],
    price: ['Price', 'Of its first endpoint.'],
    context_window: ['double', 'Tokens of input and output together.'],
    max_output: ['double', 'Most output tokens.'],
    capabilities: ['list<string>', 'Its features, such as `tools`.'],
    languages: ['list<string>', 'Programming languages that it handles, by canonical names.'],
    tags: ['list<string>', 'Your own marks.'],
    quality: ['map<string, double>', 'Task → share of good answers, 0 to 1, or `default`.'],
    latency: ['Latency', 'How fast it is by the catalog.'],
    reasoning_tokens: ['double', 'Hidden reasoning tokens expected.'],
    provider: ['string', 'Provider of its first endpoint.'],
    providers: ['list<string>', 'Providers of all its endpoints.'],
  },
  Endpoint: {
    provider: ['string', 'Name of the provider.'],
    upstream: ['string', "The provider's name for the model."],
    regions: ['list<string>', 'Where it computes.'],
    price: ['Price', 'Its own price.'],
  },
  Price: {
    input: ['double', 'USD per 1M input tokens, of the shortest inputs.'],
    cached_input: ['double', 'USD per 1M input tokens read from the cache.'],
    output: ['double', 'USD per 1M output tokens.'],
    per_request: ['double', 'USD for each request.'],
  },
  Latency: {
    ttft_ms: ['double', 'Median ms to the first content.'],
    output_tokens_per_second: ['double', 'Median rate of visible output.'],
  },
  // Those that every issuer states. Others are read in the same way: their types are known only when a token is read.
  Claims: {
    iss: ['string', 'The issuer.'],
    sub: ['string', 'The subject, unique at its issuer.'],
    aud: ['dyn', 'The audience: a text or a list.'],
  },
} as const satisfies Record<string, Record<string, readonly [type: string, means: string]>>;

export type TypeName = keyof typeof FIELDS;

export const isTypeName = (name: string): name is TypeName => Object.hasOwn(FIELDS, name);

/** Kind of expression → variable → its type. */
export const VARIABLES: Readonly<Record<CelKind, Readonly<Record<string, TypeName>>>> = {
  when: { request: 'Request', key: 'Key', team: 'Team', user: 'User', time: 'Time' },
  budget: { key: 'Key', team: 'BudgetTeam', user: 'BudgetUser', request: 'BudgetRequest' },
  limit: { key: 'Key', team: 'Team', user: 'User' },
  constraint: { model: 'Model', endpoint: 'Endpoint' },
  model: { model: 'Model' },
  claims: { claims: 'Claims' },
};

/** The types of variables whose fields are not known here. */
const OPEN_TYPES: Partial<Record<TypeName, string>> = { Claims: 'map<string, dyn>' };

type View = Readonly<Record<string, unknown>>;

/** CEL type → the JS type of its values. */
interface FieldValues {
  readonly double: number;
  readonly string: string;
  readonly bool: boolean;
  readonly 'list<string>': readonly string[];
  readonly 'map<string, string>': ReadonlyMap<string, string>;
}
/** The fields of a type by the table: a source that lacks one, or has another type, does not compile. */
type FieldsOf<Name extends TypeName> = {
  readonly [Field in keyof (typeof FIELDS)[Name]]: (typeof FIELDS)[Name][Field] extends readonly [
    infer Type extends keyof FieldValues,
    string,
  ]
    ? FieldValues[Type]
    : unknown;
};

/** The value of a declared type. Its own source is not among its fields. */
interface TypeView {
  readonly source: View;
}

/**
 * The class of a type's values: CEL treats an object literal as a map. A field is read from the source when an expression asks
 * for it, because most expressions read one or two of them.
 */
function viewClass(type: TypeName): new (source: View) => TypeView {
  class Fields implements TypeView {
    readonly source: View;
    constructor(source: View) {
      this.source = source;
    }
  }
  for (const [field, [kind]] of Object.entries(FIELDS[type])) {
    Object.defineProperty(Fields.prototype, field, {
      get(this: TypeView) {
        const value = this.source[field];
        return kind === 'map<string, string>' && value instanceof Map ? labels(value) : value;
      },
    });
  }
  return Fields;
}

const CLASSES = new Map(
  Object.keys(FIELDS)
    .filter(isTypeName)
    .map((type) => [type, viewClass(type)]),
);

const instance = <Name extends TypeName>(name: Name, fields: FieldsOf<Name>): TypeView =>
  new (CLASSES.get(name)!)(fields);

function requestView(from: RuleScope['request']): TypeView {
  const view = instance('Request', from);
  /** Makes conditions that read a field fail, because it is larger than the limit of steps assumes. */
  const refuseToRead = (field: keyof RuleScope['request'], why: string) =>
    withhold({ request: view }, 'request', field, `${why}, the most that a condition reads`);
  if (from.languages.length > LIST_ENTRIES_MAX) refuseToRead('languages', `names more than ${LIST_ENTRIES_MAX}`);
  if (from.user.length > TEXT_MAX) refuseToRead('user', `has more than ${TEXT_MAX} characters`);
  if (from.metadata.size > METADATA_MAX) refuseToRead('metadata', `has more than ${METADATA_MAX} entries`);
  else if (from.metadata.size > 0 && hasLongText(from.metadata)) {
    refuseToRead('metadata', `has a name or text of more than ${TEXT_MAX} characters`);
  }
  return view;
}

const hasLongText = (metadata: ReadonlyMap<string, string>): boolean =>
  metadata.entries().some((texts) => texts.some(({ length }) => length > TEXT_MAX));

/** Makes expressions that read a field fail. */
function withhold(view: View, owner: string, field: string, why: string): void {
  const value = view[owner];
  if (typeof value !== 'object' || value === null) return;
  Object.defineProperty(value, field, {
    get(): never {
      throw new Error(`\`${owner}.${field}\` ${why}`);
    },
  });
}

const LIMITS = { maxAstNodes: 500, maxDepth: 40, maxListElements: 200, maxMapEntries: 50, maxCallArguments: 8 };

const ENVIRONMENTS: Readonly<Record<CelKind, () => Environment>> = {
  when: lazy(() => environmentFor('when')),
  budget: lazy(() => environmentFor('budget')),
  limit: lazy(() => environmentFor('limit')),
  constraint: lazy(() => environmentFor('constraint')),
  model: lazy(() => environmentFor('model')),
  claims: lazy(() => environmentFor('claims')),
};

/** The CEL environment for a kind of expression. Made once. */
export const environmentOf = (kind: CelKind): Environment => ENVIRONMENTS[kind]();

function environmentFor(kind: CelKind): Environment {
  const environment = new Environment({ limits: LIMITS });
  for (const [name, ctor] of CLASSES) {
    const fields = Object.entries(FIELDS[name]).map(([field, [type]]) => [field, type]);
    environment.registerType(name, { ctor, fields: Object.fromEntries(fields) });
  }
  for (const [name, type] of Object.entries(VARIABLES[kind]))
    environment.registerVariable(name, OPEN_TYPES[type] ?? type);
  if (kind === 'claims') addClaimObject(environment);
  return environment;
}

function readOrEmpty(this: ReadonlyMap<string, string>, key: string): string {
  return Map.prototype.get.call(this, key) ?? '';
}

const copies = new WeakMap<ReadonlyMap<string, string>, ReadonlyMap<string, string>>();

/** A map whose missing keys read as the empty text. Its class stays Map, which CEL requires. Conditions share one copy. */
function labels(from: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const known = copies.get(from);
  if (known) return known;
  const copy = Object.assign(new Map(from), { get: readOrEmpty });
  copies.set(from, copy);
  return copy;
}

/** Caches the last view, because all conditions of a request share it. */
function cachingLast<Scope extends object, Value>(make: (scope: Scope) => Value): (scope: Scope) => Value {
  let last: { readonly scope: Scope; readonly value: Value } | null = null;
  return (scope) => {
    if (last?.scope !== scope) last = { scope, value: make(scope) };
    return last.value;
  };
}

/** All requests of a minute share their time. */
const timeOf = cachingLast((time: RuleScope['time']) => instance('Time', time));

/** Most callers belong to nobody, and share these. */
const teamOf = cachingLast((team: RuleScope['team']) => instance('Team', team));
const userOf = cachingLast((user: RuleScope['user']) => instance('User', user));

/** The CEL view of a scope. It reads the request and the time only when an expression does, because scopes observe that. */
class ScopeView {
  readonly [variable: string]: unknown;
  readonly key: TypeView;
  readonly team: TypeView;
  readonly user: TypeView;
  readonly #scope: RuleScope;
  #request: TypeView | null = null;

  constructor(scope: RuleScope) {
    this.#scope = scope;
    this.key = instance('Key', scope.key);
    this.team = teamOf(scope.team);
    this.user = userOf(scope.user);
  }

  get request(): TypeView {
    const { request } = this.#scope;
    this.#request ??= requestView(request);
    return this.#request;
  }

  get time(): TypeView {
    return timeOf(this.#scope.time);
  }
}

/** The CEL view of a scope. */
export const viewOf = cachingLast((scope: RuleScope): View => new ScopeView(scope));

/** The CEL view of a budget's scope. */
export const budgetViewOf = cachingLast(({ request, key, team, user }: BudgetScope) => ({
  request: instance('BudgetRequest', request),
  key: instance('Key', key),
  // No expression that runs for a request reads the name: it was replaced by the ID.
  team: instance('BudgetTeam', { id: team.id, name: '' }),
  user: instance('BudgetUser', user),
}));

/** The CEL view of a rate limit's scope. */
export function limitViewOf({ key, team, user }: LimitScope): View {
  return { key: instance('Key', key), team: teamOf(team), user: userOf(user) };
}

/** The CEL view of claims, which are JSON. Reading a claim that is missing fails. */
export function claimsViewOf(claims: Readonly<Record<string, unknown>>): View {
  const read = readable(claims, 0);
  // All claims together are a map, so that `"groups" in claims` tests for a claim.
  return { claims: read instanceof ClaimObject ? new Map(read) : read };
}

/**
 * Levels of lists and maps of claims. What is deeper or larger is left out, and reading it fails. So does reading a list that
 * has such an entry: without it, the list could pass a test that all entries have to pass.
 */
const CLAIM_DEPTH_MAX = 6;

function readable(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return value.length <= TEXT_MAX ? value : undefined;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  if (depth === CLAIM_DEPTH_MAX || entries.length > LIST_ENTRIES_MAX) return undefined;
  const read = entries.map(([name, one]) => [name, readable(one, depth + 1)] as const);
  const kept = read.filter(([, one]) => one !== undefined);
  if (!Array.isArray(value)) return new ClaimObject(kept);
  return kept.length < read.length ? undefined : kept.map(([, one]) => one);
}

/** The CEL views of a model, one for each endpoint. */
export function modelViews(
  { model, endpoints, defaultQuality }: ModelDraft,
  capabilities: readonly string[],
  taskNames: readonly string[],
): readonly View[] {
  const prices = endpoints.map(({ usd }) => instance('Price', usd));
  const view = instance('Model', {
    id: model.id,
    price: prices[0] ?? instance('Price', { input: 0, cached_input: 0, output: 0, per_request: 0 }),
    context_window: model.contextWindow,
    max_output: model.maxOutput,
    capabilities,
    languages: [...model.languages],
    tags: model.tags,
    quality: new Map([['default', defaultQuality], ...taskNames.map((task, at) => [task, model.quality[at]] as const)]),
    latency: instance('Latency', {
      ttft_ms: model.latency.ttftMs,
      output_tokens_per_second: model.latency.outputTokensPerSecond,
    }),
    reasoning_tokens: model.reasoningTokens,
    provider: endpoints[0]?.endpoint.provider ?? '',
    providers: endpoints.map(({ endpoint }) => endpoint.provider),
  });
  return endpoints.map(({ endpoint }: EndpointDraft, at) => ({
    model: view,
    endpoint: instance('Endpoint', {
      provider: endpoint.provider,
      upstream: endpoint.upstream,
      regions: endpoint.regions,
      price: prices[at],
    }),
  }));
}

/**
 * Makes expressions fail that read what nobody states of a wildcard's model: its quality and languages, which no table has,
 * and tags and regions where the wildcard has none.
 */
export function withholdUnstated(view: View, { model, endpoints }: ModelDraft): void {
  for (const field of ['quality', 'languages']) withhold(view, 'model', field, 'is not stated');
  if (model.tags.length === 0) withhold(view, 'model', 'tags', 'is not stated');
  if (endpoints[0]?.endpoint.regions.length === 0) withhold(view, 'endpoint', 'regions', 'is not stated');
}

/** Makes expressions fail that read what each model of a wildcard has of its own. */
export function withholdOpen(view: View): void {
  for (const field of ['id', 'price', 'context_window', 'max_output', 'capabilities'])
    withhold(view, 'model', field, 'is that of each model');
  for (const field of ['upstream', 'price']) withhold(view, 'endpoint', field, 'is that of each model');
}
