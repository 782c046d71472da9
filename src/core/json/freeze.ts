/** Freezes a value deeply, because requests share it. Returns how many members its objects have. */
export function freezeDeep(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let members = 0;
  if (Array.isArray(value)) for (let at = 0; at < value.length; at++) members += freezeDeep(value[at]);
  else for (const name in value) members += 1 + freezeDeep(Reflect.get(value, name));
  Object.freeze(value);
  return members;
}
