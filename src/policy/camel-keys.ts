type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name;

/** The type of `camelKeys`. */
type CamelKeys<Members> = { [Name in keyof Members & string as CamelCase<Name>]: Members[Name] };

/** Settings by the names that the code has for them: `queue_max` as `queueMax`. Values stay as they are. */
export function camelKeys<Members extends object>(members: Members): CamelKeys<Members>;
export function camelKeys(members: object): object {
  const nameOf = (name: string) => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [nameOf(name), value]));
}
