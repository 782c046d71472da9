import { defineGuard, Type } from 'signalbox/plugin';
import { jsonHeaders, needed } from './reply.ts';

/**
 * Calls a service in the form of Envoy's external authorization over HTTP (`envoy.filters.http.ext_authz` with `http_service` and
 * `with_request_body`). Status 200 allows, a status of 500 or more is a failure of the service, and any other status denies.
 */
export const webhook = defineGuard({
  name: 'webhook',
  status: 'alpha',
  settings: Type.Object(
    {
      headers: Type.Record(Type.String({ pattern: '^[a-z0-9-]{1,64}$' }), Type.String({ maxLength: 1_000 }), {
        default: {},
        description: 'Headers of every call, by name in lower case.',
      }),
    },
    { additionalProperties: false },
  ),
  pure: false,
  service: {},
  window: 'all',
  sides: ['input', 'output'],
  prepare: ({ headers }) => ({
    kinds: ['denied'],
    async check({ side, texts }, given) {
      const service = needed(given);
      const { status } = await service.post({
        headers: {
          ...headers,
          ...jsonHeaders(service),
          'x-envoy-auth-partial-body': 'false',
          'x-signalbox-side': side,
        },
        body: JSON.stringify({ side, texts }),
      });
      if (status === 200) return [];
      if (status >= 500) throw new Error(`the service answered with status ${status}`);
      return [{ kind: 'denied' }];
    },
  }),
});
