import { BODY_ERRORS } from '../admin/kit/operation.ts';
import type { CountRoute, Surface } from '../dialects/surface.ts';
import { countTokens } from '../gateway/request/count-tokens.ts';
import type { RouteServices } from './kit/route-services.ts';
import { queryOf } from './kit/route-table.ts';
import { keyParameterOf, type SurfaceHandler } from './surface-handler.ts';

/** Counts the tokens of prompts in the dialect of a surface. */
export const countHandler = (
  { pipeline, contextOf, promptOf }: RouteServices,
  surface: Surface,
  route: CountRoute,
): SurfaceHandler => ({
  path: route.path,
  alsoAt: route.alsoAt ?? [],
  docs: {
    ...route.docs,
    access: 'chat',
    body: 'policy',
    counts: true,
    isForPages: true,
    ...keyParameterOf(surface),
    tag: surface.dialect,
    errors: [...BODY_ERRORS, 'unsupported_parameter', 'model_not_found', 'content_blocked', 'guard_failed'],
    errorForm: { schema: surface.error, body: surface.errorBody },
  },
  async handle(params, request, set) {
    const context = contextOf(request);
    const body = await promptOf(request, context);
    const prompt = route.read({ body, headers: request.headers, params, query: queryOf(request.url) });
    const count = await countTokens(pipeline, prompt, context);
    if (surface.requestIdHeader) set.headers[surface.requestIdHeader] = context.requestId;
    return route.answer(count);
  },
});
