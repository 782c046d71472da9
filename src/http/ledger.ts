import { Elysia, t } from 'elysia';
import { overviewBody, overviewOf } from '../operate/ledger/status.ts';
import { routeDocs } from './docs/route-docs.ts';
import { queryText } from './query.ts';
import type { RouteServices } from './route-services.ts';
import * as schemas from './schemas/ledger.ts';

type LedgerServices = Pick<RouteServices, 'gateway' | 'principalOf' | 'sightOf'>;

/** `GET /admin/ledger`: the sums spent and held, and the use of each fund. */
export const ledgerRoutes = ({ gateway, principalOf, sightOf }: LedgerServices) =>
  new Elysia({ name: 'ledger' }).get(
    '/admin/ledger',
    async ({ query: { name }, request }) => {
      const { ledger, lease, now } = gateway;
      const { usdPerCredit } = lease().snapshot;
      const overview = await overviewOf(principalOf(request), ledger, usdPerCredit, sightOf(request));
      return overviewBody(overview, name, now());
    },
    {
      query: t.Object({ name: queryText('Only funds of this name.') }),
      ...routeDocs({
        access: 'ledger.read',
        summary: 'Charges, holds and funds',
        description:
          'Returns all charges, the amounts reserved by running requests, and every budget window and balance in use, with what is left, how many requests hold it and since when, and when it renews. `./signalbox ledger status` gives the same figures.',
        answer: { schema: schemas.LedgerStatus, description: 'The status.' },
        errorField: 'name',
        errors: ['invalid_value'],
      }),
    },
  );
