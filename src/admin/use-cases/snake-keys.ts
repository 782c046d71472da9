type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name;

/** The type of `snakeKeys`. */
type SnakeKeys<Members> = { [Name in keyof Members & string as SnakeCase<Name>]: Members[Name] };

/** Figures by the names that the API and `--json` have for them: `latencyMs` as `latency_ms`. Values stay as they are. */
export function snakeKeys<Members extends object>(members: Members): SnakeKeys<Members>;
export function snakeKeys(members: object): object {
  const nameOf = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [nameOf(name), value]));
}
