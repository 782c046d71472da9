import { Type } from '@sinclair/typebox';
import { Elysia, t } from 'elysia';
import { TRAIL_PERIOD } from '../admin/trail.ts';
import { holderOf, Places } from '../admin/use-cases/places.ts';
import { exportedTrail } from '../admin/use-cases/trail.ts';
import { refuse } from '../core/errors.ts';
import { parseMoment } from '../core/time/clock.ts';
import type { TrailTable } from '../store/trail.ts';
import { exportResponse } from './kit/export-response.ts';
import { routeDocs } from './kit/route-docs.ts';
import type { RouteServices } from './kit/route-services.ts';

interface TrailServices extends Pick<RouteServices, 'gateway' | 'principalOf' | 'server' | 'stalledS'> {
  readonly store: { readonly trail: Pick<TrailTable, 'links'> };
}

/** Each export holds one page of the trail in memory, even while its client reads nothing. */
const EXPORTS = {
  own: 4,
  all: 16,
  ownTaken: 'You are running 4 exports, which is the limit for one user or key. Read one export to its end first.',
  allTaken: 'The server is running 16 exports of the audit trail, which is its limit. Try again later.',
} as const;

/** `GET /admin/trail/export`: the same as `signalbox trail export`, for programs. */
export const trailExportRoutes = ({ gateway, store, principalOf, ...edge }: TrailServices) => {
  const exports = new Places(EXPORTS);
  return new Elysia({ name: 'trail export' }).get(
    '/admin/trail/export',
    async ({ query: { from, to }, request }) => {
      const period = { from: momentOf('from', from, 0), to: momentOf('to', to, Number.MAX_SAFE_INTEGER) };
      const by = principalOf(request);
      const lines = exportedTrail(by, store.trail, period, gateway.now());
      const onEnd = exports.enter(holderOf(by.caller));
      return await exportResponse(lines, { ...edge, request, headers: LINES, onEnd });
    },
    { query: t.Object(TRAIL_PERIOD), ...EXPORT },
  );
};

const LINES = { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' };

function momentOf(param: 'from' | 'to', text: string | undefined, none: number): number {
  if (text === undefined) return none;
  return (
    parseMoment(text) ??
    refuse(
      param,
      `\`${param}\` must be a date or a time such as 2026-11-20 or 2026-11-20T08:00Z, not \`${text.slice(0, 64)}\`.`,
    )
  );
}

const EXPORT = routeDocs({
  access: 'trail.read',
  summary: 'Export the trail',
  description:
    'JSON lines, oldest first. Each line is an entry with all fields from which its hash is made. The last line is the head of the whole trail. If an export has no head, it is incomplete: the server disconnects a client that reads nothing for a minute. A user or key can run 4 exports at once, and a server 16.',
  answer: {
    schema: Type.String(),
    mediaType: 'application/x-ndjson',
    description: 'The lines.',
    example:
      '{"id":12,"time":"2026-11-20T09:30:00.000Z","action":"grant","hash":"…"}\n{"head":true,"id":12,"hash":"…","noted_at":"2026-11-21T00:00:00.000Z"}\n',
  },
  errorField: 'from',
  errors: ['invalid_value'],
});
