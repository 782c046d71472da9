import { Elysia, t } from 'elysia';
import { orNothingDone } from '../admin/kit/refusals.ts';
import type { Alerts } from '../alerts/alerts.ts';
import { ALERTS_LIMIT, ALERTS_LIMIT_MAX, alertsBody, testedWebhooks } from '../operate/alerts.ts';
import { bodyIn } from './body.ts';
import { BODY_ERRORS, routeDocs } from './docs/route-docs.ts';
import { NOT_EMPTY, queryLimit, queryText } from './query.ts';
import type { RouteServices } from './route-services.ts';
import * as schemas from './schemas/alerts.ts';
import { limitOf } from './terms.ts';

/** The alerts, as the edge sees them. */
export type AlertDesk = Pick<Alerts, 'list' | 'test'>;

interface AlertServices extends Pick<RouteServices, 'gateway' | 'principalOf'> {
  readonly alerts: AlertDesk;
}

/** `/admin/alerts`: what people were told, and a message to try a webhook. */
export const alertRoutes = ({ gateway, principalOf, alerts }: AlertServices) =>
  new Elysia({ name: 'alerts' })
    .get(
      '/admin/alerts',
      ({ query: { limit, after = null }, request }) =>
        alertsBody(
          principalOf(request),
          { alerts, policy: gateway.lease().snapshot.alerts },
          { limit: limitOf(limit ?? ALERTS_LIMIT, ALERTS_LIMIT_MAX), after },
        ),
      {
        query: t.Object({
          limit: queryLimit(ALERTS_LIMIT, ALERTS_LIMIT_MAX),
          after: queryText('The ID of the last alert of the page before.', NOT_EMPTY),
        }),
        ...LIST,
      },
    )
    .post(
      '/admin/alerts/test',
      async ({ body: { webhook = null }, request }) => {
        const webhooks = testedWebhooks(principalOf(request), gateway.lease().snapshot.alerts, webhook);
        const results = await orNothingDone(() => alerts.test(webhooks));
        const data = results.map(({ webhook, problem }) => ({ webhook, sent: problem === null, problem }));
        return { object: 'list', data };
      },
      { ...bodyIn(schemas.AlertTestRequest), ...TEST },
    );

const LIST = routeDocs({
  access: 'alerts.read',
  summary: 'Alerts, their rules and webhooks',
  description:
    'Returns the alerts that people were sent, newest first, with the way of each to its webhooks; the rules; and the webhooks, with those that fail. Addresses and secrets are never shown. `./signalbox alerts list` shows the same.',
  answer: { schema: schemas.AlertList, description: 'A page of alerts.' },
  errorField: 'limit',
  errors: ['invalid_value', 'out_of_range'],
});

const TEST = routeDocs({
  access: 'alerts.test',
  summary: 'Send a test to webhooks',
  description:
    'Sends a test message to one webhook or to all of them, one try each, with the variables of this server, and returns how that went. The message is listed among the alerts.',
  answer: { schema: schemas.AlertTest, description: 'The result at each webhook.' },
  requests: {
    one: { summary: 'One webhook', value: { webhook: 'ops' } },
    all: { summary: 'All webhooks', value: {} },
  },
  errorField: 'webhook',
  errors: [...BODY_ERRORS, 'unknown_field'],
});
