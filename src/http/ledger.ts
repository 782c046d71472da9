import { Elysia, t } from 'elysia';
import { iso } from '../core/clock.ts';
import { toCredits } from '../core/credits.ts';
import type { LedgerStatus } from '../ledger/ledger.ts';
import type { FundStanding } from '../ledger/rules/fund.ts';
import { routeDocs } from './docs/route-docs.ts';
import type { RouteServices } from './route-services.ts';
import * as schemas from './schemas/ledger.ts';

const FUNDS_SHOWN = 1_000;

/** `GET /admin/ledger`: the sums spent and held, and the use of each fund. */
export const ledgerRoutes = ({ gateway }: Pick<RouteServices, 'gateway'>) =>
  new Elysia({ name: 'ledger' }).get(
    '/admin/ledger',
    async ({ query: { name } }) => statusBody(await gateway.ledger.status(), name),
    {
      query: t.Object({ name: t.Optional(t.String({ description: 'Only funds of this name.' })) }),
      ...routeDocs({
        access: 'admin',
        summary: 'Charges, reservations and funds',
        description:
          'Returns all charges, the amounts reserved by running requests, and every budget window and balance in use, with what is left and when it renews.',
        answer: { schema: schemas.LedgerStatus, description: 'The status.' },
        errorField: 'name',
        errors: ['invalid_value'],
      }),
    },
  );

function statusBody({ charged, held, open, funds }: LedgerStatus, name: string | undefined): object {
  const wanted = funds.filter(({ title }) => name === undefined || title.name === name);
  const fullest = wanted.sort((a, b) => usedShare(b) - usedShare(a));
  return {
    charged_credits: toCredits(charged),
    held_credits: toCredits(held),
    open_reservations: open,
    funds: fullest.slice(0, FUNDS_SHOWN).map(fundBody),
    funds_total: wanted.length,
  };
}

const usedShare = ({ spent, held, limit }: FundStanding): number => (spent + held) / Math.max(1, limit);

/** A window or a balance, as every answer shows it. */
export function fundBody({ title, limit, spent, held, free }: FundStanding): object {
  return {
    kind: title.kind,
    name: title.name,
    subject: title.subject,
    limit_credits: toCredits(limit),
    spent_credits: toCredits(spent),
    held_credits: toCredits(held),
    left_credits: toCredits(free),
    starts: title.starts === 0 ? null : iso(title.starts),
    renews_at: Number.isFinite(title.ends) ? iso(title.ends) : null,
  };
}
