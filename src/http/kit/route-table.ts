import { type Static, Type } from '@sinclair/typebox';
import { ACTION_NAMES } from '../../admin/use-cases/roles.ts';
import { isObject } from '../../core/json/object.ts';
import { OPERATION_NAMES } from '../../core/kinds/operations.ts';
import { SchemaCheck } from '../../core/schema/check.ts';
import { UNSERVED } from '../../dialects/surfaces.ts';
import { isTemplate, PathTemplate } from './path-template.ts';

/** The scopes of model requests, `open` for routes without a key, and the actions of the role table. */
const ACCESS = [...OPERATION_NAMES, 'route', 'open', ...ACTION_NAMES] as const;

/** The access rules that a route declares next to its handler. */
export const RouteAccess = Type.Object({
  /** The scope or the action that the caller's key must allow; `open` needs no key. */
  access: Type.Union(ACCESS.map((name) => Type.Literal(name))),
  /** The maximum body size, in bytes; `policy`: as in `gateway.body_bytes_max`; `none`: the body is not read. 64 KiB by default. */
  body: Type.Optional(Type.Union([Type.Literal('none'), Type.Literal('policy'), Type.Integer({ minimum: 1 })])),
  /** Whether only pages of the console may send the request. Host and origin are checked before the body is read. */
  ownPages: Type.Optional(Type.Boolean()),
  /** Whether the request takes a slot at the gate and counts against the rate limits. */
  counts: Type.Optional(Type.Boolean()),
  /** Whether a caller without a key may pay for the request, if the policy accepts payments. */
  pays: Type.Optional(Type.Boolean()),
  /** Whether web pages of other origins may use the route although its path does not begin with `/v1/`. */
  isForPages: Type.Optional(Type.Boolean()),
  /** Whether clients of several dialects use the route, so that its errors follow the dialect that the headers indicate. */
  anyDialect: Type.Optional(Type.Boolean()),
  /** The parameter of the query that may contain the key. */
  keyParameter: Type.Optional(Type.String()),
  /** The operation that the request needs from a model. */
  operation: Type.Optional(Type.Union(OPERATION_NAMES.map((name) => Type.Literal(name)))),
});
export type RouteAccess = Static<typeof RouteAccess>;

/** A route with its access rule. */
export interface RouteRule extends RouteAccess {
  readonly method: string;
  /** The pattern of the path, such as `/v1/decisions/:id`, or a template such as `/v1beta/models/{model}:generateContent`. */
  readonly path: string;
  /** The pattern under which the router knows the route; absent if the router knows the path itself. */
  readonly routerPattern?: string;
}

/** The maximum body size of a route that states none, in bytes. */
export const BODY_BYTES_MAX = 65_536;

/** The path for requests with one of your own keys. */
export const PLAYGROUND = '/admin/playground';

/**
 * Whether a route creates or changes something for free, so that an `Idempotency-Key` makes it run only once. The path decides, so that no
 * new route can be forgotten. The playground is excluded: it spends money, and its answers contain text that must not be stored.
 */
export const isOnceForName = (method: string, path: string): boolean =>
  method !== 'GET' &&
  path !== PLAYGROUND &&
  (path.startsWith('/admin/') || path === '/v1/keys' || path.startsWith('/v1/keys/'));

/** The member of an Elysia route's `detail` that contains its access. */
export const ACCESS_DETAIL = 'x-access';

/** Declares the access of a route that the OpenAPI document leaves out. */
export const unlisted = (access: RouteAccess) => ({ detail: { hide: true, [ACCESS_DETAIL]: access } });

/** The member of an Elysia route's `detail` with the access of the templates that share the route. */
const TEMPLATES_DETAIL = 'x-templates';

interface TemplateAccess extends RouteAccess {
  readonly path: string;
}

/** Declares the access of templates that share a route of the router. The OpenAPI document has the templates instead. */
export const templated = (templates: readonly TemplateAccess[]) => ({
  detail: { hide: true, [TEMPLATES_DETAIL]: templates },
});

interface RegisteredRoute {
  readonly method: string;
  readonly path: string;
  readonly hooks?: unknown;
}

const accessForm = new SchemaCheck(RouteAccess);
const templatesForm = new SchemaCheck(Type.Array(Type.Composite([RouteAccess, Type.Object({ path: Type.String() })])));

/**
 * Reads the access rules of registered routes.
 * @throws Error if a route does not declare its access, because it could never be reached
 */
export function routeRules(routes: readonly RegisteredRoute[]): RouteRule[] {
  return routes.flatMap(({ method, path, hooks }) => {
    const detail = isObject(hooks) && isObject(hooks.detail) ? hooks.detail : {};
    const templates = detail[TEMPLATES_DETAIL];
    if (templatesForm.accepts(templates))
      return templates.map((template) => ({ ...template, method, routerPattern: path }));
    const access = detail[ACCESS_DETAIL];
    if (!accessForm.accepts(access)) throw new Error(`the route ${method} ${path} does not declare its access`);
    return [{ ...access, method, path }];
  });
}

