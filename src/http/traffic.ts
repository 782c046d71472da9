import { Elysia, t } from 'elysia';
import { TRAFFIC_GROUPINGS } from '../operate/traffic/grouping.ts';
import { ANSWER_STEPS } from '../operate/traffic/periods.ts';
import { questionOf } from '../operate/traffic/question.ts';
import { TRAFFIC_LIMIT, TRAFFIC_LIMIT_MAX, type TrafficSources, trafficBody } from '../operate/traffic/traffic.ts';
import { routeDocs } from './docs/route-docs.ts';
import { LABEL_FORM, MOMENT_FORM, queryLimit, queryText, queryWord } from './query.ts';
import type { RouteServices } from './route-services.ts';
import * as schemas from './schemas/traffic.ts';

interface TrafficServices extends Pick<RouteServices, 'gateway' | 'principalOf' | 'sightOf' | 'teamIdOf'> {
  readonly store: TrafficSources['store'];
  readonly nameOf: TrafficSources['nameOf'];
}

const QUERY = {
  from: queryText(
    'The first moment, such as `2026-11-20` or `2026-11-20T08:00Z`; 24 hours before `to` unless given, 30 days by `day`, and 180 by `month`.',
    MOMENT_FORM,
  ),
  to: queryText('The moment behind the last one; now unless given.', MOMENT_FORM),
  step: queryWord(
    ANSWER_STEPS,
    `The length of a bucket: ${ANSWER_STEPS.join(', ')}; \`hour\` unless given. Minutes are kept for 2 days, hours for 93, days for 1,098. Months are made of days, without percentiles and tokens a second.`,
  ),
  time_zone: queryText(
    'IANA name of the zone in which days and months begin; UTC unless given. Those of another zone are put together from hours.',
  ),
  by: queryText(
    `The dimension of \`series\`: ${TRAFFIC_GROUPINGS.join(', ')}, or \`label:NAME\` for the values of one label of keys; the total alone unless given.`,
    { pattern: `^(?:${TRAFFIC_GROUPINGS.join('|')}|label:.+)$` },
  ),
  model: queryText('Only the model with this ID, in the total, by `model` or by `key`.'),
  provider: queryText('Only the provider with this ID, in the total or by `provider`.'),
  key: queryText(
    'Only the key with this ID, or this wallet, in the total, by `key` or by `model`; for a key with the scope `report`, the keys of this name.',
  ),
  team: queryText('Only keys that belonged to the team with this ID or name, in the total or by `team`.'),
  user: queryText(
    'Only keys that belonged to the user with this ID, in the total or by `user`. A key with the scope `report` is shown no users.',
  ),
  label: queryText('Only keys that had this label, as `name=value`, in the total or by this label.', LABEL_FORM),
  task: queryText('Only requests of this task, in the total or by `task`.'),
  status: queryText('Only requests with this status, in the total or by `status`.'),
  compare: queryWord(['before'], '`before` adds the sums of the period of the same length before, to each line.'),
  points: queryWord(
    ['true', 'false'],
    '`false` leaves out the figures by bucket, percentiles and tokens a second, and reads whole days where it can: for lists of sums.',
  ),
  limit: queryLimit(
    TRAFFIC_LIMIT,
    TRAFFIC_LIMIT_MAX,
    `How many series at most; ${TRAFFIC_LIMIT} unless said. The rest is \`other\`.`,
  ),
};

/** `GET /admin/traffic`: requests, money, tokens and times by bucket. */
export const trafficRoutes = ({ gateway, principalOf, sightOf, teamIdOf, store, nameOf }: TrafficServices) =>
  new Elysia({ name: 'traffic' }).get(
    '/admin/traffic',
    ({ request, query }) => {
      const now = gateway.now();
      const sources = {
        store,
        nameOf,
        now,
        sight: sightOf(request),
        usdPerCredit: gateway.lease().snapshot.usdPerCredit,
      };
      const team = query.team && { team: teamIdOf(query.team) };
      return trafficBody(principalOf(request), sources, questionOf({ ...query, ...team }, now));
    },
    {
      query: t.Object(QUERY),
      ...routeDocs({
        access: 'traffic.read',
        summary: 'Traffic by time',
        description:
          'Returns requests, errors, money, savings, tokens and times by minute, hour, day or month, as a whole and by one dimension. A request counts in the bucket in which it began. Money is that of the ledger, less refunds; everything else is that of the records of decisions, and of no prompt. A lead is shown its team and the keys that it has now, a member its own. [Traffic](docs/operate/traffic.md) explains the figures.',
        answer: { schema: schemas.Traffic, description: 'The figures.' },
        errorField: 'step',
        errors: ['invalid_value', 'out_of_range'],
      }),
    },
  );
