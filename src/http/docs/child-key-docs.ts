import { LINE_LIMITS } from '../../access/line.ts';
import { ChildKeyList } from '../schemas/child-keys.ts';
import * as schemas from '../schemas/keys.ts';
import { CHILD_KEY_REQUESTS } from './request-examples.ts';
import { BODY_ERRORS, routeDocs } from './route-docs.ts';

/** The documentation of `/v1/keys`. */

const TAG = { tag: 'Child keys' } as const;
const NEEDS = 'It needs the scope `delegate`.';

export const LIST = routeDocs({
  ...TAG,
  access: 'keys.delegate',
  summary: 'List the child keys of this key',
  description: `Lists the child keys that this key has made and that may still be used, with their terms as they are in force. ${NEEDS}`,
  answer: { schema: ChildKeyList, description: 'The keys, oldest first.' },
  errors: ['insufficient_permissions'],
});

export const CREATE = routeDocs({
  ...TAG,
  access: 'keys.delegate',
  counts: true,
  summary: 'Make a child key',
  description: `Makes a key for an agent that this one starts. It has at most the scopes, models, wallets and life of this key, also when they are narrowed later, and spends the money and the rate limits of this key, too. It ends with this key, and with the secret that made it. A key has at most ${LINE_LIMITS.live} child keys at a time, and a line of them is ${LINE_LIMITS.depth} deep. ${NEEDS} Only this answer has the key: the server stores only its hash.`,
  answer: { schema: schemas.NewApiKey, description: 'The key with its secret, and its terms as they are in force.' },
  requests: CHILD_KEY_REQUESTS,
  errorField: 'expires_in_seconds',
  errors: [...BODY_ERRORS, 'unknown_field'],
});

export const REVOKE = routeDocs({
  ...TAG,
  access: 'keys.delegate',
  body: 'none',
  summary: 'Revoke a child key',
  description: `Revokes a key that this key or a child of it has made, and so all its children. Revoking it again changes nothing. The body is ignored. ${NEEDS}`,
  answer: {
    schema: schemas.ApiKey,
    description: 'The key.',
    differs: { state: 'revoked', revoked_at: '2026-11-20T15:00:00.000Z' },
  },
  errors: ['insufficient_permissions', 'not_found'],
});
