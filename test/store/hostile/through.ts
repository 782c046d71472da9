/** What of a store or a part of it a handle does in another way. */
export interface Detour<Own extends object> {
  /** Methods and fields of the handle itself. */
  readonly own: Own;
  /** Whatever else answers by a promise: its answer comes by this way. */
  read<R>(answer: Promise<R>): Promise<R>;
}

/** A store as it is seen from a handle. What it lacks in `own` is the store's; its repositories are seen so, too. */
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

/** A repository, or a group of them: no array, no error, no list of numbers. */
const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** Handles on one store, as one: each call goes to the one that `pick` names. */
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
