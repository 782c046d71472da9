import { Environment } from '@marcbachmann/cel-js';
import { lazy } from '../../core/lazy.ts';
import type { BudgetScope } from '../../core/money/budget.ts';
import type { GuardScope } from '../../core/policy/guards.ts';
import type { LimitScope } from '../../core/policy/rate-limit.ts';
import type { RuleScope } from '../../core/policy/rules.ts';
import type { Endpoint, Model } from '../../core/policy/snapshot.ts';
import { KEY_FACTS, TEAM_FACTS, USER_FACTS } from '../../core/tables/facts/caller.ts';
import { type FactValues, fieldsOf } from '../../core/tables/facts/define.ts';
import { GUARD_FACTS } from '../../core/tables/facts/guarded.ts';
import { REQUEST_FACTS } from '../../core/tables/facts/request.ts';
import { TIME_FACTS } from '../../core/tables/facts/time.ts';
import type { UsdPrice } from '../schema/prices.ts';
import { addClaimObject, ClaimObject } from './claim-object.ts';

/**
 * Size limits of fields that callers control. A condition that reads a larger field fails, and so counts as true. With these size limits
 * the cost of every condition is known when the policy is loaded.
 */

/** The most entries of `request.metadata`. */
export const METADATA_MAX = 64;
/** The most characters of `request.user`, and of each key and value in `request.metadata`. */
export const TEXT_MAX = 1024;
/** The most entries of a list in a request, such as its programming languages, and of a list or map of claims. */
export const LIST_ENTRIES_MAX = 256;

/**
 * The kind of an expression decides which variables the expression has. `when` of a rule has the request, its key, team and user, and the
 * time. `guard` has the request as the caller sent it, without facts that Signalbox reads from its text. `budget` has the facts that the ledger stores. `limit` has the key with its team and user. `constraint` (`require`) has the model
 * and its endpoint. `model` (a filter or preference) has the model. `claims` (an issuer of tokens) has the claims of a token.
 */
export type CelKind = 'when' | 'guard' | 'budget' | 'limit' | 'constraint' | 'model' | 'claims';

/**
 * All fields of expressions: for each type, its fields with their CEL types and meanings. Numbers in expressions are doubles, like
 * JavaScript numbers. The CEL environments, hints and docs are generated from this table.
 */
export const FIELDS = {
  Request: fieldsOf(REQUEST_FACTS),
  GuardRequest: fieldsOf(GUARD_FACTS),
  Guards: {},
  BudgetRequest: {
    model: ['string', 'The selector or model that the caller requests.'],
  },
  Key: fieldsOf(KEY_FACTS),
  Team: fieldsOf(TEAM_FACTS),
  User: fieldsOf(USER_FACTS),
  BudgetTeam: {
    id: ['string', 'ID of the team that the key belonged to at the time of the request; empty for none.'],
    name: [
      'string',
      'Name of the team. You can use it only in `match`, and only compare it with texts. Signalbox replaces each name by the ID of its team when it loads the policy.',
    ],
  },
  BudgetUser: {
    id: ['string', 'ID of the user that the key belonged to at the time of the request; empty for none.'],
  },
  Time: fieldsOf(TIME_FACTS),
  Model: {
    id: ['string', 'ID of the model in the catalog.'],
    price: ['Price', 'Price at the first endpoint.'],
    context_window: ['double', 'The most tokens of input and output together.'],
    max_output: ['double', 'The most output tokens.'],
    capabilities: ['list<string>', 'Features that the model has, such as `tools`.'],
    languages: ['list<string>', 'Programming languages that the model supports, by canonical names.'],
    tags: ['list<string>', 'Your own marks for the model.'],
    quality: [
      'map<string, double>',
      'Share of good answers by task, 0 to 1. `default` is the key for tasks without a figure of their own.',
    ],
    latency: ['Latency', 'Speed of the model according to the catalog.'],
    reasoning_tokens: ['double', 'Expected hidden reasoning tokens.'],
    provider: ['string', 'Provider of the first endpoint.'],
    providers: ['list<string>', 'Providers of all endpoints.'],
  },
  Endpoint: {
    provider: ['string', 'Name of the provider.'],
    upstream: ['string', "The provider's own name for the model."],
    regions: ['list<string>', 'Regions in which the endpoint runs the model.'],
    price: ['Price', 'Its own price.'],
  },
  Price: {
    input: ['double', 'USD per 1M input tokens, in the price line for the shortest inputs.'],
    cached_input: ['double', 'USD per 1M input tokens read from the cache.'],
    output: ['double', 'USD per 1M output tokens.'],
    per_request: ['double', 'USD for each request.'],
  },
  Latency: {
    ttft_ms: ['double', 'Median time to the first content, ms.'],
    output_tokens_per_second: ['double', 'Median rate of visible output, tokens per second.'],
  },
  // Claims that every issuer states. Expressions read other claims in the same way, but the types of other claims are known only when a
  // token is read.
  Claims: {
    iss: ['string', 'The issuer.'],
    sub: ['string', 'The subject, unique for its issuer.'],
    aud: ['dyn', 'The audience: a text or a list.'],
  },
} as const satisfies Record<string, Record<string, readonly [type: string, means: string]>>;

