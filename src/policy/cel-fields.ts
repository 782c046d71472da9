import { KNOWN_FIELDS, RouteConstraints } from '../core/chat-request.ts';
import { RouteQuery } from '../core/route-query.ts';
import { FIELDS, type TypeName } from './cel-types.ts';
import { nearest } from './nearest.ts';

/** What the API calls otherwise than rules do, and what callers of other gateways write: as fields of `request`. */
export const ALIASES: ReadonlyMap<string, string> = new Map([
  ['task_type', 'task'],
  ['estimated_input_tokens', 'input_tokens'],
  ['prompt_tokens', 'input_tokens'],
  ['estimated_output_tokens', 'output_tokens'],
  ['max_completion_tokens', 'max_tokens'],
  ['max_output_tokens', 'max_tokens'],
  ['capabilities', 'needs'],
  ['required_languages', 'languages'],
  ['language', 'languages'],
]);

/** What to do about all that budgets do not see of a request. */
export const NOT_IN_BUDGETS =
  'here only the key and the `model` of a request can be seen; labels of the key can say more: `key.labels.team`';

/** The same of rate limits. */
export const NOT_IN_LIMITS =
  'rate limits see only the key, for they count a request before its body is read; labels of the key can say more: `key.labels.team`';

/** Whether a name is one of a request, to rules or to the API. */
export function isOfRequests(name: string): boolean {
  return Object.hasOwn(FIELDS.Request, name) || ALIASES.has(name) || OF_THE_API.has(name);
}

/** Fields of requests: none of them is ever found in the metadata. */
const OF_THE_API: ReadonlySet<string> = new Set([
  ...KNOWN_FIELDS,
  ...Object.keys(RouteQuery.properties),
  ...Object.keys(RouteConstraints.properties),
]);

/** What was probably meant by a field that a type does not have. `owner` as `request`. */
export function fieldHint(
  field: string,
  owner: string,
  type: TypeName | null,
  known: readonly string[],
): string | undefined {
  if (type === 'BudgetRequest' && isOfRequests(field)) return NOT_IN_BUDGETS;
  const alias = type === 'Request' ? ALIASES.get(field) : undefined;
  if (alias) return `rules call it \`${owner}.${alias}\``;
  const isOfTheApi = type === 'Request' && OF_THE_API.has(field);
  if (isOfTheApi) return `rules do not see the field \`${field}\` of a request`;
  const meant = nearest(field, known);
  if (meant) return `did you mean \`${meant}\`?`;
  if (type === 'BudgetRequest') return NOT_IN_BUDGETS;
  const free = type === 'Key' ? 'labels' : type === 'Request' ? 'metadata' : null;
  return free ? `what callers name themselves is in \`${owner}.${free}.${field}\`` : undefined;
}
