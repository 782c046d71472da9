/** What a plugin may not reach for, as owners and names of their members. */
const CLOSED: readonly (readonly [string, () => object, string])[] = [
  ['chance (Math.random)', () => Math, 'random'],
  ['chance (crypto)', () => crypto, 'getRandomValues'],
  ['chance (crypto)', () => crypto, 'randomUUID'],
  ['a clock (performance.now)', () => performance, 'now'],
  ['a timer (setTimeout)', () => globalThis, 'setTimeout'],
  ['a timer (setInterval)', () => globalThis, 'setInterval'],
  ['a module of the runtime (process.getBuiltinModule)', () => process, 'getBuiltinModule'],
  ['the network (fetch)', () => globalThis, 'fetch'],
];

/** What every variable of the environment holds for whoever reads it in here: it must not come out. */
export const CANARY = 'canary-of-the-environment';

/**
 * Runs something that must depend on nothing but what it is given, and tells what it reached for all the same: clock,
 * chance, timers, network, environment. It gets none of the network, and of the environment only the canary.
 */
export function sealed<T>(run: () => T): { readonly value: T; readonly reached: readonly string[] } {
  const reached = new Set<string>();
  const undo = [
    ...CLOSED.map(([label, owner, name]) => replaced(owner(), name, (real) => watched(real, label, reached))),
    replaced(globalThis, 'Date', (real) => watchedDate(real, reached)),
    replaced(process, 'env', () => watchedEnvironment(reached)),
  ];
  try {
    return { value: run(), reached: [...reached] };
  } finally {
    for (const one of undo) one();
  }
}

/** Puts something in the place of a member; gives what puts it back. */
function replaced(owner: object, name: string, stand: (real: unknown) => unknown): () => void {
  const own = Object.getOwnPropertyDescriptor(owner, name);
  Object.defineProperty(owner, name, { value: stand(Reflect.get(owner, name)), configurable: true, writable: true });
  return () => {
    if (own) Object.defineProperty(owner, name, own);
    else Reflect.deleteProperty(owner, name);
  };
}

function watched(real: unknown, label: string, reached: Set<string>): unknown {
  if (typeof real !== 'function') return real;
  return new Proxy(real, {
    apply(target, self, args) {
      reached.add(label);
      if (label.startsWith('the network')) throw new Error('a plugin has no network');
      return Reflect.apply(target, self, args);
    },
  });
}

function watchedDate(real: unknown, reached: Set<string>): unknown {
  if (typeof real !== 'function') return real;
  return new Proxy(real, {
    construct(target, args) {
      if (args.length === 0) reached.add('a clock (new Date)');
      return Reflect.construct(target, args);
    },
    get(target, key) {
      if (key === 'now') reached.add('a clock (Date.now)');
      return Reflect.get(target, key);
    },
  });
}

function watchedEnvironment(reached: Set<string>): object {
  const get = (_: object, key: string | symbol) => {
    reached.add(`the environment (${String(key)})`);
    return CANARY;
  };
  return new Proxy({}, { get });
}

/** Says what was reached for; null for nothing. */
export const reachedFault = (reached: readonly string[]): string | null =>
  reached.length > 0 ? `it reaches for ${reached.join(' and ')}` : null;