export type TypeName = keyof typeof FIELDS;

export const isTypeName = (name: string): name is TypeName => Object.hasOwn(FIELDS, name);

/** Maps each kind of expression to its variables and their types. */
export const VARIABLES: Readonly<Record<CelKind, Readonly<Record<string, TypeName>>>> = {
  when: { request: 'Request', key: 'Key', team: 'Team', user: 'User', time: 'Time', guards: 'Guards' },
  guard: { request: 'GuardRequest', key: 'Key', team: 'Team', user: 'User' },
  budget: { key: 'Key', team: 'BudgetTeam', user: 'BudgetUser', request: 'BudgetRequest' },
  limit: { key: 'Key', team: 'Team', user: 'User' },
  constraint: { model: 'Model', endpoint: 'Endpoint' },
  model: { model: 'Model' },
  claims: { claims: 'Claims' },
};

/** The types of variables whose fields are not known when the policy is loaded. */
const OPEN_TYPES: Partial<Record<TypeName, string>> = { Claims: 'map<string, dyn>', Guards: 'map<string, double>' };

type View = Readonly<Record<string, unknown>>;

/** The JavaScript type of a type's source, derived from the table. A source that lacks a field or has the wrong type does not compile. */
type FieldsOf<Name extends TypeName> = {
  readonly [Field in keyof (typeof FIELDS)[Name]]: (typeof FIELDS)[Name][Field] extends readonly [
    infer Type extends keyof FactValues,
    string,
  ]
    ? FactValues[Type]
    : unknown;
};

/** A value of a declared type. The `source` of such a value is not visible as a field. */
interface TypeView {
  readonly source: View;
}

/**
 * Makes a class for a type's values, because CEL would treat an object literal as a map. A view reads each field from its source only when
 * an expression uses the field, because most expressions use one or two fields.
 */
