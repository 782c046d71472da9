import { type Static, Type } from '@sinclair/typebox';
import { closed, flag, optional, text, word } from '../../core/define/fields.ts';
import { expression, itemName, VARIABLE_NAME } from '../../core/define/policy-words.ts';
import { OPERATION_NAMES } from '../../core/kinds/operations.ts';

import { RATE_KEYS } from '../schema/limits.ts';

/** Scopes that a policy can give to tokens. Only the key `admin` makes a subject an administrator. */
const TOKEN_SCOPES = [...OPERATION_NAMES, 'route'] as const;

/** Maps a scope that the policy cannot give to tokens to the reason. */
const NEVER_GIVEN = { admin: 'use the key `admin` to say which subjects are administrators' };

const audience = (description: string) => text(description, { minLength: 1, maxLength: 512 });

export const TokenIssuerText = closed('An issuer of tokens, and what callers with its tokens may do.', {
  name: itemName('Name of the issuer, in lists and logs.', 'github'),
  issuer: text('Exact value of the claim `iss` in its tokens.', {
    minLength: 1,
    maxLength: 512,
    example: 'https://token.actions.githubusercontent.com',
  }),
  audience: Type.Unsafe<string | string[]>(
    Type.Union([audience('The audience.'), Type.Array(audience('An audience.'), { minItems: 1, maxItems: 16 })], {
      expected: 'a text, or a list of 1 to 16 texts',
      examples: ['https://llm.example.com'],
      description:
        'Value that the claim `aud` of a token must contain: the name of this gateway at the issuer, or a list of names of which one must match.',
    }),
  ),
  when: expression(
    'Condition that a token must satisfy to be admitted: CEL over `claims`. If the condition fails, for example because a claim is missing, the token is refused.',
    'claims.repository_owner == "acme"',
  ),
  admin: optional(
    expression(
      'Condition that is true for tokens of administrators: CEL over `claims`. Default: no token.',
      'claims.environment == "operations"',
    ),
  ),
  scopes: Type.Array(word(TOKEN_SCOPES, 'A permission of the tokens’ subjects.', { hints: NEVER_GIVEN }), {
    minItems: 1,
    default: [...TOKEN_SCOPES],
    examples: [['chat']],
    description: 'Permissions of the tokens’ subjects.',
  }),
  labels: Type.Record(
    Type.String({ minLength: 1, maxLength: 200 }),
    expression('Value of the label: CEL over `claims`.', 'claims.repository'),
    {
      default: {},
      maxProperties: 64,
      examples: [{ repository: 'claims.repository' }],
      description:
        'Labels of the subjects, like the labels of API keys: name → CEL over `claims`. If an expression fails, the subject lacks the label.',
    },
  ),
  team: optional(
    expression(
      'Name of the subject’s team: CEL over `claims`, or a fixed text in quotes. A token whose team does not exist is refused. Default: no team.',
      '"search"',
      'claims.repository_owner',
    ),
  ),
  models: Type.Optional(
    Type.Array(text('ID of a model.', { minLength: 1, maxLength: 200 }), {
      minItems: 1,
      maxItems: 1_000,
      examples: [['gpt-6.1-sol']],
      description: 'Models that the subjects may use. Default: all.',
    }),
  ),
  limits: Type.Optional(closed('Rate limits of each subject. The limits in `rate_limits` also apply.', RATE_KEYS)),
  allow_private_network: flag(
    'Allows the host of the issuer’s public keys to be this machine or in a private network.',
    { default: false, example: true },
  ),
  jwks_url: optional(
    text('URL of the issuer’s public keys, instead of the URL in its discovery document.', {
      maxLength: 2_048,
      example: 'https://www.googleapis.com/oauth2/v3/certs',
    }),
  ),
  jwks_env: optional(
    text(
      'Name of the environment variable that holds the issuer’s public keys as JSON. `NAME_FILE` can name a file instead, which Signalbox reads again when it changes.',
      { ...VARIABLE_NAME, example: 'CLUSTER_JWKS' },
    ),
  ),
  jwks: Type.Optional(
    closed('The issuer’s public keys (RFC 7517), for an issuer that this server cannot reach.', {
      keys: Type.Array(Type.Record(Type.String(), Type.Unknown()), {
        minItems: 1,
        maxItems: 100,
        description: 'Public keys.',
        examples: [[{ kty: 'RSA', kid: 'one', n: '0vx7agoebGc', e: 'AQAB' }]],
      }),
    }),
  ),
});
export type TokenIssuerText = Static<typeof TokenIssuerText>;

/** Keys that state where an issuer's public keys come from. An issuer may state at most one of these keys. */
export const KEY_PLACES = ['jwks', 'jwks_env', 'jwks_url'] as const;
