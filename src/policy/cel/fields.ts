import { KNOWN_FIELDS } from '../../core/api/chat-request.ts';
import { RouteQuery } from '../../core/api/route-query.ts';
import { RouteConstraints } from '../../core/api/routing-fields.ts';
import { REQUEST_FACT_ROWS } from '../../core/tables/facts/request.ts';
import { didYouMean } from '../../core/text/text.ts';
import type { Courtesy } from '../report/courtesy.ts';
import { nearest } from '../report/nearest.ts';
import { type CelKind, FIELDS, type TypeName, VARIABLES } from './types.ts';

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

/** A field that an expression reads, and that its owner does not have. */
export interface UnknownField {
  readonly field: string;
  /** The path that the field is read from, such as `request`. */
  readonly owner: string;
  /** The type of the owner; null if it has no declared type. */
  readonly type: TypeName | null;
  readonly kind: CelKind;
  readonly known: readonly string[];
}

const rule = (terms: string): string => `constraints: [{ name: c, ${terms} }]`;
const when = (condition: string): string => rule(`when: '${condition}', require: model.id == "tiny"`);
const budget = (match: string): string =>
  `budgets: [{ name: b, match: '${match}', limit_credits: 50000, window: day }]`;

/** Fields that do not exist, the most certain mistake first. */
export const FIELD_COURTESIES: readonly Courtesy<UnknownField>[] = [
  { mistake: rule('require: model.upstream == "m"'), answer: ofEndpoints },
  { mistake: when('key.team == "legal"'), answer: ofGroups },
  {
    mistake: budget('user.name == "Ada"'),
    answer: ({ type }) => (type === 'BudgetUser' ? USER_IN_BUDGETS : undefined),
  },
  {
    mistake: when('user.email == "ada@example.com"'),
    answer: ({ type, field }) => (type === 'User' && field === 'email' ? ADDRESS_OF_USER : undefined),
  },
  {
    mistake: rule('require: model.name == "tiny"'),
    answer({ type, field }) {
      const other = type && OTHER_FIELDS[type]?.[field];
      return other ? `write \`${other}\`` : undefined;
    },
  },
  {
    mistake: budget('request.task == "coding"'),
    answer: ({ type, field }) => (type === 'BudgetRequest' && isOfRequests(field) ? NOT_IN_BUDGETS : undefined),
  },
  {
    mistake: when('request.task_type == "coding"'),
    answer({ type, field, owner }) {
      const alias = type === 'Request' ? ALIASES.get(field) : undefined;
      return alias && `write \`${owner}.${alias}\``;
    },
  },
  {
    mistake: when('request.prompt.contains("secret")'),
    answer: ({ type, field, owner }) =>
      type === 'Request' && TEXTS.has(field)
        ? `rules do not see the text of a request: use what Signalbox reads from it, such as \`${owner}.task\`, \`${owner}.languages\` or \`${owner}.input_tokens\``
        : undefined,
  },
  {
    mistake: when('request.temperature > 1.0'),
    answer: ({ type, field }) =>
      type === 'Request' && OF_THE_API.has(field) ? `rules cannot read the field \`${field}\` of a request` : undefined,
  },
  {
    mistake: when('request.tsk == "coding"'),
    answer({ field, known }) {
      const meant = nearest(field, known);
      return meant === null ? undefined : didYouMean(meant);
    },
  },
  {
    mistake: budget('request.departments == "legal"'),
    answer: ({ type }) => (type === 'BudgetRequest' ? NOT_IN_BUDGETS : undefined),
  },
  {
    mistake: when('key.department == "legal"'),
    answer: ({ type, field, owner }) =>
      type === 'Key' ? `a label of the key is \`${owner}.labels.${field}\`` : undefined,
  },
  {
    mistake: when('request.department == "legal"'),
    answer: ({ type, field, owner }) =>
      type === 'Request' ? `metadata that the caller sends is \`${owner}.metadata.${field}\`` : undefined,
  },
];

/** `team` and \`user\` are separate variables, not fields of \`key\`. */
function ofGroups({ field, type, kind }: UnknownField): string | undefined {
  const own = type === 'Key' ? VARIABLES[kind][field] : undefined;
  if (own === undefined || field === 'key' || !Object.hasOwn(FIELDS[own], 'id')) return undefined;
  const meant = Object.hasOwn(FIELDS[own], 'name') ? 'name' : 'id';
  return `to read the ${field} of the key, write \`${field}.${meant}\`; to read a label of the key, write \`key.labels.${field}\``;
}

/** A model can have several endpoints, each with its own value of a field. */
function ofEndpoints({ field, type, kind }: UnknownField): string | undefined {
  if (type !== 'Model' || !Object.hasOwn(FIELDS.Endpoint, field)) return undefined;
  return kind === 'constraint'
    ? `${didYouMean(`endpoint.${field}`)} A model has \`${field}\` for each of its endpoints`
    : `only the \`require\` of a constraint sees \`endpoint.${field}\`, for each endpoint of a model`;
}
