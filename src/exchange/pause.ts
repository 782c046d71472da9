/** A pause between attempts, which may be ended early. */
export class Pause {
  #end: (() => void) | null = null;

  async wait(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#end = resolve;
    const timer = setTimeout(resolve, ms);
    await promise;
    clearTimeout(timer);
    this.#end = null;
  }

  end(): void {
    this.#end?.();
  }
}
