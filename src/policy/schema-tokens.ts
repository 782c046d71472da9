import { type Static, Type } from '@sinclair/typebox';
import { RATE_KEYS } from './schema-limits.ts';
import { boolean, closed, expression, itemName, oneOf, optional, string, VARIABLE_NAME } from './schema-parts.ts';

/** What a token may be made to do. An administrator is one by `admin` alone. */
const TOKEN_SCOPES = ['chat', 'embed', 'route'] as const;

/** Scope that is not given here → why. */
const NEVER_GIVEN = { admin: 'the key `admin` says which subjects are administrators' };

const audience = (description: string) => string({ minLength: 1, maxLength: 512 }, description);

export const TokenIssuerText = closed('An issuer of tokens, and what their subjects may do.', {
  name: itemName('Its name, in lists and logs.', 'github'),
  issuer: string(
    { minLength: 1, maxLength: 512, example: 'https://token.actions.githubusercontent.com' },
    'Claim `iss` of its tokens, letter by letter.',
  ),
  audience: Type.Unsafe<string | string[]>(
    Type.Union([audience('The audience.'), Type.Array(audience('An audience.'), { minItems: 1, maxItems: 16 })], {
      expected: 'a text, or a list of 1 to 16 texts',
      examples: ['https://llm.example.com'],
      description: 'Claim `aud` that a token must have: a name of this gateway, or a list of them.',
    }),
  ),
  when: expression(
    'Tokens that are admitted: CEL over `claims`. One that fails, as for a missing claim, admits none.',
    'claims.repository_owner == "acme"',
  ),
  admin: optional.expression(
    'Tokens whose subjects are administrators: CEL over `claims`. Default: none.',
    'claims.environment == "operations"',
  ),
  scopes: Type.Array(oneOf(TOKEN_SCOPES, { description: 'A permission of the subjects.', hints: NEVER_GIVEN }), {
    minItems: 1,
    default: [...TOKEN_SCOPES],
    examples: [['chat']],
    description: 'Permissions of the subjects.',
  }),
  labels: Type.Record(
    Type.String({ minLength: 1, maxLength: 200 }),
    expression('Its value: CEL over `claims`.', 'claims.repository'),
    {
      default: {},
      maxProperties: 64,
      examples: [{ repository: 'claims.repository' }],
      description: 'Labels of the subjects, as of keys: name → CEL over `claims`. A subject lacks a label that fails.',
    },
  ),
  team: optional.expression(
    'Name of the team of the subjects: CEL over `claims`, or a text in quotes. A token whose team does not exist is refused. Default: none.',
    '"search"',
    'claims.repository_owner',
  ),
  models: Type.Optional(
    Type.Array(string({ minLength: 1, maxLength: 200 }, 'ID of a model.'), {
      minItems: 1,
      maxItems: 1_000,
      examples: [['gpt-6.1-sol']],
      description: 'Models that the subjects may use. Default: all.',
    }),
  ),
  limits: Type.Optional(closed('Rate limits of each subject, beside those of the policy.', RATE_KEYS)),
  allow_private_network: boolean(
    { default: false, example: true },
    'Whether the host of its keys may be in a private network, or this machine.',
  ),
  jwks_url: optional.string(
    { maxLength: 2_048, example: 'https://www.googleapis.com/oauth2/v3/certs' },
    'Address of its keys, in place of the one that its discovery document names.',
  ),
  jwks_env: optional.string(
    { ...VARIABLE_NAME, example: 'CLUSTER_JWKS' },
    'Name of a variable with its keys as JSON. `NAME_FILE` names a file, which is read again when it changes.',
  ),
  jwks: Type.Optional(
    closed('Its keys (RFC 7517), for an issuer that cannot be reached.', {
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

/** Keys of an issuer that say where its own keys come from. At most one is stated. */
export const KEY_PLACES = ['jwks', 'jwks_env', 'jwks_url'] as const;
