import type { Observer } from '../gateway/request/observe/observer.ts';
import type { RequestContext } from '../gateway/request/request-context.ts';
import { needsKey, pathOf, type RouteEntry } from './kit/route-table.ts';

/** The context of each HTTP request. The context is found by the `Request` object, which is all that Elysia's hooks share. */
export function requestContexts(observer: Observer) {
  const contexts = new WeakMap<Request, RequestContext>();
  return {
    /**
     * Makes the context of a request that has just arrived.
     * @param route undefined for an unknown path
     */
    open(request: Request, route: RouteEntry | undefined): RequestContext {
      const isKeyed = route ? !route.isOpen : needsKey(pathOf(request.url));
      const rule = route?.methods.get(request.method);
      const context = observer.open(request, route?.path ?? 'other', rule, isKeyed);
      contexts.set(request, context);
      return context;
    },
    of(request: Request): RequestContext {
      const context = contexts.get(request);
      if (!context) throw new Error('A request without a context reached a handler.');
      return context;
    },
  };
}
