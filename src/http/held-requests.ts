/** The error of an admission; null if it succeeded. */
type AdmissionEnd = { readonly error: unknown } | null;

/**
 * Holds requests whose admission takes longer than one turn of the event loop, because a token is checked. The held requests go through the
 * routes again when the check has finished, so that requests with a key never wait.
 */
export class HeldRequests {
  readonly #handle: (request: Request) => Promise<Response>;
  /** Requests that go through the routes again in this turn. There is rarely more than one such request. */
  readonly #ended = new Map<Request, AdmissionEnd>();

  /** @param handle the server's handler; it calls `isBack` first, in the same turn */
  constructor(handle: (request: Request) => Promise<Response>) {
    this.#handle = handle;
  }

  /** Answers a request when its admission has finished. */
  async hold(request: Request, admission: Promise<void>): Promise<Response> {
    const end = await admission.then(
      () => null,
      (error: unknown): AdmissionEnd => ({ error }),
    );
    this.#ended.set(request, end);
    return this.#handle(request);
  }

  /** Whether a request goes through the routes for the second time. The check costs nothing while no request is held. */
  isBack(request: Request): boolean {
    return this.#ended.size > 0 && this.#ended.has(request);
  }

  /**
   * Releases a held request.
   * @throws the error of its admission
   */
  release(request: Request): void {
    const end = this.#ended.get(request);
    this.#ended.delete(request);
    if (end) throw end.error;
  }
}
