import { everyOperation } from '../../src/admin/groups.ts';
import { isAction, mayTake } from '../../src/admin/use-cases/roles.ts';
import { SURFACES } from '../../src/dialects/surfaces.ts';
import { createApp } from '../../src/http/app.ts';
import type { AppOptions } from '../../src/http/app-options.ts';
import { type RouteRule, RouteTable, routeRules } from '../../src/http/kit/route-table.ts';

/** The shipped app, which receives no requests: tests read only its routes. */
export const APP = createApp({
  gateway: {},
  surfaces: SURFACES,
  operations: await everyOperation(),
} as unknown as AppOptions);

/** The table with which the server admits requests. */
export const ROUTE_TABLE = new RouteTable(routeRules(APP.routes));

/** Every route of the shipped app with its access. */
export const ROUTES = ROUTE_TABLE.rules;

/** Whether keys of applications cannot use a route. */
export const isForOperators = ({ access }: Pick<RouteRule, 'access'>): boolean =>
  isAction(access) && !mayTake('caller', access);

/** Further paths of a route, which the documentation leaves out. */
export const OTHER_PATHS: ReadonlySet<string> = new Set(
  SURFACES.flatMap(({ routes }) => routes).flatMap((route) => (route.kind === 'list' ? [] : (route.alsoAt ?? []))),
);
