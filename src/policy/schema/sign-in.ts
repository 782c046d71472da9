import { type Static, Type } from '@sinclair/typebox';
import { boolean, closed, oneOfExplained, optional, string, VARIABLE_NAME } from '../../core/define/parts.ts';
import type { ClaimedRole } from '../../core/policy/sign-in.ts';

export const PublicUrlText = string(
  { minLength: 1, maxLength: 256, example: 'https://llm.example.com' },
  'URL at which people and agents reach this gateway. If a proxy in front of it removes a path, include that path. Sign-in redirects to this URL, and quotes for payments name it.',
);

export const ConsoleText = closed('The web application at `/console`.', {
  enabled: boolean(
    { default: true, example: false },
    'Whether the console is available, and people can sign in to it with a key.',
  ),
  trace_url: optional.string(
    {
      pattern: '^https?://[^\\s/?#@]+/\\S*\\{decision_id\\}\\S*$',
      expected: 'http:// or https://, a host, and a path or query with `{decision_id}`',
      maxLength: 1024,
      example:
        'https://traces.example.com/search?service=signalbox&tags=%7B%22signalbox.decision_id%22%3A%22{decision_id}%22%7D',
    },
    'URL of a request’s trace in your tracing system: a search for the attribute `signalbox.decision_id`, with `{decision_id}` in place of the ID. The console links to it. Default: no link.',
  ),
});

const ROLE_MEANINGS: Readonly<Record<ClaimedRole, string>> = {
  admin: 'May do everything except create admin keys, owners and admins.',
  finance: 'Sees money and changes nothing.',
  auditor: 'Sees everything and changes nothing.',
  lead: 'Manages the team that the row names.',
  member: 'Has keys and usage of their own.',
};

const RoleRowText = closed('A group of people, with their role and team.', {
  when: optional.expression(
    'Condition on the claims of the ID token: CEL over `claims`. If it fails, for example because a claim is missing, it counts as false. Default: true for everyone.',
    '"platform" in claims.groups',
  ),
  role: oneOfExplained({
    means: ROLE_MEANINGS,
    examples: ['member'],
    description:
      'Role of these people: `admin`, `finance`, `auditor`, `lead` or `member`. Only an owner or an admin key can create an owner, and an owner keeps that role.',
  }),
  team: optional.string(
    { minLength: 1, maxLength: 128, example: 'search' },
    'Name of the team that these people belong to. Required for the role `lead`.',
  ),
});

export const SignInText = closed(
  'How people sign in with OpenID Connect. Without this section, people can use only API keys.',
  {
    issuer: string(
      { minLength: 1, maxLength: 256, example: 'https://login.example.com/realms/acme' },
      'The issuer, exactly as its tokens name it. `http://` is allowed only for this machine.',
    ),
    client_id: string({ minLength: 1, maxLength: 256, example: 'signalbox' }, 'Client ID of Signalbox at the issuer.'),
    client_secret_env: optional.string(
      { ...VARIABLE_NAME, example: 'SIGNALBOX_OIDC_SECRET' },
      'Name of the environment variable that holds the client secret, never the secret itself. Without a secret, Signalbox is a public client, which only PKCE protects.',
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
