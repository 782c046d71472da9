import { type Static, Type } from '@sinclair/typebox';
import { closed, optional, text, word } from '../../core/define/fields.ts';
import { expression, VARIABLE_NAME } from '../../core/define/policy-words.ts';
import type { ClaimedRole } from '../../core/policy/sign-in.ts';

const ROLE_MEANINGS: Readonly<Record<ClaimedRole, string>> = {
  admin: 'May do everything except create admin keys, owners and admins.',
  finance: 'Sees money and changes nothing.',
  auditor: 'Sees everything and changes nothing.',
  lead: 'Manages the team that the row names.',
  member: 'Has keys and usage of their own.',
};

const RoleRowText = closed('A group of people, with their role and team.', {
  when: optional(
    expression(
      'Condition on the claims of the ID token: CEL over `claims`. If it fails, for example because a claim is missing, it counts as false. Default: true for everyone.',
      '"platform" in claims.groups',
    ),
  ),
  role: word(
    ROLE_MEANINGS,
    'Role of these people: `admin`, `finance`, `auditor`, `lead` or `member`. Only an owner or an admin key can create an owner, and an owner keeps that role.',
    'member',
  ),
  team: optional(
    text('Name of the team that these people belong to. Required for the role `lead`.', {
      minLength: 1,
      maxLength: 128,
      example: 'search',
    }),
  ),
});

export const SignInText = closed(
  'How people sign in with OpenID Connect. Without this section, people can use only API keys.',
  {
    issuer: text('The issuer, exactly as its tokens name it. `http://` is allowed only for this machine.', {
      minLength: 1,
      maxLength: 256,
      example: 'https://login.example.com/realms/acme',
    }),
    client_id: text('Client ID of Signalbox at the issuer.', { minLength: 1, maxLength: 256, example: 'signalbox' }),
    client_secret_env: optional(
      text(
        'Name of the environment variable that holds the client secret, never the secret itself. Without a secret, Signalbox is a public client, which only PKCE protects.',
        { ...VARIABLE_NAME, example: 'SIGNALBOX_OIDC_SECRET' },
      ),
    ),
    scopes: Type.Array(Type.String({ minLength: 1, maxLength: 128, pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$' }), {
      maxItems: 32,
      uniqueItems: true,
      default: ['openid', 'profile', 'email'],
      examples: [['openid', 'profile', 'email', 'groups', 'offline_access']],
      description:
        'OAuth scopes to request; `openid` is always included. With `offline_access`, many issuers return a refresh token, with which Signalbox can update a person’s groups without a new sign-in.',
    }),
    roles: Type.Array(RoleRowText, {
      minItems: 1,
      maxItems: 1000,
      description:
        'Which people have which role and team. The first row whose condition is true applies. People without a row cannot sign in.',
    }),
  },
);
export type SignInText = Static<typeof SignInText>;
