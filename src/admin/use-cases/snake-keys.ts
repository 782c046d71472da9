import { snakeCase } from '../../core/text/text.ts';

type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name;

/** The type of `snakeKeys`. */
type SnakeKeys<Members> = { [Name in keyof Members & string as SnakeCase<Name>]: Members[Name] };

/** Renames members to the names in the API and in `--json`: `latencyMs` becomes `latency_ms`. Values stay unchanged. */
export function snakeKeys<Members extends object>(members: Members): SnakeKeys<Members>;
export function snakeKeys(members: object): object {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [snakeCase(name), value]));
}
