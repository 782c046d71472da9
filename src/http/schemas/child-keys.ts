import { type Static, Type } from '@sinclair/typebox';
import { CHILD_LIFE } from '../../access/line.ts';
import * as field from '../../api/parts.ts';
import { CHILD_LABEL, SCOPES } from '../../core/caller.ts';
import { ApiKey, KeptText, KeyRequest } from './keys.ts';

const { name, models, limits, budgets, wallets } = KeyRequest.properties;

/** The body of `POST /v1/keys`. */
export const ChildKeyRequest = field.partialBody('A child key to make.', {
  ...{ name, models, limits, budgets, wallets },
  scopes: Type.Array(field.word(SCOPES, 'A scope.'), {
    minItems: 1,
    maxItems: SCOPES.length,
    description: 'Scopes that this key has, too; never `admin`. By default all of them but `delegate`.',
  }),
  labels: field.mapOf(
    KeptText,
    `Labels beside those of this key. Their names begin with \`${CHILD_LABEL}\`, so that no rule of the policy takes them for those of an operator.`,
  ),
  expires_in_seconds: Type.Integer({
    minimum: 60,
    maximum: CHILD_LIFE.mostMs / 1_000,
    default: CHILD_LIFE.usualMs / 1_000,
    description: 'Seconds from now. It ends no later than this key.',
  }),
});
export type ChildKeyRequest = Static<typeof ChildKeyRequest>;

export const ChildKeyList = field.named(
  'ChildKeyList',
  'The child keys of a key that may still be used.',
  field.listOf(ApiKey, 'Oldest first, with their terms as they are in force; at most 100.'),
);
