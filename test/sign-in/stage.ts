import { CLIENT_SECRET } from '../support/issuer.ts';
import { TOY } from '../support/policies.ts';
import { type Signalbox, type StartOptions, startSignalbox } from '../support/signalbox.ts';
import type { Visitor } from '../support/visitor.ts';

/** A policy without OpenID sign-in. */
export const MODEL = `${TOY}gateway:
  failed_auth_per_minute: 1000000
  keyless_per_minute: 1000000
  reports_per_minute: 1000000
  cors: { origins: ['https://pages.example'] }
`;

interface GatewayOptions extends StartOptions {
  /** The terms of `sign_in.roles` by group. */
  readonly roles?: Readonly<Record<string, string>>;
}
const ROLES = { platform: 'role: admin', staff: 'role: member' };

/** The gateway of a test, where people sign in at an issuer. */
export const startGateway = (
  issuer: string,
  more = '',
  { roles = ROLES, ...options }: GatewayOptions = {},
): Promise<Signalbox> =>
  startSignalbox({
    policy: `${MODEL}${more}
sign_in:
  issuer: ${issuer}
  client_id: signalbox
  client_secret_env: OIDC_SECRET
  scopes: [openid, profile, email, groups, offline_access]
  roles:
${Object.entries(roles)
  .map(([group, terms]) => `    - { when: '"${group}" in claims.groups', ${terms} }`)
  .join('\n')}
`,
    ...options,
    env: options.env ?? { OIDC_SECRET: CLIENT_SECRET },
  });

export const LOGIN = '__Host-signalbox';
export const SIGN_IN = '__Host-signalbox-sign-in';

/** The value of a visitor's login cookie. */
export const loginOf = (visitor: Visitor, { url }: Signalbox): string => visitor.cookie(url, LOGIN) ?? '';

/** Requests who is signed in, with the value of a login cookie. */
export const meBy = (box: Signalbox, value: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${box.url}/admin/me`, { headers: { cookie: `${LOGIN}=${value}`, ...headers } });
