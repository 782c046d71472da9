import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import Provider, { type Context } from 'oidc-provider';
import { makePrefix, ownCalls } from './own-server.ts';

/** The claims of an issuer about a person. */
export type Person = Readonly<Record<string, unknown>>;

export const CLIENT_SECRET = 'only-the-gateway-knows-0123456789';

/** A real OpenID provider on this machine, whose login page accepts every password. */
export interface TestIssuer {
  readonly url: string;
  /** The people who can sign in, by their `sub`. Tests change this map. */
  readonly people: Map<string, Person>;
  /** Whether the issuer is down: it then cuts each connection. */
  isAway: boolean;
  /** The requests that the issuer received, as `METHOD path`. */
  readonly asked: string[];
  /** Allows redirects to a gateway. */
  register(gateway: string): void;
  stop(): Promise<void>;
}

const SCOPES = ['openid', 'profile', 'email', 'groups', 'offline_access'];

export async function startIssuer({ refreshes = true }: { readonly refreshes?: boolean } = {}): Promise<TestIssuer> {
  let handle: ((request: IncomingMessage, response: ServerResponse) => unknown) | null = null;
  const prefix = makePrefix();
  const server = createServer(
    ownCalls(prefix, (request, response) => {
      issuer.asked.push(`${request.method} ${request.url?.split('?')[0]}`);
      if (issuer.isAway || !handle) request.socket.destroy();
      else void handle(request, response);
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (typeof address !== 'object' || !address) throw new Error('the issuer has no port');
  const url = `http://127.0.0.1:${address.port}${prefix}`;
  const people = new Map<string, Person>();
  const issuer: TestIssuer = {
    url,
    people,
    isAway: false,
    asked: [],
    register(gateway) {
      handle = provider(url, people, `${gateway}/console/sign-in/callback`, refreshes).callback();
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return issuer;
}

function provider(url: string, people: ReadonlyMap<string, Person>, redirectUri: string, refreshes: boolean): Provider {
  return new Provider(url, {
    clients: [
      {
        client_id: 'signalbox',
        client_secret: CLIENT_SECRET,
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
      },
    ],
    cookies: { keys: ['for tests'] },
    claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'], groups: ['groups'] },
    scopes: SCOPES,
    features: { devInteractions: { enabled: true }, userinfo: { enabled: true } },
    ttl: {
      Session: 3_600,
      Interaction: 600,
      Grant: 3_600,
      AccessToken: 600,
      IdToken: 600,
      RefreshToken: 86_400,
      AuthorizationCode: 60,
    },
    findAccount: async (_, id) => {
      const person = people.get(id);
      return person && { accountId: id, claims: async () => ({ sub: id, ...people.get(id) }) };
    },
    // The issuer does not ask people for consent.
    async loadExistingGrant({ oidc }: Context) {
      const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
      grant.addOIDCScope(SCOPES.join(' '));
      await grant.save();
      return grant;
    },
    issueRefreshToken: async () => refreshes,
    rotateRefreshToken: () => true,
  });
}
