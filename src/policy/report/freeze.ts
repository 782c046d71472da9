/**
 * Freezes a value and everything in it. `deepFreeze` takes the mutating methods from maps and sets. Typed arrays stay mutable, because
 * JavaScript cannot freeze them.
 */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value) || ArrayBuffer.isView(value)) return value;
  if (value instanceof Map) for (const [key, item] of value) deepFreeze([key, item]);
  if (value instanceof Set) for (const item of value) deepFreeze(item);
  if (value instanceof Map || value instanceof Set) Object.assign(value, READ_ONLY);
  Object.freeze(value);
  for (const item of Object.values(value)) deepFreeze(item);
  return value;
}

function refuse(): never {
  throw new TypeError('a policy snapshot cannot be changed');
}

const READ_ONLY = { set: refuse, add: refuse, delete: refuse, clear: refuse };
