import * as schemas from '../schemas/keys.ts';
import * as examples from './request-examples.ts';
import { BODY_ERRORS, routeDocs } from './route-docs.ts';

/** The documentation of `/admin/keys` and `/admin/trail`. */

const REFUSED = [...BODY_ERRORS, 'unknown_field'] as const;
const ONCE = 'The key is in this answer alone: what is kept is its hash.';

export const LIST = routeDocs({
  access: 'admin',
  summary: 'List the keys',
  description: 'All keys without their secrets, the revoked ones too, and those that agents made for their wallets.',
  answer: { schema: schemas.ApiKeyList, description: 'The keys, oldest first.' },
});

export const SHOW = routeDocs({
  access: 'admin',
  summary: 'Show a key',
  description: 'All that is known of a key, with what its own budgets and its balance have left.',
  answer: { schema: schemas.ApiKeyStatus, description: 'The key.' },
  errors: ['not_found'],
});

export const CREATE = routeDocs({
  access: 'admin',
  summary: 'Make a key',
  description: `${ONCE} An admin key may make any key, one with the scope \`admin\` too. Its budgets count before it is let in.`,
  answer: { schema: schemas.NewApiKey, description: 'The key with its secret.' },
  requests: examples.KEY_REQUESTS,
  errorField: 'expires_in_seconds',
  errors: REFUSED,
});

export const ROTATE = routeDocs({
  access: 'admin',
  summary: 'Rotate a key',
  description: `Gives a key another secret; spend, budgets and balance go on. The old secret works as long as \`overlap_seconds\` says, a day unless it does. The one before that ends at once. ${ONCE}`,
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
  access: 'admin',
  body: 'none',
  summary: 'Revoke a key',
  description: 'Ends a key at once, with both its secrets, for good. Doing it again changes nothing. Reads no body.',
  answer: {
    schema: schemas.ApiKey,
    description: 'The key.',
    differs: { state: 'revoked', revoked_at: '2026-11-20T15:00:00.000Z' },
  },
  errors: ['not_found'],
});

export const GRANT = routeDocs({
  access: 'admin',
  summary: 'Grant Credits to a key',
  description:
    'Adds to what a key may spend, or takes back. From its first grant on a key is prepaid: 402 `insufficient_quota` once it is used up. What is granted to a key that shows a wallet goes to the wallet’s balance.',
  answer: { schema: schemas.ApiKeyStatus, description: 'The key.' },
  requests: examples.GRANT_REQUESTS,
  errorField: 'credits',
  errors: [...REFUSED, 'not_found'],
});

export const TRAIL = routeDocs({
  access: 'admin',
  summary: 'What was done to keys',
  description: 'Who made, rotated, revoked and installed which key, and granted what to it, by command and by request.',
  answer: { schema: schemas.KeyTrail, description: 'Newest first.' },
  errorField: 'limit',
  errors: ['out_of_range'],
});