/** A path of the route table, with its methods. */
export interface RouteEntry {
  readonly path: string;
  /** The rules by method, in the order of registration. */
  readonly methods: ReadonlyMap<string, RouteRule>;
  /** Whether no method of the path needs a key. */
  readonly isOpen: boolean;
  /** Whether a login cookie is accepted instead of a key. */
  readonly takesLogins: boolean;
  /** Whether web pages of other origins may use the path. */
  readonly isForPages: boolean;
  /** The pattern under which the router knows the path. */
  readonly routerPattern: string;
  /** The parameter of the query that may contain the key; undefined for none. */
  readonly keyParameter: string | undefined;
  /** Whether any method of the path has `anyDialect`. */
  readonly anyDialect: boolean;
  /** The methods, separated by commas as in the header `Allow`. */
  readonly allow: string;
  readonly matches: (path: string) => boolean;
}

function entryOf(path: string, rules: readonly RouteRule[]): RouteEntry {
  const anyDialect = rules.some((rule) => rule.anyDialect);
  const isAt = matcher(path);
  return {
    path,
    methods: new Map(rules.map((rule) => [rule.method, rule])),
    isOpen: rules.every(({ access }) => access === 'open'),
    takesLogins: path.startsWith('/admin/'),
    isForPages:
      path.startsWith('/v1/') || path.startsWith('/.well-known/') || rules.some((rule) => rule.isForPages === true),
    routerPattern: rules[0]?.routerPattern ?? path,
    keyParameter: rules.find((rule) => rule.keyParameter !== undefined)?.keyParameter,
    anyDialect,
    allow: rules.map(({ method }) => method).join(', '),
    // Some clients add a slash to the path of a list.
    matches: anyDialect ? (other) => isAt(other) || other === `${path}/` : isAt,
  };
}

/** Whether a path needs a key, even if it does not exist. */
export const needsKey = (path: string): boolean => /^\/(?:v1[a-z]*|admin)(?:\/|$)/.test(path);

const UNSERVED_METHODS = UNSERVED.filter(({ isMethod }) => isMethod);

const isUnservedMethod = (path: string): boolean => UNSERVED_METHODS.some((api) => api.path.test(path));

/** All routes by path. A path that is not in the table does not exist. */
export class RouteTable {
  readonly #exact: ReadonlyMap<string, RouteEntry>;

  constructor(rules: readonly RouteRule[]) {
    const isCovered = (rule: RouteRule) => rules.some((other) => covers(other, rule));
    const paths = [...Map.groupBy(rules, ({ path }) => path)].filter(([, own]) => !own.every(isCovered));
    // A template is narrower than a pattern that ends with a wildcard, so it is tried first.
    const ordered = paths.sort(([a], [b]) => Number(isTemplate(b)) - Number(isTemplate(a)));
    this.#exact = new Map(ordered.map(([path, own]) => [path, entryOf(path, own)]));
  }

  /** Finds the entry for a path or a route's pattern. */
  find(path: string): RouteEntry | undefined {
    const exact = this.#exact.get(path);
    if (exact) return exact;
    const found = this.#exact.values().find(({ matches }) => matches(path));
    // Methods of an API that is not served begin like a model in the list of models.
    return found && !isTemplate(found.path) && isUnservedMethod(path) ? undefined : found;
  }

  /** Whether a pattern of the router leads to the route that admission found. @param entry the entry for the pattern */
  leadsTo(entry: RouteEntry | undefined, routerPattern: string, admitted: string): boolean {
    return entry?.path === admitted || this.at(admitted)?.routerPattern === routerPattern;
  }

  /** All rules in the order of registration. */
  get rules(): readonly RouteRule[] {
    return [...this.#exact.values()].flatMap(({ methods }) => [...methods.values()]);
  }

  /** Returns the entry with exactly this pattern. */
  at(pattern: string): RouteEntry | undefined {
    return this.#exact.get(pattern);
  }
}

/** Whether a broader route with the same access covers this route and is admitted in its place. */
const covers = (other: RouteRule, { path, method, access }: RouteRule): boolean =>
  other.method === method &&
  other.access === access &&
  breadthOf(other.path) > breadthOf(path) &&
  matcher(other.path)(path);

const breadthOf = (pattern: string): number => (pattern.endsWith('/*') ? 2 : pattern.includes(':') ? 1 : 0);

function matcher(pattern: string): (path: string) => boolean {
  if (isTemplate(pattern)) {
    const template = new PathTemplate(pattern);
    return (path) => template.matches(path);
  }
  if (pattern.endsWith('/*')) return (path) => path.startsWith(pattern.slice(0, -1)) && path.length >= pattern.length;
  const colon = pattern.indexOf(':');
  if (colon < 0) return (path) => path === pattern;
  const prefix = pattern.slice(0, colon);
  const slash = pattern.indexOf('/', colon);
  const suffix = slash < 0 ? '' : pattern.slice(slash);
  return (path) =>
    path.startsWith(prefix) &&
    path.endsWith(suffix) &&
    path.length > colon + suffix.length &&
    !path.slice(colon, path.length - suffix.length).includes('/');
}

/** Returns the query of a URL without its question mark; '' for none. */
export function queryOf(url: string): string {
  const at = url.indexOf('?');
  return at < 0 ? '' : url.slice(at + 1);
}

/** Returns the path of a URL with a host, without parsing the rest of the URL. */
export function pathOf(url: string): string {
  const start = url.indexOf('/', 'http://'.length);
  const query = url.indexOf('?', start);
  return query < 0 ? url.slice(start) : url.slice(start, query);
}