function viewClass(type: TypeName): new (source: View) => TypeView {
  class Fields implements TypeView {
    readonly source: View;
    constructor(source: View) {
      this.source = source;
    }
  }
  const isOfRequest = type === 'Request' || type === 'GuardRequest';
  for (const [field, [kind]] of Object.entries(FIELDS[type])) {
    Object.defineProperty(Fields.prototype, field, {
      get(this: TypeView) {
        const value = this.source[field];
        const excess = isOfRequest ? excessOf(value) : null;
        if (excess) throw new Error(`\`request.${field}\` ${excess}, the most that a condition reads`);
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

/** Returns what makes a value of a request larger than the step limit assumes; null for a value that is small enough. */
function excessOf(value: unknown): string | null {
  if (typeof value === 'string') return value.length > TEXT_MAX ? `has more than ${TEXT_MAX} characters` : null;
  if (Array.isArray(value)) return value.length > LIST_ENTRIES_MAX ? `names more than ${LIST_ENTRIES_MAX}` : null;
  // Only maps that are small enough have a copy.
  if (!(value instanceof Map) || copies.has(value)) return null;
  if (value.size > METADATA_MAX) return `has more than ${METADATA_MAX} entries`;
  return hasLongText(value) ? `has a name or text of more than ${TEXT_MAX} characters` : null;
}

const hasLongText = (metadata: ReadonlyMap<string, string>): boolean =>
  metadata.entries().some((texts) => texts.some(({ length }) => length > TEXT_MAX));

const LIMITS = { maxAstNodes: 500, maxDepth: 40, maxListElements: 200, maxMapEntries: 50, maxCallArguments: 8 };

const ENVIRONMENTS: Readonly<Record<CelKind, () => Environment>> = {
  when: lazy(() => environmentFor('when')),
  guard: lazy(() => environmentFor('guard')),
  budget: lazy(() => environmentFor('budget')),
  limit: lazy(() => environmentFor('limit')),
  constraint: lazy(() => environmentFor('constraint')),
  model: lazy(() => environmentFor('model')),
  claims: lazy(() => environmentFor('claims')),
};

/** Returns the CEL environment for a kind of expression. Each CEL environment is made once. */
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

/** A guard that found nothing reads as 0. */
function readOrZero(this: ReadonlyMap<string, number>, name: string): number {
  return Map.prototype.get.call(this, name) ?? 0;
}

const copies = new WeakMap<ReadonlyMap<string, string>, ReadonlyMap<string, string>>();

/**
 * Makes a map whose missing keys read as the empty text. The class of the map stays `Map`, which CEL requires. All conditions share one
 * copy of the map.
 */
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

/** All requests of a minute share one time value. */
const timeOf = cachingLast((time: RuleScope['time']) => instance('Time', time));

/** Most callers have no team and no user, and share these values. */
const teamOf = cachingLast((team: RuleScope['team']) => instance('Team', team));
const userOf = cachingLast((user: RuleScope['user']) => instance('User', user));

/**
 * The CEL view of a scope. The view reads the request and the time only when an expression does, because the scope records whether they
 * were read.
 */
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
    this.#request ??= instance('Request', request);
    return this.#request;
  }

  get time(): TypeView {
    return timeOf(this.#scope.time);
  }

  get guards(): ReadonlyMap<string, number> {
    return Object.assign(new Map(Object.entries(this.#scope.guards ?? {})), { get: readOrZero });
  }
}

/** Returns the CEL view of a scope. */
export const viewOf = cachingLast((scope: RuleScope): View => new ScopeView(scope));

/** Returns the CEL view of a budget's scope. */
export const budgetViewOf = cachingLast(({ request, key, team, user }: BudgetScope) => ({
  request: instance('BudgetRequest', request),
  key: instance('Key', key),
  // An expression never reads the team name at run time, because compilation replaces it by the team ID.
  team: instance('BudgetTeam', { id: team.id, name: '' }),
  user: instance('BudgetUser', user),
}));

/** Returns the CEL view of a guard's scope. */
export const guardViewOf = cachingLast(
  ({ request, key, team, user }: GuardScope): View => ({
    request: instance('GuardRequest', request),
    key: instance('Key', key),
    team: teamOf(team),
    user: userOf(user),
  }),
);

/** Returns the CEL view of a rate limit's scope. */
export function limitViewOf({ key, team, user }: LimitScope): View {
  return { key: instance('Key', key), team: teamOf(team), user: userOf(user) };
}

/** Returns the CEL view of claims, which are JSON. Reading a missing claim fails. */
export function claimsViewOf(claims: Readonly<Record<string, unknown>>): View {
  const read = readable(claims, 0);
  // The top level of claims is a map, so that `"groups" in claims` tests whether the claim exists.
  return { claims: read instanceof ClaimObject ? new Map(read) : read };
}

/**
 * The most levels of nested lists and maps in claims. Claims that are nested deeper or are larger are left out, and reading them fails.
 * Reading a list that contains such a claim also fails, because without the claim the list could pass a test that all entries have to pass.
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

/** A model with the prices that expressions read. */
interface ViewedModel {
  readonly model: Omit<Model, 'endpoints' | 'firstSlot'>;
  readonly endpoints: readonly { readonly endpoint: Endpoint; readonly usd: UsdPrice }[];
  /** Share of good answers for tasks without a figure of their own, 0 to 1. */
  readonly defaultQuality: number;
}

/** Returns the CEL views of a model, one for each endpoint. */
export function modelViews(
  { model, endpoints, defaultQuality }: ViewedModel,
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
  return endpoints.map(({ endpoint }, at) => ({
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
 * Makes expressions fail that read facts which are unknown for a wildcard's model: its quality and languages always, and its tags and
 * regions if the wildcard states none.
 */
export function withholdUnstated(view: View, { model, endpoints }: ViewedModel): void {
  for (const field of ['quality', 'languages']) withhold(view, 'model', field, 'is not stated');
  if (model.tags.length === 0) withhold(view, 'model', 'tags', 'is not stated');
  if (endpoints[0]?.endpoint.regions.length === 0) withhold(view, 'endpoint', 'regions', 'is not stated');
}

/** Makes expressions fail that read facts in which the models of a wildcard differ. */
export function withholdOpen(view: View): void {
  for (const field of ['id', 'price', 'context_window', 'max_output', 'capabilities'])
    withhold(view, 'model', field, 'differs between the models of a wildcard');
  for (const field of ['upstream', 'price'])
    withhold(view, 'endpoint', field, 'differs between the models of a wildcard');
}
