import { Elysia } from 'elysia';
import { keyBody, keyStatusBody } from '../access/key-body.ts';
import type { IssuedKey } from '../access/keys.ts';
import type { People } from '../access/people.ts';
import { type KeyGrant, OVERLAP_MS, statedLimits } from '../access/terms.ts';
import { isOperator } from '../core/caller.ts';
import { SignalboxError } from '../core/errors.ts';
import { servedKeyFunds } from '../operate/key-funds.ts';
import { isSearch, pageOfKeys } from '../operate/key-pages.ts';
import {
  createKey,
  findKey,
  type GrantStore,
  grantToKey,
  type KeyAdmin,
  revokeKey,
  rotateKey,
} from '../operate/keys.ts';
import { membershipOf } from '../operate/people.ts';
import type { Principal } from '../operate/principal.ts';
import type { KeyInfo } from '../store/keys.ts';
import { bodyIn } from './body.ts';
import * as docs from './docs/key-docs.ts';
import { changed, etagOf, keyChangeRoutes } from './key-changes.ts';
import { KEYS_QUERY, keyQueryOf } from './key-list.ts';
import { budgetOf } from './key-terms.ts';
import { holderOf, Places } from './places.ts';
import type { RouteServices } from './route-services.ts';
import { GrantRequest, KeyRequest, RotateRequest } from './schemas/keys.ts';
import { grantedAmount } from './terms.ts';

export interface KeyServices extends Pick<RouteServices, 'gateway' | 'principalOf' | 'teamIdOf'> {
  readonly keys: KeyAdmin;
  readonly people: People;
  readonly store: Pick<GrantStore, 'ledger'>;
}

/** No cache may keep a secret. */
const SECRET_HEADERS = { 'cache-control': 'no-store' };

/** `/admin/keys`: `signalbox keys` for programs. */
export const keyRoutes = (services: KeyServices) =>
  new Elysia({ name: 'keys' })
    .use(readingRoutes(services))
    .use(changingRoutes(services))
    .use(keyChangeRoutes(services));

/** A search reads keys until its page is full. Operators have no such limit: their programs may share a key. */
const SEARCHES = {
  own: 1,
  all: 16,
  ownTaken: 'A search of yours for keys is still running. Send the next one once it is done.',
  allTaken: '16 searches for keys are running, which is the limit of the server. Try again later.',
} as const;

const readingRoutes = ({ gateway, keys, principalOf, teamIdOf }: KeyServices) => {
  const searches = new Places(SEARCHES);
  return new Elysia({ name: 'keys-read' })
    .get(
      '/admin/keys',
      async ({ request }) => {
        const by = principalOf(request);
        const query = keyQueryOf(request.url, teamIdOf);
        const isLimited = isSearch(query) && !isOperator(by.caller);
        const leave = isLimited ? searches.enter(holderOf(by.caller)) : () => {};
        const page = await pageOfKeys(by, keys, query, gateway.now()).finally(leave);
        return { object: 'list', data: page.data, has_more: page.hasMore };
      },
      { query: KEYS_QUERY, ...docs.LIST },
    )
    .get(
      '/admin/keys/:id',
      async ({ params: { id }, request, set }) => {
        const info = await found(principalOf(request), keys, id);
        set.headers.etag = etagOf(info);
        return statusBody(gateway, info);
      },
      docs.SHOW,
    );
};

const changingRoutes = ({ gateway, principalOf, keys, people, store }: KeyServices) => {
  const made = ({ key, info }: IssuedKey, headers: Record<string, string | number>) => {
    Object.assign(headers, SECRET_HEADERS, { etag: etagOf(info) });
    return { key, ...keyBody(info, gateway.now()) };
  };
  return new Elysia({ name: 'keys-change' })
    .post(
      '/admin/keys',
      async ({ body, request, set }) => {
        const grant = () => ({ ...grantOf(body, gateway.now()), ...membershipOf(people, body) });
        return made(await changed(() => createKey(principalOf(request), keys, grant())), set.headers);
      },
      { ...bodyIn(KeyRequest), ...docs.CREATE },
    )
    .post(
      '/admin/keys/:id/rotate',
      async ({ params: { id }, body, request, set }) => {
        const overlapMs = body.overlap_seconds === undefined ? OVERLAP_MS : body.overlap_seconds * 1_000;
        const rotated = await changed(() => rotateKey(principalOf(request), keys, id, overlapMs));
        if (!rotated) throw notValid();
        return made(rotated, set.headers);
      },
      { ...bodyIn(RotateRequest), ...docs.ROTATE },
    )
    .post(
      '/admin/keys/:id/revoke',
      async ({ params: { id }, request, set }) => {
        // Idempotent: a client that got no answer may ask again.
        const by = principalOf(request);
        await changed(() => revokeKey(by, keys, id));
        const info = await found(by, keys, id);
        set.headers.etag = etagOf(info);
        return keyBody(info, gateway.now());
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
    budgets: budgets.map((budget, at) => budgetOf(budget, at)),
  };
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
