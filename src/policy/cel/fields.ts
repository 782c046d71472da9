import { KNOWN_FIELDS } from '../../core/api/chat-request.ts';
import { RouteQuery } from '../../core/api/route-query.ts';
import { RouteConstraints } from '../../core/api/routing-fields.ts';
import { REQUEST_FACT_ROWS } from '../../core/tables/facts/request.ts';
import { didYouMean } from '../../core/text/text.ts';
import { nearest } from '../report/nearest.ts';
import { FIELDS, type TypeName } from './types.ts';

/** The hint for user fields other than the ID in a budget. */
export const USER_IN_BUDGETS =
  'budgets see only the ID of a user: write `user.id == "user_…"` with the ID that `signalbox users list` prints, or `each: user` to give each user a window';

export const ADDRESS_OF_USER =
  'expressions do not see the email address of a user: write `user.id == "user_…"` with the ID that `signalbox users show ADDRESS` prints';

/** Maps a type to fields that other tools have, each with the text to write instead. */
const OTHER_FIELDS: Partial<Record<TypeName, Readonly<Record<string, string>>>> = {
  Request: { team: 'team.name', key: 'key.id', labels: 'key.labels' },
  BudgetRequest: { team: 'team.name', key: 'key.id', labels: 'key.labels' },
  Model: { name: 'model.id', vendor: 'model.provider', cost: 'model.price' },
};

/** Maps names in the API and in other gateways to the field of `request` with the same meaning. */
export const ALIASES: ReadonlyMap<string, string> = new Map(
  REQUEST_FACT_ROWS.flatMap(([name, { otherNames = [] }]) => otherNames.map((other) => [other, name])),
);

/** The hint for fields of a request that budgets cannot see. */
const NOT_IN_BUDGETS =
  'budgets see only the key, its team and user, and the `model` of a request; use a team, such as `team.name`, or a label of the key, such as `key.labels.project`';

/** Whether a name is a field of a request, in rules or in the API. */
function isOfRequests(name: string): boolean {
  return Object.hasOwn(FIELDS.Request, name) || ALIASES.has(name) || OF_THE_API.has(name);
}

/** Fields of API requests. Fields of API requests are never in the metadata. */
const OF_THE_API: ReadonlySet<string> = new Set([
  ...KNOWN_FIELDS,
  ...Object.keys(RouteQuery.properties),
  ...Object.keys(RouteConstraints.properties),
]);

/** Names for the text of a request, which rules cannot see. */
const TEXTS: ReadonlySet<string> = new Set(
  'prompt prompts messages message content contents text input instructions system body question query'.split(' '),
);

/** Returns a hint for an unknown field. @param owner the path that the field is read from, such as `request` */
export function fieldHint(
  field: string,
  owner: string,
  type: TypeName | null,
  known: readonly string[],
): string | undefined {
  if (type === 'BudgetUser') return USER_IN_BUDGETS;
  if (type === 'User' && field === 'email') return ADDRESS_OF_USER;
  const other = type && OTHER_FIELDS[type]?.[field];
  if (other) return `write \`${other}\``;
  if (type === 'BudgetRequest' && isOfRequests(field)) return NOT_IN_BUDGETS;
  const alias = type === 'Request' ? ALIASES.get(field) : undefined;
  if (alias) return `write \`${owner}.${alias}\``;
  if (type === 'Request' && TEXTS.has(field)) {
    return `rules do not see the text of a request: use what Signalbox reads from it, such as \`${owner}.task\`, \`${owner}.languages\` or \`${owner}.input_tokens\``;
  }
  const isOfTheApi = type === 'Request' && OF_THE_API.has(field);
  if (isOfTheApi) return `rules cannot read the field \`${field}\` of a request`;
  const meant = nearest(field, known);
  if (meant) return didYouMean(meant);
  if (type === 'BudgetRequest') return NOT_IN_BUDGETS;
  const free = type === 'Key' ? 'labels' : type === 'Request' ? 'metadata' : null;
  if (free === null) return undefined;
  const source = free === 'labels' ? 'a label of the key' : 'metadata that the caller sends';
  return `${source} is \`${owner}.${free}.${field}\``;
}
