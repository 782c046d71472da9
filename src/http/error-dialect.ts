import { errorBody } from '../core/api/error.ts';
import { isSpokenIn, pathsOf, type Surface } from '../dialects/surface.ts';
import { pathOf, type RouteEntry } from './route-table.ts';

/** The parts of a dialect that an error response needs. */
type ErrorDialect = Pick<Surface, 'errorBody' | 'requestIdHeader'>;

const USUAL: ErrorDialect = { errorBody };

/**
 * Returns the dialect of a request's errors. The path of a surface, and every path below it, uses the surface's dialect. A path that
 * clients of several dialects use, and an unknown path outside `/admin`, use the dialect that the headers indicate.
 * @param route undefined for an unknown path
 */
export function dialectFor(
  { url, headers }: Request,
  route: RouteEntry | undefined,
  surfaces: readonly Surface[],
): ErrorDialect {
  const isShared = route ? route.anyDialect : !pathOf(url).startsWith('/admin');
  const found = isShared
    ? surfaces.find((surface) => isSpokenIn(surface, headers))
    : surfaces.find(({ routes }) =>
        routes.flatMap(pathsOf).some((path) => route && (route.path === path || route.path.startsWith(`${path}/`))),
      );
  return found ?? USUAL;
}
