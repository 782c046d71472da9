import type { Observer } from '../request/observe/observer.ts';
import type { RequestContext } from '../request/request-context.ts';
import { needsKey, pathOf, type RouteEntry } from './routes.ts';

/** The context of each HTTP request. Elysia's hooks share only the `Request`: nothing else may be tied to one. */
export class RequestContexts {
  readonly #observer: Observer;
  readonly #contexts = new WeakMap<Request, RequestContext>();

  constructor(observer: Observer) {
    this.#observer = observer;
  }

  /** Makes the context of a request that has just arrived. @param route undefined for a path that leads nowhere */
  open(request: Request, route: RouteEntry | undefined): RequestContext {
    const isKeyed = route ? !route.isOpen : needsKey(pathOf(request.url));
    const context = this.#observer.open(request, route?.path ?? 'other', isKeyed);
    context.operation = route?.methods.get(request.method)?.operation ?? null;
    context.idempotencyKey = request.headers.get('idempotency-key');
    this.#contexts.set(request, context);
    return context;
  }

  readonly of = (request: Request): RequestContext => {
    const context = this.#contexts.get(request);
    if (!context) throw new Error('a request without a context came to a handler');
    return context;
  };
}
