import type { Context } from 'elysia';
import type { RouteInput } from '../dialects/surface.ts';
import type { RouteDocs } from './docs/route-docs.ts';

/** Answers POST requests at a path of a surface. */
export interface SurfaceHandler {
  readonly path: string;
  readonly docs: RouteDocs;
  handle(params: RouteInput['params'], request: Request, set: Context['set']): Promise<Response | string | object>;
}
