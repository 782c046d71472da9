import * as schemas from '../schemas/keys.ts';
import * as examples from './request-examples.ts';
import { BODY_ERRORS, routeDocs } from './route-docs.ts';

/** The documentation of `/admin/keys`. */

const REFUSED = [...BODY_ERRORS, 'unknown_field'] as const;
const ONCE = 'Only this answer has the key: the server stores only its hash.';

export const LIST = routeDocs({
  access: 'keys.read',
  summary: 'List the keys',
  description:
    'Lists the keys without their secrets, including revoked keys and keys that agents made for their wallets. Leads see those of their team, members their own.',
  answer: { schema: schemas.ApiKeyList, description: 'The keys, oldest first.' },
  errorField: 'state',
  errors: ['invalid_value', 'out_of_range'],
});

export const SHOW = routeDocs({
  access: 'keys.read',
  summary: 'Show a key',
  description: 'Returns a key with its terms, and with what its own budgets and its balance have left.',
  answer: { schema: schemas.ApiKeyStatus, description: 'The key.' },
  errors: ['not_found'],
});

export const CREATE = routeDocs({
  access: 'keys.change',
  summary: 'Make a key',
  description: `${ONCE} An admin key can make any key, including one with the scope \`admin\`. The key works once its budgets are in force. A lead or a member has at most 200 unrevoked keys, and makes at most 200 within 24 hours.`,
  answer: { schema: schemas.NewApiKey, description: 'The key with its secret.' },
  requests: examples.KEY_REQUESTS,
  errorField: 'expires_in_seconds',
  errors: REFUSED,
});

export const ROTATE = routeDocs({
  access: 'keys.change',
  summary: 'Rotate a key',
  description: `Gives a key a new secret. Its spend, budgets and balance continue. The old secret works for another \`overlap_seconds\`, by default a day. An even older secret stops working at once. ${ONCE}`,
  answer: {
    schema: schemas.NewApiKey,
    description: 'The key with its new secret.',
    differs: { rotated_at: '2026-11-20T14:00:00.000Z', overlap_ends_at: '2026-11-21T14:00:00.000Z' },
  },
  requests: examples.ROTATE_REQUESTS,
  errorField: 'overlap_seconds',
  errors: [...REFUSED, 'not_found'],
});

const TAGGED = { headers: { etag: 'The version of the key, for `If-Match`.' } };

export const CHANGE = routeDocs({
  access: 'keys.change',
  summary: 'Change a key',
  description:
    'Changes terms of a key that is not revoked, in force within a second. Its secret, its spend and its balance stay. An absent member stays, null removes it. A budget with the window and time zone of before keeps what was spent; a limit below that refuses further requests and ends none that runs. The trail has the members that differ, before and after. With `If-Match`, the key is changed only while its `etag` is that; without it the last of two changes wins. The last admin key that works cannot lose its scope.',
  answer: { schema: schemas.ApiKey, description: 'The key with its new terms.' },
  ...TAGGED,
  requests: examples.KEY_CHANGES,
  errorField: 'expires_at',
  errors: [...REFUSED, 'not_found', 'precondition_failed', 'conflict'],
});

export const SUSPEND = routeDocs({
  access: 'keys.suspend',
  body: 'none',
  summary: 'Suspend a key',
  description:
    'Stops a key until it is resumed, within a second. Its requests get 403 `key_suspended`; answers in progress still finish. Suspending it again changes nothing. The body is ignored.',
  answer: {
    schema: schemas.ApiKey,
    description: 'The key.',
    differs: { state: 'suspended', suspended_at: '2026-11-20T15:00:00.000Z' },
  },
  ...TAGGED,
  errors: ['not_found', 'precondition_failed', 'conflict'],
});

export const RESUME = routeDocs({
  access: 'keys.suspend',
  body: 'none',
  summary: 'Resume a key',
  description: 'Lets a suspended key work again, within a second, on the terms that it has. The body is ignored.',
  answer: { schema: schemas.ApiKey, description: 'The key.' },
  ...TAGGED,
  errors: ['not_found', 'precondition_failed'],
});

export const REVOKE = routeDocs({
  access: 'keys.change',
  body: 'none',
  summary: 'Revoke a key',
  description:
    'Revokes a key and all its secrets at once and forever. Revoking it again changes nothing. The last admin key that works cannot be revoked. The body is ignored.',
  answer: {
    schema: schemas.ApiKey,
    description: 'The key.',
    differs: { state: 'revoked', revoked_at: '2026-11-20T15:00:00.000Z' },
  },
  errors: ['not_found', 'conflict'],
});

export const GRANT = routeDocs({
  access: 'keys.grant',
  summary: 'Grant Credits to a key',
  description:
    'Adds to the balance of a key, or takes back from it. The first grant makes a key prepaid: once its balance is used up, requests get 402 `insufficient_quota`. A grant to a key of a wallet goes to the balance of the wallet.',
  answer: { schema: schemas.ApiKeyStatus, description: 'The key.' },
  requests: examples.GRANT_REQUESTS,
  errorField: 'credits',
  errors: [...REFUSED, 'not_found'],
});
