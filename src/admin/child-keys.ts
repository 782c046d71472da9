import { Type } from '@sinclair/typebox';
import { CHILD_LIFE, LINE_LIMITS } from '../access/line.ts';
import { CHILD_LABEL, SCOPES } from '../core/caller.ts';
import { ApiKey, grantIn, issuedKey, keyInput, NewApiKey, scope, shownKey } from './key-fields.ts';
import * as f from './kit/fields.ts';
import { operationsOn } from './kit/operation.ts';
import * as terms from './terms.ts';
import { type ChildKeys, childKeys, makeChildKey, revokeChildKey } from './use-cases/child-keys.ts';

const operation = operationsOn<{ readonly keys: ChildKeys }>();
const NEEDS = 'It needs the scope `delegate`.';
const COMMON = { tag: 'Child keys', action: 'keys.delegate', command: false } as const;

export const ChildKeyList = f.named('ChildKeyList', 'The child keys of a key that may still be used.', {
  object: f.always('list'),
  data: f.list(ApiKey, 'Oldest first, with the terms that apply to them; at most 100.'),
});

/** `/v1/keys`: keys that an agent hands to the agents that it starts. */
export const CHILD_KEY_OPERATIONS = [
  operation({
    ...COMMON,
    name: 'child keys list',
    http: 'GET /v1/keys',
    summary: 'List the child keys of this key',
    details: `Lists the child keys that this key has made and that may still be used, with the terms that apply to them. ${NEEDS}`,
    output: ChildKeyList,
    answer: 'The keys, oldest first.',
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
    summary: 'Make a child key',
    details: `Makes a key for an agent that this one starts. It has at most the scopes, models, wallets and life of this key, also when they are narrowed later, and spends the money and the rate limits of this key, too. It ends with this key, and with the secret that made it. A key has at most ${LINE_LIMITS.live} child keys at a time, and a line of them is ${LINE_LIMITS.depth} deep. ${NEEDS} Only this answer has the key: the server stores only its hash.`,
    input: f.body(
      'A child key to make.',
      f.allOptional({
        ...keyInput,
        scopes: f.list(scope, 'Scopes that this key has, too; never `admin`. By default all of them but `delegate`.', {
          minItems: 1,
          maxItems: SCOPES.length,
        }),
        labels: f.mapOf(
          terms.keptText('A value.'),
          `Labels beside those of this key. Their names begin with \`${CHILD_LABEL}\`, so that no rule of the policy takes them for those of an operator.`,
        ),
        expires_in_seconds: Type.Integer({
          minimum: 60,
          maximum: CHILD_LIFE.mostMs / 1_000,
          default: CHILD_LIFE.usualMs / 1_000,
          description: 'Seconds from now. It ends no later than this key.',
        }),
      }),
    ),
    output: NewApiKey,
    answer: 'The key with its secret, and the terms that apply to it.',
    errorField: 'expires_in_seconds',
    examples: {
      worker: {
        summary: 'For a sub-agent, for an hour',
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
    details: `Revokes a key that this key or a child of it has made, and so all its children. Revoking it again changes nothing. ${NEEDS}`,
    output: ApiKey,
    answer: 'The key.',
    differs: { state: 'revoked', revoked_at: '2026-11-20T15:00:00.000Z' },
    errors: ['insufficient_permissions'],
    run: async ({ keys }, { by, id, now }) => shownKey(await revokeChildKey(by, keys, id), now),
  }),
];
