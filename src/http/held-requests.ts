/** The error of an admission; null for none. */
type AdmissionEnd = { readonly error: unknown } | null;

/**
 * Requests whose admission takes longer than their first turn, because a token is checked. The edge goes through them again once
 * that is over, so that requests with a key need not wait for anything.
 */
export class HeldRequests {
  readonly #handle: (request: Request) => Promise<Response>;
  /** Those that the edge goes through again in this turn: hardly ever more than one. */
  readonly #ended = new Map<Request, AdmissionEnd>();

  /** @param handle the whole edge, which asks `isBack` at its beginning, in the same turn */
  constructor(handle: (request: Request) => Promise<Response>) {
    this.#handle = handle;
  }

  /** The answer to a request, once its admission is over. */
  async hold(request: Request, admission: Promise<void>): Promise<Response> {
    const end = await admission.then(
      () => null,
      (error: unknown): AdmissionEnd => ({ error }),
    );
    this.#ended.set(request, end);
    return this.#handle(request);
  }

  /** Whether the edge goes through a request for the second time. Costs nothing while none is held. */
  isBack(request: Request): boolean {
    return this.#ended.size > 0 && this.#ended.has(request);
  }

  /** Ends the hold. Throws the error of the admission. */
  release(request: Request): void {
    const end = this.#ended.get(request);
    this.#ended.delete(request);
    if (end) throw end.error;
  }
}
