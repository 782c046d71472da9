type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name;

/** The type that `camelKeys` returns. */
type CamelKeys<Members> = { [Name in keyof Members & string as CamelCase<Name>]: Members[Name] };

/**
 * Converts keys from snake case, as in the policy, to camel case, as in the code: `queue_max` → `queueMax`. `camelKeys` keeps the values of
 * the keys.
 */
export function camelKeys<Members extends object>(members: Members): CamelKeys<Members>;
export function camelKeys(members: object): object {
  const nameOf = (name: string) => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [nameOf(name), value]));
}
