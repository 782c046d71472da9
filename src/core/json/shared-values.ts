/** Returns an object unchanged, so that `Shared` adds its private member to this object. */
class Unchanged {
  constructor(object: object) {
    // biome-ignore lint/correctness/noConstructorReturn: a private member costs the collector much less than entries of several WeakMaps
    return object;
  }
}

/** An object with values that were derived from it. Copies, loops and JSON do not see them. */
class Shared extends Unchanged {
  /** By the number of their `SharedValues`. */
  readonly #values: unknown[] = [];
  /** The memory of the values whose size depends on the policy, in bytes. */
  #bytes = 0;

  static valuesOf(object: object): unknown[] | undefined {
    return #values in object ? object.#values : undefined;
  }

  static bytesOf(object: object): number {
    return #bytes in object ? object.#bytes : 0;
  }

  static grow(object: object, bytes: number): void {
    if (#bytes in object) object.#bytes += bytes;
  }
}

/**
 * Freezes a value deeply, because several requests share it, so that `SharedValues` may remember what is derived from it.
 * @returns how many members its objects have
 */
export function share(value: unknown): number {
  if (typeof value === 'object' && value !== null && !isShared(value)) new Shared(value);
  return freezeDeep(value);
}

export const isShared = (object: object): boolean => Shared.valuesOf(object) !== undefined;

/** Returns the noted memory of what was derived from a shared object, in bytes; 0 for any other value. */
export const derivedBytesOf = (value: unknown): number =>
  typeof value === 'object' && value !== null ? Shared.bytesOf(value) : 0;

/** Notes memory, in bytes, of a derived value that the usual estimate for a message does not contain. */
export const noteDerivedBytes = (object: object, bytes: number): void => Shared.grow(object, bytes);

function freezeDeep(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let members = 0;
  if (Array.isArray(value)) for (let at = 0; at < value.length; at++) members += freezeDeep(value[at]);
  else for (const name in value) members += 1 + freezeDeep(Reflect.get(value, name));
  Object.freeze(value);
  return members;
}

let count = 0;

/**
 * Remembers values that were derived from parts of request bodies that several requests share, such as a message of a running conversation.
 * Shared parts are frozen, so what was derived from a part stays true. Other parts belong to one request, and nothing is remembered for
 * them. A value is forgotten together with its part.
 */
export class SharedValues<Part extends object, Value> {
  readonly #index = count++;

  get(part: Part): Value | undefined {
    // Only `set` writes at this index.
    return Shared.valuesOf(part)?.[this.#index] as Value | undefined;
  }

  /** Remembers a value if the part is shared. Returns the value. */
  set<Derived extends Value>(part: Part, value: Derived): Derived {
    const values = Shared.valuesOf(part);
    if (values) values[this.#index] = value;
    return value;
  }
}
