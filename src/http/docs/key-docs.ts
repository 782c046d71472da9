import * as schemas from '../schemas/keys.ts';
import * as examples from './request-examples.ts';
import { BODY_ERRORS, routeDocs } from './route-docs.ts';

/** The documentation of `/admin/keys` and `/admin/trail`. */

const REFUSED = [...BODY_ERRORS, 'unknown_field'] as const;
const ONCE = 'Only this answer has the key: the server stores only its hash.';

export const LIST = routeDocs({
  access: 'keys.read',
  summary: 'List the keys',
  description:
    'Lists all keys without their secrets, including revoked keys and keys that agents made for their wallets.',
  answer: { schema: schemas.ApiKeyList, description: 'The keys, oldest first.' },
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
  description: `${ONCE} An admin key can make any key, including one with the scope \`admin\`. The key works once its budgets are in force.`,
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

export const REVOKE = routeDocs({
  access: 'keys.change',
  body: 'none',
  summary: 'Revoke a key',
  description:
    'Revokes a key and all its secrets at once and forever. Revoking it again changes nothing. The body is ignored.',
  answer: {
    schema: schemas.ApiKey,
    description: 'The key.',
    differs: { state: 'revoked', revoked_at: '2026-11-20T15:00:00.000Z' },
  },
  errors: ['not_found'],
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

export const TRAIL = routeDocs({
  access: 'trail.read',
  summary: 'List changes',
  description:
    'Lists who changed keys, wallets and the policy, when, from where, and how, by command or by request. `signalbox trail verify` proves that the list is whole.',
  answer: { schema: schemas.KeyTrail, description: 'Newest first.' },
  errorField: 'limit',
  errors: ['out_of_range'],
});
