import { Elysia, t } from 'elysia';
import { RECORD_STATUSES } from '../core/decision-record.ts';
import { SignalboxError } from '../core/errors.ts';
import { OPERATION_NAMES } from '../core/operation.ts';
import {
  DecisionFilterError,
  type DecisionFilters,
  decisionPageBody,
  decisionQuery,
  listDecisions,
  PAGE_LIMIT,
  PAGE_LIMIT_MAX,
} from '../operate/decisions.ts';
import type { RecordQuery } from '../store/records.ts';
import { routeDocs } from './docs/route-docs.ts';
import type { RouteServices } from './route-services.ts';
import { DecisionList } from './schemas/decisions.ts';

const text = (description: string) => t.Optional(t.String({ description }));

const QUERY = t.Object({
  from: text('The first moment, such as `2026-11-20` or `2026-11-20T08:00Z`. A day begins at midnight UTC.'),
  to: text('The moment after the last one.'),
  key: text('The ID of the key, or the address of the wallet, that asked.'),
  model: text('The model that was tried last, or chosen where none was tried.'),
  task: text('The task type of the request.'),
  status: text(`One of ${RECORD_STATUSES.join(', ')}.`),
  operation: text(`One of ${OPERATION_NAMES.join(', ')}.`),
  label: t.Optional(
    t.Union([t.String(), t.Array(t.String())], {
      description: 'A label of the key at the time, as `name=value`. It may be repeated; a decision must have all.',
    }),
  ),
  after: text('The ID of the last decision of the page before.'),
  limit: text(`How many at most, up to ${PAGE_LIMIT_MAX}; ${PAGE_LIMIT} unless given.`),
});

/** `GET /admin/decisions`: `signalbox decisions list` for programs. */
export const decisionListRoutes = ({ gateway }: Pick<RouteServices, 'gateway'>) =>
  new Elysia({ name: 'decision-list' }).get(
    '/admin/decisions',
    async ({ request }) => decisionPageBody(await listDecisions(gateway.records, queryOf(request.url))),
    {
      query: QUERY,
      ...routeDocs({
        access: 'admin',
        summary: 'List decisions',
        description:
          'The records of decisions that match all filters, the newest first. `GET /v1/decisions/{id}` explains one of them. After an update from version 0.1 the server takes older records into the list in the background, the newest first.',
        answer: { schema: DecisionList, description: 'The page.' },
        errorField: 'status',
        errors: ['invalid_value'],
      }),
    },
  );

const FILTERS = ['from', 'to', 'key', 'model', 'task', 'status', 'operation', 'after', 'limit'] as const;

function queryOf(url: string): RecordQuery {
  const query = new URL(url).searchParams;
  const given = FILTERS.flatMap((name) => (query.has(name) ? [[name, query.get(name)] as const] : []));
  const filters: DecisionFilters = { ...Object.fromEntries(given), label: query.getAll('label') };
  try {
    return decisionQuery(filters);
  } catch (cause) {
    if (!(cause instanceof DecisionFilterError)) throw cause;
    throw new SignalboxError('invalid_value', `\`${cause.filter}\` ${cause.message}.`, { param: cause.filter, cause });
  }
}
