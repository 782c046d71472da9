import { Elysia } from 'elysia';
import { decisionMoney, type MoneySources } from '../operate/decision-money.ts';
import { type RepeatSources, repeatDecision } from '../operate/repeat-decision.ts';
import { routeDocs } from './docs/route-docs.ts';
import type { RouteServices } from './route-services.ts';
import { DecisionRepeat } from './schemas/decision.ts';
import { DecisionMoney } from './schemas/decision-money.ts';

interface DetailServices extends Pick<RouteServices, 'gateway' | 'principalOf' | 'sightOf'> {
  readonly store: MoneySources['store'];
  readonly levelsOf: RepeatSources['levelsOf'];
}

/** The money of one request, and its decision by the policy in force. */
export const decisionDetailRoutes = ({ gateway, principalOf, sightOf, store, levelsOf }: DetailServices) =>
  new Elysia({ name: 'decision details' })
    .get(
      '/admin/decisions/:id/money',
      ({ params: { id }, request }) =>
        decisionMoney(principalOf(request), { records: gateway.records, store }, id, sightOf(request)),
      routeDocs({
        access: 'decisions.list',
        summary: 'The money of a request, line by line',
        description:
          'The entries of the ledger for one request: its hold and tranches, each charge with the lines of its bill at the prices of that time, the part that was released, and their sums.',
        answer: { schema: DecisionMoney, description: 'The entries.' },
        errors: ['not_found'],
      }),
    )
    .get(
      '/admin/decisions/:id/repeat',
      ({ params: { id }, request }) => {
        const { records } = gateway;
        const sources = { records, lease: gateway.lease, levelsOf };
        return repeatDecision(principalOf(request), sources, id, sightOf(request));
      },
      routeDocs({
        access: 'decisions.repeat',
        summary: 'Decide a request again by the policy in force',
        description:
          'Decides a recorded request by the policy and the health and speed of endpoints of now, as if it came from the same key at the same time of its day. It leaves no record and costs nothing. A record keeps no text: conditions on `user`, or on `metadata` that the policy did not record, find them empty, and the length of the question does not count.',
        answer: { schema: DecisionRepeat, description: 'The decision, with every candidate.' },
        errors: ['not_found'],
      }),
    );
