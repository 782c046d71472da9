import { defineGuard, Type } from 'signalbox/plugin';
import { jsonHeaders, needed } from './reply.ts';

/** Headers of the connection and of the body, which the host writes. */
const OF_THE_HOST = 'connection|content-length|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade';
const Name = Type.String({ pattern: `^(?!(?:${OF_THE_HOST})$)[a-z0-9-]{1,64}$` });
const Value = Type.String({
  maxLength: 1_000,
  pattern: '^[\\t\\x20-\\x7e\\x80-\\xff]*$',
  expected: 'one line of at most 1,000 Latin characters',
});

/**
 * Calls a service in the form of Envoy's external authorization over HTTP (`envoy.filters.http.ext_authz` with `http_service` and
 * `with_request_body`). Status 200 allows, a status of 500 or more is a failure of the service, and any other status denies.
 */
export const webhook = defineGuard({
  name: 'webhook',
  status: 'alpha',
  settings: Type.Object(
    {
      headers: Type.Record(Name, Value, {
        additionalProperties: false,
        expected:
          'lower-case letters, digits and dashes, but no header of the connection or of the body, such as `content-length`',
        default: {},
        description: 'Headers of every call, by name in lower case.',
      }),
    },
    { additionalProperties: false },
  ),
  pure: false,
  service: {},
  window: 'all',
  locates: false,
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
