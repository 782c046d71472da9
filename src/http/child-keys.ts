import { Elysia } from 'elysia';
import { keyBody } from '../access/key-body.ts';
import { CHILD_LIFE } from '../access/line.ts';
import { type ChildGrant, type ChildKeys, childKeys, makeChildKey, revokeChildKey } from '../operate/child-keys.ts';
import { grantOf } from './admin-keys.ts';
import { bodyIn } from './body.ts';
import { credentialsIn } from './credentials.ts';
import * as docs from './docs/child-key-docs.ts';
import type { RouteServices } from './route-services.ts';
import { ChildKeyRequest } from './schemas/child-keys.ts';
import { inTerms, orNothingDone } from './terms.ts';

interface ChildKeyServices extends Pick<RouteServices, 'gateway' | 'principalOf'> {
  readonly keys: ChildKeys;
}

/** `/v1/keys`: keys that an agent hands to the agents that it starts. */
export const childKeyRoutes = ({ gateway, keys, principalOf }: ChildKeyServices) =>
  new Elysia({ name: 'child keys' })
    .get(
      '/v1/keys',
      async ({ request }) => {
        const all = await childKeys(principalOf(request), keys);
        return { object: 'list', data: all.map((info) => keyBody(info, gateway.now())) };
      },
      docs.LIST,
    )
    .post(
      '/v1/keys',
      async ({ body, request, set }) => {
        const grant = childGrantOf(body, gateway.now());
        const make = () => makeChildKey(principalOf(request), keys, credentialsIn(request.headers), grant);
        const { key, info } = await orNothingDone(() => inTerms(make, (param) => param !== 'parent'));
        // No cache may keep a secret.
        set.headers['cache-control'] = 'no-store';
        return { key, ...keyBody(info, gateway.now()) };
      },
      { ...bodyIn(ChildKeyRequest), ...docs.CREATE },
    )
    .delete(
      '/v1/keys/:id',
      async ({ params: { id }, request }) => {
        const info = await orNothingDone(() => revokeChildKey(principalOf(request), keys, id));
        return keyBody(info, gateway.now());
      },
      docs.REVOKE,
    );

/** The terms of a request for a key below another. */
function childGrantOf(body: ChildKeyRequest, now: number): ChildGrant {
  const { expires_in_seconds = CHILD_LIFE.usualMs / 1_000, scopes, ...more } = body;
  const { scopes: _, ...grant } = grantOf({ ...more, expires_in_seconds }, now);
  return scopes ? { ...grant, scopes: [...new Set(scopes)] } : grant;
}
