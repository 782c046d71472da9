import { type Static, Type } from '@sinclair/typebox';
import { ACTION_NAMES } from '../admin/use-cases/roles.ts';
import { isObject } from '../core/object.ts';
import { OPERATION_NAMES } from '../core/operation.ts';
import { SchemaCheck } from '../core/schema-check.ts';

/** Scopes of requests of models, `open` for no key, and the actions of the table of roles. */
const ACCESS = ['chat', 'embed', 'route', 'open', ...ACTION_NAMES] as const;

/** The access that a route declares beside its handler. */
export const RouteAccess = Type.Object({
  /** The scope or the action that the caller's key must allow; `open`: none. */
  access: Type.Union(ACCESS.map((name) => Type.Literal(name))),
  /** The largest body that it accepts, in bytes; `policy`: as `gateway.body_bytes_max` says; `none`: its body is not read. 64 KiB unless stated. */
  body: Type.Optional(Type.Union([Type.Literal('none'), Type.Literal('policy'), Type.Integer({ minimum: 1 })])),
  /** Whether only the gateway's own pages may send it: its host and origin are checked before its body is read. */
  ownPages: Type.Optional(Type.Boolean()),
  /** Whether it takes a place in the gate and counts against the rate limits. */
  counts: Type.Optional(Type.Boolean()),
  /** Whether a caller without a key may pay for it, where the policy takes payments. */
  pays: Type.Optional(Type.Boolean()),
  /** Whether clients of several dialects use it, so that its errors have the dialect that the request's headers name. */
  anyDialect: Type.Optional(Type.Boolean()),
  /** The operation that it asks of a model. */
  operation: Type.Optional(Type.Union(OPERATION_NAMES.map((name) => Type.Literal(name)))),
});
export type RouteAccess = Static<typeof RouteAccess>;

/** A route with its access. */
export interface RouteRule extends RouteAccess {
  readonly method: string;
  /** Its pattern, such as `/v1/decisions/:id`. */
  readonly path: string;
}

/** Bytes of the largest body of a route that states none. */
export const BODY_BYTES_MAX = 65_536;

/** The path of requests as a key of one's own. */
export const PLAYGROUND = '/admin/playground';

/**
 * Whether a route makes or changes something at no charge, so that an `Idempotency-Key` has it carried out once: by its place, so that
 * no further route can be without. The playground spends: its answers, which have content, are not kept.
 */
export const isOnceForName = (method: string, path: string): boolean =>
  method !== 'GET' &&
  path !== PLAYGROUND &&
  (path.startsWith('/admin/') || path === '/v1/keys' || path.startsWith('/v1/keys/'));

/** The member of an Elysia route's `detail` that holds its access. */
export const ACCESS_DETAIL = 'x-access';

/** Declares the access of a route that the API's documentation leaves out. */
export const unlisted = (access: RouteAccess) => ({ detail: { hide: true, [ACCESS_DETAIL]: access } });

interface RegisteredRoute {
  readonly method: string;
  readonly path: string;
  readonly hooks?: unknown;
}

const accessForm = new SchemaCheck(RouteAccess);

/**
 * Reads the rules of registered routes.
 * @throws Error for a route that does not declare its access: it could not be reached
 */
export function routeRules(routes: readonly RegisteredRoute[]): RouteRule[] {
  return routes.map(({ method, path, hooks }) => {
    const detail = isObject(hooks) ? hooks.detail : undefined;
    const access = isObject(detail) ? detail[ACCESS_DETAIL] : undefined;
    if (!accessForm.accepts(access)) throw new Error(`the route ${method} ${path} does not declare its access`);
    return { ...access, method, path };
  });
}

/** One path of the table. */
export interface RouteEntry {
  readonly path: string;
  /** In the order of registration. */
  readonly methods: ReadonlyMap<string, RouteRule>;
  /** Whether its callers need no key, by any method. */
  readonly isOpen: boolean;
  /** Whether the cookie of a login may stand for a key. */
  readonly takesLogins: boolean;
  /** As in `RouteAccess`, by any method. */
  readonly anyDialect: boolean;
  /** Comma-separated, as headers list them. */
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
    anyDialect,
    allow: rules.map(({ method }) => method).join(', '),
    // Some clients end the path of a list with a slash.
    matches: anyDialect ? (other) => isAt(other) || other === `${path}/` : isAt,
  };
}

/** Whether a path is only for callers with a key, though nothing may be there. */
export const needsKey = (path: string): boolean =>
  path.startsWith('/v1/') || path.startsWith('/admin/') || path === '/v1' || path === '/admin';

/** Ends the paths of Gemini's API, which begin like a model's in the list of models. No ID of a model ends in it. */
export const GEMINI_METHOD = /:(?:(?:streamG|g)enerateContent|countTokens|(?:batchE|e)mbedContents?)$/;

/** All routes by path. A path that is not in it does not exist. */
export class RouteTable {
  readonly #exact: ReadonlyMap<string, RouteEntry>;

  constructor(rules: readonly RouteRule[]) {
    const isCovered = (rule: RouteRule) => rules.some((other) => covers(other, rule));
    const paths = [...Map.groupBy(rules, ({ path }) => path)].filter(([, own]) => !own.every(isCovered));
    this.#exact = new Map(paths.map(([path, own]) => [path, entryOf(path, own)]));
  }

  /** Finds the entry of a path, or of a route's pattern. */
  find(path: string): RouteEntry | undefined {
    const exact = this.#exact.get(path);
    if (exact || GEMINI_METHOD.test(path)) return exact;
    return this.#exact.values().find(({ matches }) => matches(path));
  }

  /** All rules by path, in the order of registration. */
  get rules(): readonly RouteRule[] {
    return [...this.#exact.values()].flatMap(({ methods }) => [...methods.values()]);
  }

  /** The entry with this very pattern. */
  at(pattern: string): RouteEntry | undefined {
    return this.#exact.get(pattern);
  }
}

/** Whether a route lies within a broader one with the same access, and is admitted as that one. */
const covers = (other: RouteRule, { path, method, access }: RouteRule): boolean =>
  other.method === method &&
  other.access === access &&
  breadthOf(other.path) > breadthOf(path) &&
  matcher(other.path)(path);

const breadthOf = (pattern: string): number => (pattern.endsWith('/*') ? 2 : pattern.includes(':') ? 1 : 0);

function matcher(pattern: string): (path: string) => boolean {
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

/** The path of a URL with a host, found without parsing the rest of it. */
export function pathOf(url: string): string {
  const start = url.indexOf('/', 'http://'.length);
  const query = url.indexOf('?', start);
  return query < 0 ? url.slice(start) : url.slice(start, query);
}
