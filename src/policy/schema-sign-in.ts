import { type Static, Type } from '@sinclair/typebox';
import type { ClaimedRole } from '../core/sign-in-policy.ts';
import { boolean, closed, oneOfExplained, optional, string, VARIABLE_NAME } from './schema-parts.ts';

export const PublicUrlText = string(
  { minLength: 1, maxLength: 256, example: 'https://llm.example.com' },
  'Address at which people and agents reach this gateway, with the path that a proxy in front removes, if any. Sign-in redirects to it, and quotes name it.',
);

export const ConsoleText = closed('The web application at `/console`.', {
  enabled: boolean({ default: true, example: false }, 'Whether it is served, and people may sign in to it with a key.'),
  trace_url: optional.string(
    {
      pattern: '^https?://[^\\s/?#@]+/\\S*\\{decision_id\\}\\S*$',
      expected: 'http:// or https://, a host and a path or query with `{decision_id}`',
      maxLength: 1024,
      example:
        'https://traces.example.com/search?service=signalbox&tags=%7B%22signalbox.decision_id%22%3A%22{decision_id}%22%7D',
    },
    'Where people find the trace of a request: the address of a search for `signalbox.decision_id` in your tracing system, with `{decision_id}` in the place of the ID. Default: no link.',
  ),
});

const ROLE_MEANINGS: Readonly<Record<ClaimedRole, string>> = {
  admin: 'May do everything but make admin keys, owners and admins.',
  finance: 'Sees money and changes nothing.',
  auditor: 'Sees everything and changes nothing.',
  lead: 'Leads the team of the row.',
  member: 'Has keys and usage of their own.',
};

const RoleRowText = closed('People and their role.', {
  when: optional.expression(
    'Condition on the claims of the ID token: CEL over `claims`. Default: everybody. One that cannot be judged, such as without the claim, does not hold.',
    '"platform" in claims.groups',
  ),
  role: oneOfExplained({
    means: ROLE_MEANINGS,
    examples: ['member'],
    description:
      'Role: `admin`, `finance`, `auditor`, `lead` or `member`. An owner is made by an owner or an admin key, and stays one.',
  }),
  team: optional.string(
    { minLength: 1, maxLength: 128, example: 'search' },
    'Name of the team that they belong to. A `lead` needs one.',
  ),
});

export const SignInText = closed('Sign-in of people by OpenID Connect. Without it, only keys open anything.', {
  issuer: string(
    { minLength: 1, maxLength: 256, example: 'https://login.example.com/realms/acme' },
    'Issuer, exactly as its tokens name it. `http://` only for this machine.',
  ),
  client_id: string({ minLength: 1, maxLength: 256, example: 'signalbox' }, 'ID of Signalbox at the issuer.'),
  client_secret_env: optional.string(
    { ...VARIABLE_NAME, example: 'SIGNALBOX_OIDC_SECRET' },
    'Name of the variable with the secret of the client, never the secret. Without one, the client is public and PKCE alone protects it.',
  ),
  scopes: Type.Array(Type.String({ minLength: 1, maxLength: 128, pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$' }), {
    maxItems: 32,
    uniqueItems: true,
    default: ['openid', 'profile', 'email'],
    examples: [['openid', 'profile', 'email', 'groups', 'offline_access']],
    description:
      'Scopes to ask for; `openid` always. With `offline_access` many issuers give the refresh token that renews groups without the person.',
  }),
  roles: Type.Array(RoleRowText, {
    minItems: 1,
    maxItems: 1000,
    description: 'Who has which role and team. The first row that holds decides; people without one are refused.',
  }),
});
export type SignInText = Static<typeof SignInText>;
