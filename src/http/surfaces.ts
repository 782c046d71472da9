import { Elysia } from 'elysia';
import type { RouteInput, Surface } from '../dialects/surface.ts';
import { countHandler } from './count-tokens.ts';
import { escapedTemplate, isTemplate, PathTemplate } from './kit/path-template.ts';
import { accessOf, routeDocs } from './kit/route-docs.ts';
import type { RouteServices } from './kit/route-services.ts';
import { pathOf, templated } from './kit/route-table.ts';
import type { SurfaceHandler } from './surface-handler.ts';
import { answerHandler } from './surface-routes.ts';
import { surfaceSocket, type Upgrader } from './surface-socket.ts';

const NO_PARAMS: RouteInput['params'] = {};

/** The routes of surfaces, except their lists of models. */
export function surfaceRoutes(services: RouteServices, surfaces: readonly Surface[], upgrader: () => Upgrader | null) {
  const handlers = handlersOf(services, surfaces);
  const byPattern = Map.groupBy(
    handlers.flatMap((handler) =>
      isTemplate(handler.path)
        ? [handler.path, ...handler.alsoAt].map((path) => ({ ...handler, path, template: new PathTemplate(path) }))
        : [],
    ),
    ({ template }) => template.routerPattern,
  );
  return new Elysia({ name: 'surfaces' })
    .use(handlers.filter(({ path }) => !isTemplate(path)).map(plainRoute))
    .use([...byPattern].map(([pattern, group]) => templateRoute(pattern, group)))
    .use(
      surfaces.flatMap((surface) =>
        surface.routes.flatMap((route) =>
          route.kind === 'answer' && route.dialogue ? [surfaceSocket(services, surface, route, upgrader)] : [],
        ),
      ),
    );
}

const handlersOf = (services: RouteServices, surfaces: readonly Surface[]): readonly SurfaceHandler[] =>
  surfaces.flatMap((surface) =>
    surface.routes.flatMap((route) => {
      if (route.kind === 'list') return [];
      return [
        route.kind === 'count' ? countHandler(services, surface, route) : answerHandler(services, { surface, route }),
      ];
    }),
  );

const plainRoute = ({ path, docs, handle }: SurfaceHandler) =>
  new Elysia({ name: `surface at ${path}` }).post(
    path,
    ({ request, set }) => handle(NO_PARAMS, request, set),
    routeDocs(docs),
  );

/** The route of all templates that share a pattern of the router. */
const templateRoute = (pattern: string, group: readonly (SurfaceHandler & { readonly template: PathTemplate })[]) =>
  new Elysia({ name: `surfaces at ${pattern}` }).post(
    pattern,
    ({ request, set }) => {
      const path = pathOf(request.url);
      // Admission has found one of the templates by the same path.
      const { template, handle } = group.find((one) => one.template.matches(path))!;
      return handle(template.paramsOf(path), request, set);
    },
    templated(group.map(({ docs, path }) => ({ ...accessOf(docs), path }))),
  );

/** Routes with the templates of surfaces as their paths, for the OpenAPI document. They serve no request. */
export const documentedTemplates = (services: RouteServices, surfaces: readonly Surface[]) =>
  new Elysia({ name: 'documented templates' }).use(
    handlersOf(services, surfaces)
      .filter(({ path }) => isTemplate(path))
      .map((handler) => plainRoute({ ...handler, path: escapedTemplate(handler.path) })),
  );
