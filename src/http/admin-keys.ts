import { Elysia, t } from 'elysia';
import { keyBody, keyStatusBody, trailBody } from '../access/key-body.ts';
import type { IssuedKey } from '../access/keys.ts';
import { type KeyGrant, OVERLAP_MS } from '../access/terms.ts';
import type { KeyBudget } from '../core/caller.ts';
import { SignalboxError } from '../core/errors.ts';
import { exactMillionths } from '../core/exact-millionths.ts';
import { ADDRESS_FORM, addressOf, isMistypedAddress } from '../core/holder-address.ts';
import { servedKeyFunds } from '../operate/key-funds.ts';
import {
  createKey,
  findKey,
  type GrantStore,
  grantToKey,
  type KeyAdmin,
  listKeys,
  revokeKey,
  rotateKey,
  statedLimits,
} from '../operate/keys.ts';
import type { Principal } from '../operate/principal.ts';
import { listTrail } from '../operate/trail.ts';
import type { KeyInfo } from '../store/keys.ts';
import type { Repositories } from '../store/repositories.ts';
import { TRAIL_LIMIT, TRAIL_LIMIT_MAX } from '../store/trail.ts';
import { bodyIn } from './body.ts';
import * as docs from './docs/key-docs.ts';
import { queryLimit } from './query.ts';
import type { RouteServices } from './route-services.ts';
import { GrantRequest, KeyRequest, RotateRequest } from './schemas/keys.ts';
import { grantedAmount, inTerms, limitOf, orNothingDone, refuseValue } from './terms.ts';

export interface KeyServices extends Pick<RouteServices, 'gateway' | 'principalOf'> {
  readonly keys: KeyAdmin;
  readonly store: Pick<GrantStore, 'ledger'> & Pick<Repositories, 'trail'>;
}

/** No cache may keep a secret. */
const SECRET_HEADERS = { 'cache-control': 'no-store' };

/** `/admin/keys` and `/admin/trail`: `signalbox keys` for programs. */
export const keyRoutes = (services: KeyServices) =>
  new Elysia({ name: 'keys' }).use(readingRoutes(services)).use(changingRoutes(services));

const readingRoutes = ({ gateway, keys, store, principalOf }: KeyServices) =>
  new Elysia({ name: 'keys-read' })
    .get(
      '/admin/keys',
      async ({ request }) => {
        const all = await listKeys(principalOf(request), keys);
        const now = gateway.now();
        return { object: 'list', data: all.map((info) => keyBody(info, now)) };
      },
      docs.LIST,
    )
    .get(
      '/admin/keys/:id',
      async ({ params: { id }, request }) => statusBody(gateway, await found(principalOf(request), keys, id)),
      docs.SHOW,
    )
    .get(
      '/admin/trail',
      async ({ query: { key, limit }, request }) => {
        const text = queryText(key);
        const keyId = text === undefined ? null : trailSubject(text);
        const most = limitOf(queryText(limit) ?? TRAIL_LIMIT, TRAIL_LIMIT_MAX);
        const entries = await listTrail(principalOf(request), store.trail, { keyId, limit: most });
        return { object: 'list', data: entries.map(trailBody) };
      },
      { query: TRAIL_QUERY, ...docs.TRAIL },
    );

/** The ID of a key as it is, or the address of a wallet in lower case. */
function trailSubject(text: string): string {
  if (!isMistypedAddress(text)) return addressOf(text) ?? text;
  return refuseValue('key', `\`key\` must be the ID of a key, or the address of a wallet: ${ADDRESS_FORM}.`);
}

/** Values are looked at by hand, for an error of ours: the router would refuse them in its own words. */
const TRAIL_QUERY = t.Object({
  key: t.Optional(
    t.Any({
      type: 'string',
      description: 'Only changes of the key with this ID, or of the wallet with this address.',
    }),
  ),
  limit: queryLimit(TRAIL_LIMIT, TRAIL_LIMIT_MAX),
});

