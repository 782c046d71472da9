import { Elysia, t } from 'elysia';
import { LOGIN_MS } from '../../access/logins.ts';
import { type SignIn, type SignInBrowser, SignInError, type SignInFault } from '../../access/sign-in/sign-in.ts';
import { TRANSACTION_MS } from '../../access/sign-in/transaction.ts';
import { SignalboxError } from '../../core/errors.ts';
import { orOverloaded } from '../../store/unwritten.ts';
import { bodyIn } from '../kit/body.ts';
import type { RouteServices } from '../kit/route-services.ts';
import { pathOf, unlisted } from '../kit/route-table.ts';
import type { BuiltConsole } from './built.ts';
import { cookieIn, cookieText, LOGIN_COOKIE, SIGN_IN_COOKIE } from './cookies.ts';
import type { LoginDoor } from './login-door.ts';
import { html } from './markup.ts';
import { plainPage, sentTo } from './pages.ts';
import { checkOrigin, type Site } from './site.ts';

export interface SignInServices extends Pick<RouteServices, 'contextOf' | 'addressOf' | 'gateway'> {
  readonly signIn: SignIn;
  readonly door: LoginDoor;
  /**
   * Counts a request as a failed authentication.
   * @throws SignalboxError if the address of the request has sent too many failed authentications
   */
  countFailure(request: Request): void;
  built(): BuiltConsole | null;
}

const KeyText = t.Object({ key: t.String({ maxLength: 256 }) }, { additionalProperties: false });

const OPEN = unlisted({ access: 'open' });
/** The maximum size of a body with a key, in bytes. A key has at most 81 characters. */
const KEY_BODY_BYTES_MAX = 1_024;
const CALLBACK = '/console/sign-in/callback';

/** The routes with which people sign in at `/console`, and sign out. */
export const signInRoutes = (services: SignInServices) => {
  const { door } = services;
  return new Elysia({ name: 'sign-in' })
    .get('/console/sign-in', ({ request }) => orFaultPage(services, request, () => begin(services, request)), OPEN)
    .get(CALLBACK, ({ request }) => orFaultPage(services, request, () => finish(services, request)), OPEN)
    .post('/console/sign-in/key', ({ request, body }) => signInByKey(services, request, body.key), {
      ...bodyIn(KeyText),
      ...unlisted({ access: 'open', ownPages: true, body: KEY_BODY_BYTES_MAX }),
    })
    .post(
      '/console/sign-out',
      async ({ request }) => {
        const site = door.siteOf(request);
        checkOrigin(request, site);
        const value = cookieIn(request.headers, LOGIN_COOKIE);
        const by = browserOf(services, request);
        if (value !== null) await written(() => services.signIn.signOut(value, by));
        // The address is relative, because the browser may use another name of this machine than `public_url` does.
        return sentTo('../console', [cookieText(LOGIN_COOKIE, '', 0)]);
      },
      unlisted({ access: 'open', body: 'none' }),
    );
};

/** Exchanges a key for a login. The response for an invalid key is always the same, whatever is wrong with the key. */
async function signInByKey(services: SignInServices, request: Request, key: string): Promise<Response> {
  const { signIn, countFailure, gateway } = services;
  const value = await written(() => signIn.byKey(key, browserOf(services, request)));
  if (value === null) {
    const { requestId } = services.contextOf(request);
    gateway.log.warn('a sign-in by key failed', { request: requestId, address: services.addressOf(request) });
    countFailure(request);
    throw new SignalboxError(
      'invalid_api_key',
      'This key cannot sign in. Use a valid key with the scope `admin` or `report`.',
    );
  }
  return new Response(null, {
    status: 204,
    headers: { 'set-cookie': cookieText(LOGIN_COOKIE, value, LOGIN_MS), 'cache-control': 'no-store' },
  });
}

const browserOf = ({ contextOf, addressOf }: SignInServices, request: Request): SignInBrowser => ({
  agent: request.headers.get('user-agent') ?? '',
  address: addressOf(request),
  loginBefore: cookieIn(request.headers, LOGIN_COOKIE),
  requestId: contextOf(request).requestId,
});

const written = <T>(work: () => Promise<T>): Promise<T> =>
  orOverloaded('The database cannot be written now. Try again.', work);

async function begin({ signIn, door }: SignInServices, request: Request): Promise<Response> {
  const site = door.siteOf(request);
  const asked = new URL(request.url).searchParams.get('return_to');
  const { url, value } = await signIn.begin(site.base + CALLBACK, ownPath(asked, site));
  return sentTo(url.href, [cookieText(SIGN_IN_COOKIE, value, TRANSACTION_MS)]);
}

async function finish(services: SignInServices, request: Request): Promise<Response> {
  const { signIn, door } = services;
  const site = door.siteOf(request);
  const { headers } = request;
  const finished = await written(() =>
    signIn.finish(new URL(request.url).search, cookieIn(headers, SIGN_IN_COOKIE), {
      ...browserOf(services, request),
      redirectUri: site.base + CALLBACK,
    }),
  );
  return sentTo(site.base + ownPath(finished.returnTo, site), [
    cookieText(LOGIN_COOKIE, finished.value, LOGIN_MS),
    cookieText(SIGN_IN_COOKIE, '', 0),
  ]);
}

/** The console path in an address of the same site; `/console` for any other address. */
function ownPath(asked: string | null, { base }: Site): string {
  const url = asked === null ? null : URL.parse(asked, `${base}/`);
  const isOwn = asked?.startsWith('/') && url?.origin === new URL(base).origin;
  return isOwn && /^\/console(?:[/?]|$)/.test(url.pathname + url.search) ? url.pathname + url.search : '/console';
}

const FAULTS: Readonly<Record<SignInFault, { readonly status: number; readonly title: string }>> = {
  off: { status: 404, title: 'No sign-in here' },
  away: { status: 503, title: 'Sign-in is not available now' },
  stale: { status: 400, title: 'This sign-in has ended' },
  refused: { status: 400, title: 'You are not signed in' },
  nobody: { status: 403, title: 'You may not sign in here' },
};

/**
 * Shows a page with the reason if the sign-in fails. If the browser is already signed in, a second response of the issuer changes nothing.
 */
async function orFaultPage(
  { door, built }: SignInServices,
  request: Request,
  work: () => Promise<Response>,
): Promise<Response> {
  try {
    return await work();
  } catch (cause) {
    if (!(cause instanceof SignInError)) throw cause;
    const { base } = door.siteOf(request);
    const isElsewhere = cause.fault === 'off' && door.isOn();
    if (isElsewhere || (cause.fault === 'stale' && (await door.presentIn(request)))) return sentTo(`${base}/console`);
    const { status, title } = FAULTS[cause.fault];
    const again = html`<a class="button" href="${base}/console/sign-in">Try again</a>`;
    const content = html`<p>${cause.message}</p>${cause.fault === 'off' ? null : again}`;
    return plainPage(pathOf(request.url), built(), title, content, status);
  }
}
