/**
 * Remembers values that were derived from parts of request bodies that several requests share, such as a message of a running conversation.
 * Shared parts are frozen, so what was derived from a part stays true. Other parts belong to one request, and nothing is remembered for
 * them. A value is forgotten together with its part.
 */
export class SharedValues<Part extends object, Value> {
  readonly #values = new WeakMap<Part, Value>();

  get(part: Part): Value | undefined {
    return this.#values.get(part);
  }

  /** Remembers a value if the part is shared. Returns the value. */
  set<Derived extends Value>(part: Part, value: Derived): Derived {
    if (Object.isFrozen(part)) this.#values.set(part, value);
    return value;
  }
}
