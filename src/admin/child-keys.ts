import { Type } from '@sinclair/typebox';
import { CHILD_LIFE, LINE_LIMITS } from '../access/line.ts';
import * as f from '../core/define/fields.ts';
import { CHILD_LABEL, SCOPES } from '../core/people/caller.ts';
import { ApiKey, grantIn, issuedKey, keyInput, NewApiKey, scope, shownKey } from './key-fields.ts';
import { operationsOn } from './kit/operation.ts';
import * as terms from './terms.ts';
import { type ChildKeys, childKeys, makeChildKey, revokeChildKey } from './use-cases/child-keys.ts';

const operation = operationsOn<{ readonly keys: ChildKeys }>();
const NEEDS = 'Your key needs the scope `delegate`.';
const COMMON = { tag: 'Child keys', action: 'keys.delegate', command: false } as const;

export const ChildKeyList = f.named('ChildKeyList', 'The child keys of a key that still work.', {
  object: f.always('list'),
  data: f.list(ApiKey, 'The child keys with the terms that apply to them, oldest first; at most 100.'),
});

/** The operations of `/v1/keys`: an agent creates child keys for the agents that it starts. */
export const CHILD_KEY_OPERATIONS = [
  operation({
    ...COMMON,
    name: 'child keys list',
    http: 'GET /v1/keys',
    summary: 'List the child keys of this key',
    details: `Lists the child keys that this key has created and that still work, with the terms that apply to them. ${NEEDS}`,
    output: ChildKeyList,
    answer: 'The child keys, oldest first.',
    errors: ['insufficient_permissions'],
    async run({ keys }, { by, now }) {
      const all = await childKeys(by, keys);
      return { data: all.map((info) => shownKey(info, now)) };
    },
  }),
  operation({
    ...COMMON,
    name: 'child keys create',
    http: 'POST /v1/keys',
    counts: true,
    summary: 'Create a child key',
    details: `Creates a key for an agent that this agent starts. The child key has at most the scopes, models, wallets and lifetime of this key. If this key is restricted later, the child key is restricted, too. Requests with the child key also count against the budgets and rate limits of this key. The child key stops working when this key stops working, and when the secret that created it stops working. A key has at most ${LINE_LIMITS.live} working child keys. Child keys can create further child keys, up to ${LINE_LIMITS.depth} levels. ${NEEDS} Only this answer contains the secret, because the server stores only its hash.`,
    input: f.closed(
      'The child key to create.',
      f.allOptional({
        ...keyInput,
        scopes: f.list(
          scope,
          'Scopes of the child key. This key must have each of them; `admin` is not allowed. By default the child key gets all scopes of this key except `delegate`.',
          {
            minItems: 1,
            maxItems: SCOPES.length,
          },
        ),
        labels: f.mapOf(
          terms.keptText('A value.'),
          `Labels in addition to the labels of this key. Their names must begin with \`${CHILD_LABEL}\`, so that a policy never confuses them with labels set by operators.`,
        ),
        expires_in_seconds: Type.Integer({
          minimum: 60,
          maximum: CHILD_LIFE.mostMs / 1_000,
          default: CHILD_LIFE.usualMs / 1_000,
          description: 'The lifetime of the child key in seconds from now. The child key ends no later than this key.',
        }),
      }),
    ),
    output: NewApiKey,
    answer: 'The child key with its secret, and the terms that apply to it.',
    errorField: 'expires_in_seconds',
    examples: {
      worker: {
        summary: 'A child key for a sub-agent, valid for an hour',
        value: {
          name: 'crawler',
          labels: { 'child.task': 'crawl' },
          expires_in_seconds: 3_600,
          budgets: [{ limit_credits: 20, window: 'total' }],
        },
      },
    },
    async run({ keys }, call, { scopes, expiresInSeconds = CHILD_LIFE.usualMs / 1_000, ...stated }) {
      const grant = {
        ...grantIn({ ...stated, expiresInSeconds }, call.now),
        ...(scopes && { scopes: [...new Set(scopes)] }),
      };
      return issuedKey(await makeChildKey(call.by, keys, call.credentials, grant), call);
    },
  }),
  operation({
    ...COMMON,
    name: 'child keys revoke',
    http: 'DELETE /v1/keys/:id',
    summary: 'Revoke a child key',
    details: `Revokes a child key that this key or one of its descendants has created, with all its own child keys. Revoking it again changes nothing. ${NEEDS}`,
    output: ApiKey,
    answer: 'The key.',
    differs: { state: 'revoked', revoked_at: '2026-11-20T15:00:00.000Z' },
    errors: ['insufficient_permissions'],
    run: async ({ keys }, { by, id, now }) => shownKey(await revokeChildKey(by, keys, id), now),
  }),
];