const changingRoutes = ({ gateway, principalOf, keys, store }: KeyServices) => {
  const made = ({ key, info }: IssuedKey) => ({ key, ...keyBody(info, gateway.now()) });
  return new Elysia({ name: 'keys-change' })
    .post(
      '/admin/keys',
      async ({ body, request, set }) => {
        Object.assign(set.headers, SECRET_HEADERS);
        return made(await changed(() => createKey(principalOf(request), keys, grantOf(body, gateway.now()))));
      },
      { ...bodyIn(KeyRequest), ...docs.CREATE },
    )
    .post(
      '/admin/keys/:id/rotate',
      async ({ params: { id }, body, request, set }) => {
        const overlapMs = body.overlap_seconds === undefined ? OVERLAP_MS : body.overlap_seconds * 1_000;
        const rotated = await changed(() => rotateKey(principalOf(request), keys, id, overlapMs));
        if (!rotated) throw notValid();
        Object.assign(set.headers, SECRET_HEADERS);
        return made(rotated);
      },
      { ...bodyIn(RotateRequest), ...docs.ROTATE },
    )
    .post(
      '/admin/keys/:id/revoke',
      async ({ params: { id }, request }) => {
        // Idempotent: a client that got no answer may ask again.
        const by = principalOf(request);
        await changed(() => revokeKey(by, keys, id));
        return keyBody(await found(by, keys, id), gateway.now());
      },
      docs.REVOKE,
    )
    .post(
      '/admin/keys/:id/grant',
      async ({ params: { id }, body: { credits, note = '' }, request }) => {
        const grant = { amount: grantedAmount(credits), note };
        const by = principalOf(request);
        const isDone = await changed(() => grantToKey(by, keys, store, id, grant, gateway.now()));
        if (!isDone) throw notValid();
        // It is done, so that a look which fails now must not make it look undone.
        await gateway.ledger.refresh().catch(() => {});
        return statusBody(gateway, await found(by, keys, id));
      },
      { ...bodyIn(GrantRequest), ...docs.GRANT },
    );
};

/** A change that terms may refuse, or a disk. */
const changed = <T>(deed: () => T | Promise<T>): Promise<T> => orNothingDone(() => inTerms(deed));

/** The terms of a request for a key, with the defaults. */
export function grantOf(body: KeyRequest, now: number): KeyGrant {
  const { name = '', scopes = ['chat', 'route'], labels = {}, models = null, budgets = [], wallets = null } = body;
  const { expires_in_seconds: expiresIn = null, limits = {}, team = null, user = null } = body;
  return {
    ...{ name, labels, models, holders: wallets, team, user },
    scopes: [...new Set(scopes)],
    expiresAt: expiresIn === null ? null : now + expiresIn * 1_000,
    limits: statedLimits({
      requestsPerMinute: limits.requests_per_minute ?? null,
      tokensPerMinute: limits.tokens_per_minute ?? null,
      concurrentStreams: limits.concurrent_streams ?? null,
    }),
    budgets: budgets.map(budgetOf),
  };
}

function budgetOf(budget: NonNullable<KeyRequest['budgets']>[number], at: number): KeyBudget {
  const { limit_credits, window, time_zone = 'UTC', on_exhausted = 'cap' } = budget;
  const limit = exactMillionths(limit_credits, `budgets[${at}].limit_credits`);
  return { limit, window, timeZone: time_zone, onExhausted: on_exhausted };
}

async function found(by: Principal, keys: KeyAdmin, id: string): Promise<KeyInfo> {
  const info = await findKey(by, keys, id);
  // The ID is not repeated: somebody may have put a whole key in its place.
  if (!info) throw new SignalboxError('not_found', 'No key has this ID.');
  return info;
}

const notValid = () =>
  new SignalboxError('not_found', 'No valid key has this ID. It does not exist, was revoked or has expired.');

async function statusBody({ ledger, lease, now }: KeyServices['gateway'], info: KeyInfo) {
  return keyStatusBody(info, now(), await servedKeyFunds(ledger, info, lease().snapshot.usdPerCredit));
}

const queryText = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
