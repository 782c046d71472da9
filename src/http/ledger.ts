import { Elysia, t } from 'elysia';
import type { People } from '../access/people.ts';
import { lastAudit, runAudit, type ServerAudits } from '../operate/ledger/audit.ts';
import { FUNDS_MAX } from '../operate/ledger/fund-pages.ts';
import { overviewBody, overviewOf } from '../operate/ledger/status.ts';
import { namesFor } from '../operate/usage.ts';
import { routeDocs } from './docs/route-docs.ts';
import { NOT_EMPTY, queryLimit, queryText } from './query.ts';
import { type RouteServices, withoutIdleLimit } from './route-services.ts';
import * as schemas from './schemas/ledger.ts';
import { limitOf } from './terms.ts';

interface LedgerServices extends Pick<RouteServices, 'gateway' | 'principalOf' | 'sightOf' | 'server'> {
  readonly audits: ServerAudits;
  readonly people: People;
}

const AUDIT = {
  access: 'ledger.audit',
  answer: { schema: schemas.LedgerAudit, description: 'The audit.' },
} as const;

/** `GET /admin/ledger`: the sums spent and held, and the use of each fund. `/admin/ledger/audit`: the proof of the books. */
export const ledgerRoutes = ({ gateway, principalOf, sightOf, server, audits, people }: LedgerServices) =>
  new Elysia({ name: 'ledger' })
    .get(
      '/admin/ledger/audit',
      ({ request }) => lastAudit(principalOf(request), audits),
      routeDocs({
        ...AUDIT,
        summary: 'The last audit of the books',
        description:
          'Returns the result of the last audit that this server ran, and whether one is running. A server that was started anew has none.',
      }),
    )
    .post(
      '/admin/ledger/audit',
      ({ request }) => withoutIdleLimit(server(), request, () => runAudit(principalOf(request), audits)),
      routeDocs({
        ...AUDIT,
        body: 'none',
        summary: 'Audit the books',
        description:
          'Reads the whole journal with code of its own, as `./signalbox ledger audit` does, and returns the findings when it is done: beside the requests, one audit at a time. A request that comes while one runs gets its result. An audit that takes longer than 10 minutes is ended; run the command on a copy then.',
      }),
    )
    .get(
      '/admin/ledger',
      async ({ query: { name, limit, after = null }, request }) => {
        const { ledger, lease, now } = gateway;
        const { usdPerCredit } = lease().snapshot;
        const principal = principalOf(request);
        const names = namesFor(principal.caller, people);
        const overview = await overviewOf(principal, ledger, usdPerCredit, sightOf(request), names);
        return overviewBody(overview, name, now(), { limit: limitOf(limit ?? FUNDS_MAX, FUNDS_MAX), after });
      },
      {
        query: t.Object({
          name: queryText('Only funds of this name.'),
          limit: queryLimit(FUNDS_MAX, FUNDS_MAX),
          after: queryText('`next_after` of the page before.', NOT_EMPTY),
        }),
        ...routeDocs({
          access: 'ledger.read',
          summary: 'Charges, holds and funds',
          description:
            'Returns all charges, the amounts reserved by running requests, and every budget window and balance, with what is left, when it runs out at the rate so far, how many requests hold it and since when, and when it renews: the first to run out first, then the fullest. Budgets of teams, users and keys are listed before they are used, too. `./signalbox ledger status` gives the same figures of all that are used.',
          answer: { schema: schemas.LedgerStatus, description: 'The status.' },
          errorField: 'after',
          errors: ['invalid_value', 'out_of_range'],
        }),
      },
    );
