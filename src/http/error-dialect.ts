import { errorBody } from '../core/api/error.ts';
import { pathsOf, type Surface, spokenIn } from '../dialects/surface.ts';
import { pathOf, type RouteEntry } from './kit/route-table.ts';

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
    ? spokenIn(surfaces, headers)
    : // A path may lie below a list of another dialect: `/v1/models/{model}:generateContent`.
      (surfaceAt(surfaces, (path) => route?.path === path) ??
      surfaceAt(surfaces, (path) => route?.path.startsWith(`${path}/`) === true));
  return found ?? USUAL;
}

const surfaceAt = (surfaces: readonly Surface[], isAt: (path: string) => boolean) =>
  surfaces.find(({ routes }) => routes.flatMap(pathsOf).some(isAt));
