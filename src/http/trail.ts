import { Elysia, t } from 'elysia';
import { orNothingDone } from '../admin/kit/refusals.ts';
import { parseMoment } from '../core/clock.ts';
import { SignalboxError } from '../core/errors.ts';
import { ADDRESS_FORM, addressOf, isMistypedAddress } from '../core/holder-address.ts';
import { holderOf, Places } from '../operate/places.ts';
import { eraseWords, exportedTrail, listTrail, type TrailPage, verifyTrail } from '../operate/trail.ts';
import type { Store } from '../store/store.ts';
import {
  TRAIL_ACTIONS,
  TRAIL_LIMIT,
  TRAIL_LIMIT_MAX,
  type TrailAction,
  type TrailHead,
  type TrailQuery,
  type TrailTable,
} from '../store/trail.ts';
import { bodyIn } from './body.ts';
import * as docs from './docs/trail-docs.ts';
import { exportResponse } from './export-response.ts';
import { MOMENT_FORM, queryLimit, queryText, queryTexts, queryWord } from './query.ts';
import { type RouteServices, withoutIdleLimit } from './route-services.ts';
import { EraseRequest } from './schemas/trail.ts';
import { limitOf, refuseValue } from './terms.ts';

export interface TrailServices extends Pick<RouteServices, 'gateway' | 'principalOf' | 'server' | 'stalledS'> {
  readonly store: Pick<Store, 'commit'> & { readonly trail: TrailTable };
  /** The heads that were noted outside the store; absent: none. Throws the system's error. */
  trailHeads?(): readonly TrailHead[];
}

const FROM = 'The first moment, such as `2026-11-20` or `2026-11-20T08:00Z`. A day begins at midnight UTC.';

/** Values are looked at by hand, for an error of ours: the router would refuse them in its own words. */
const QUERY = t.Object({
  subject: t.Optional(
    t.Any({
      type: 'string',
      description:
        'Only changes of the subject with this ID: of a key, a user, a team, a decision, a payment or a model; or the address of a wallet.',
    }),
  ),
  key: t.Optional(t.Any({ type: 'string', description: 'The same as `subject`.' })),
  kind: queryText('Only changes of this kind of subject, such as `key`.'),
  actor: queryText('Only changes by actors of this kind, such as `server`, or with this name, ID or address.'),
  action: queryWord(TRAIL_ACTIONS, 'Only changes of this kind, such as `grant`.'),
  from: queryText(FROM, MOMENT_FORM),
  to: queryText('The moment after the last one.', MOMENT_FORM),
  before: t.Optional(t.Any({ type: 'integer', description: 'Only entries before the one with this ID.' })),
  limit: queryLimit(TRAIL_LIMIT, TRAIL_LIMIT_MAX),
});

const VERIFICATIONS = {
  own: 1,
  all: 1,
  ownTaken: 'A verification of yours is still running. Send the next one once it is done.',
  allTaken: 'Another verification of the trail is running. Try again once it is done.',
} as const;

/** Each export holds one page of the trail in memory, also while its client reads nothing. */
const EXPORTS = {
  own: 4,
  all: 16,
  ownTaken: '4 exports of yours are running, which is the limit for one user or key. Read one to its end first.',
  allTaken: '16 exports of the trail are running, which is the limit of the server. Try again later.',
} as const;

