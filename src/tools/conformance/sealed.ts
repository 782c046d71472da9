import { isEqual } from './law.ts';

/** Globals that plugins may not use. Each entry has a label, the owner and the member. */
const FORBIDDEN: readonly (readonly [string, () => object, string])[] = [
  ['chance (Math.random)', () => Math, 'random'],
  ['chance (crypto)', () => crypto, 'getRandomValues'],
  ['chance (crypto)', () => crypto, 'randomUUID'],
  ['a clock (performance.now)', () => performance, 'now'],
  ['a timer (setTimeout)', () => globalThis, 'setTimeout'],
  ['a timer (setInterval)', () => globalThis, 'setInterval'],
  ['a module of the runtime (process.getBuiltinModule)', () => process, 'getBuiltinModule'],
  ['the network (fetch)', () => globalThis, 'fetch'],
];

/** The value of every environment variable while a plugin is tested. The value must not appear in any output of the plugin. */
export const CANARY = 'canary-of-the-environment';

/**
 * Runs a function that may depend only on its arguments. Blocks the network and replaces the environment.
 * @returns the result; `reached` lists each use of the clock, chance, timers, network or environment
 */
export function runSealed<T>(run: () => T): { readonly value: T; readonly reached: readonly string[] } {
  const reached = new Set<string>();
  const undo = [
    ...FORBIDDEN.map(([label, owner, name]) =>
      replaceMember(owner(), name, (real) => watchFunction(real, label, reached)),
    ),
    replaceMember(globalThis, 'Date', (real) => watchDate(real, reached)),
    replaceMember(process, 'env', () => watchEnvironment(reached)),
  ];
  try {
    return { value: run(), reached: [...reached] };
  } finally {
    for (const one of undo) one();
  }
}

/** Replaces a member of an object; returns a function that restores it. */
function replaceMember(owner: object, name: string, stand: (real: unknown) => unknown): () => void {
  const own = Object.getOwnPropertyDescriptor(owner, name);
  Object.defineProperty(owner, name, { value: stand(Reflect.get(owner, name)), configurable: true, writable: true });
  return () => {
    if (own) Object.defineProperty(owner, name, own);
    else Reflect.deleteProperty(owner, name);
  };
}

function watchFunction(real: unknown, label: string, reached: Set<string>): unknown {
  if (typeof real !== 'function') return real;
  return new Proxy(real, {
    apply(target, self, args) {
      reached.add(label);
      if (label.startsWith('the network')) throw new Error('a plugin may not use the network');
      return Reflect.apply(target, self, args);
    },
  });
}

function watchDate(real: unknown, reached: Set<string>): unknown {
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

function watchEnvironment(reached: Set<string>): object {
  const get = (_: object, key: string | symbol) => {
    reached.add(`the environment (${String(key)})`);
    return CANARY;
  };
  return new Proxy({}, { get });
}

/** Returns the fault of using forbidden globals; null if none was used. */
export const reachedFault = (reached: readonly string[]): string | null =>
  reached.length > 0 ? `the plugin uses ${reached.join(' and ')}` : null;

/** Returns the fault of a function that uses a forbidden global, or whose second result differs from the first; null if there is none. */
export function repeatFault<T>(once: () => T, differs: (first: T, again: T) => string): string | null {
  const { value, reached } = runSealed(() => [once(), once()] as const);
  return reachedFault(reached) ?? (isEqual(...value) ? null : differs(...value));
}
