/** The methods of a store, or of a part of it, that a handle replaces. */
export interface Detour<Own extends object> {
  /** Methods and fields of the handle itself. */
  readonly own: Own;
  /** Wraps the answer of every other method that returns a promise. */
  read<R>(answer: Promise<R>): Promise<R>;
}

/** Returns a handle on a store. Members that `own` lacks come from the store. Repositories are wrapped in the same way. */
export function through<Target extends object, Own extends object>(
  target: Target,
  { own, read }: Detour<Own>,
): Omit<Target, keyof Own> & Own {
  const seen = new Map<PropertyKey, { readonly of: unknown; readonly as: unknown }>();
  const see = (value: unknown): unknown => {
    if (typeof value === 'function')
      return (...args: unknown[]) => {
        const result: unknown = Reflect.apply(value, target, args);
        return result instanceof Promise ? read(result) : result;
      };
    return isPlain(value) ? through(value, { own: {}, read }) : value;
  };
  const proxy = new Proxy(target, {
    has: (_, name) => name in own || name in target,
    get: (_, name) => {
      if (name in own) return Reflect.get(own, name);
      const value: unknown = Reflect.get(target, name, target);
      const known = seen.get(name);
      if (known && known.of === value) return known.as;
      const as = see(value);
      seen.set(name, { of: value, as });
      return as;
    },
  });
  return proxy as unknown as Omit<Target, keyof Own> & Own;
}

/** Whether a value is a repository or a group of repositories: not an array, an error or a list of numbers. */
const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** Combines several handles on one store: each call goes to the handle that `pick` selects. */
export function either<Target extends object>(handles: readonly Target[], pick: (name: string) => number): Target {
  const first = handles[0]!;
  const partOf = (handle: object, name: PropertyKey): unknown => Reflect.get(handle, name);
  return new Proxy(first, {
    get: (_, name) => {
      const value = partOf(first, name);
      if (typeof value === 'function')
        return (...args: unknown[]) => {
          const handle = handles[pick(String(name))]!;
          const method = partOf(handle, name);
          return typeof method === 'function' ? Reflect.apply(method, handle, args) : undefined;
        };
      if (!isPlain(value)) return value;
      const parts = handles.map((handle) => partOf(handle, name)).filter(isPlain);
      return either(parts, pick);
    },
  });
}
