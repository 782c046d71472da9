import type { Context } from 'elysia';
import type { RouteInput, Surface } from '../dialects/surface.ts';
import type { RouteDocs } from './kit/route-docs.ts';

/** The parameter of the query with a key, for the access of a surface's route. */
export const keyParameterOf = ({ keyParameter }: Surface) => (keyParameter === undefined ? {} : { keyParameter });

/** Answers POST requests at a path of a surface. */
export interface SurfaceHandler {
  readonly path: string;
  /** Further paths, all templates. */
  readonly alsoAt: readonly string[];
  readonly docs: RouteDocs;
  handle(params: RouteInput['params'], request: Request, set: Context['set']): Promise<Response | string | object>;
}