/** `/admin/trail`: `signalbox trail` for programs. */
export const trailRoutes = ({ gateway, store, trailHeads = () => [], principalOf, ...edge }: TrailServices) => {
  const verifications = new Places(VERIFICATIONS);
  const exports = new Places(EXPORTS);
  return new Elysia({ name: 'trail' })
    .get(
      '/admin/trail',
      async ({ query, request }) => pageBody(await listTrail(principalOf(request), store.trail, queryOf(query))),
      { query: QUERY, ...docs.LIST },
    )
    .get(
      '/admin/trail/verify',
      async ({ request }) => {
        // The router would split what is repeated at its commas.
        const against = new URL(request.url).searchParams.getAll('against').map(headOf);
        const by = principalOf(request);
        const leave = verifications.enter(holderOf(by.caller));
        const verify = () => verifyTrail(by, store.trail, [...trailHeads(), ...against]);
        const report = await withoutIdleLimit(edge.server(), request, verify).finally(leave);
        return { object: 'trail.report', is_whole: report.faults.length === 0, ...report };
      },
      { query: t.Object({ against: queryTexts(AGAINST, { pattern: HEAD.source }) }), ...docs.VERIFY },
    )
    .get(
      '/admin/trail/export',
      async ({ query: { from, to }, request }) => {
        const period = { from: momentOf('from', from, 0), to: momentOf('to', to, Number.MAX_SAFE_INTEGER) };
        const by = principalOf(request);
        const lines = exportedTrail(by, store.trail, period, gateway.now());
        const onEnd = exports.enter(holderOf(by.caller));
        return await exportResponse(lines, { ...edge, request, headers: LINES, onEnd });
      },
      {
        query: t.Object({
          from: queryText(FROM, MOMENT_FORM),
          to: queryText('The moment after the last one.', MOMENT_FORM),
        }),
        ...docs.EXPORT,
      },
    )
    .post(
      '/admin/trail/erase',
      async ({ body, request }) => {
        const { actor_name: actorName, subject } = body;
        if ((actorName === undefined) === (subject === undefined)) {
          throw new SignalboxError('missing_field', 'State either `actor_name` or `subject`.', { param: 'actor_name' });
        }
        const words = actorName === undefined ? { subject: subject ?? '' } : { actorName };
        const isDone = await orNothingDone(() => eraseWords(principalOf(request), store, words, gateway.now()));
        if (!isDone) throw new SignalboxError('not_found', 'The trail has no such words.');
        return { object: 'trail.erasure', actor_name: actorName ?? null, subject: subject ?? null };
      },
      { ...bodyIn(EraseRequest), ...docs.ERASE },
    );
};

const LINES = { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' };

const HEAD = /^(\d{1,15}):([0-9a-f]{64})$/;
const AGAINST =
  'A head that was noted elsewhere, as `id:hash`. It may be repeated. The note of the server itself is always among them.';

const pageBody = ({ data, hasMore }: TrailPage) => ({ object: 'list', data, has_more: hasMore });

type TrailFilters = Readonly<
  Record<'subject' | 'key' | 'before' | 'limit', unknown> &
    Partial<Record<'kind' | 'actor' | 'action' | 'from' | 'to', string>>
>;

function queryOf({ subject, key, before, limit = TRAIL_LIMIT, ...filters }: Partial<TrailFilters>): TrailQuery {
  const { kind, actor, action, from, to } = filters;
  const text = typeof subject === 'string' ? subject : key;
  return {
    keyId: typeof text === 'string' ? subjectOf(text, text === subject ? 'subject' : 'key') : null,
    ...(kind !== undefined && { kind }),
    ...(actor !== undefined && { actor: addressOf(actor) ?? actor }),
    ...(action !== undefined && { action: actionOf(action) }),
    ...(from !== undefined && { from: momentOf('from', from, 0) }),
    ...(to !== undefined && { to: momentOf('to', to, 0) }),
    ...(before !== undefined && { before: placeOf(before) }),
    limit: limitOf(limit, TRAIL_LIMIT_MAX),
  };
}

/** The ID of a subject as it is, or the address of a wallet in lower case. */
function subjectOf(text: string, param: string): string {
  if (!isMistypedAddress(text)) return addressOf(text) ?? text;
  return refuseValue(param, `\`${param}\` must be an ID, or the address of a wallet: ${ADDRESS_FORM}.`);
}

function actionOf(text: string): TrailAction {
  const action = TRAIL_ACTIONS.find((one) => one === text);
  return action ?? refuseValue('action', `\`action\` must be one of ${TRAIL_ACTIONS.join(', ')}.`);
}

function placeOf(text: unknown): number {
  const id = Number(text);
  return Number.isSafeInteger(id) ? id : refuseValue('before', '`before` must be the ID of an entry, a whole number.');
}

function headOf(text: string): TrailHead {
  const [, id = '', hash = ''] = HEAD.exec(text) ?? [];
  return hash === ''
    ? refuseValue('against', '`against` must have the form id:hash, as a head is noted.')
    : { id: Number(id), hash };
}

function momentOf(param: 'from' | 'to', text: string | undefined, none: number): number {
  if (text === undefined) return none;
  return (
    parseMoment(text) ??
    refuseValue(param, `\`${param}\` takes 2026-11-20 or 2026-11-20T08:00Z, not \`${text.slice(0, 64)}\`.`)
  );
}
