import { Elysia } from 'elysia';
import { LOGIN_MS } from '../../access/logins.ts';
import { type SignIn, SignInError, type SignInFault } from '../../access/sign-in/sign-in.ts';
import { TRANSACTION_MS } from '../../access/sign-in/transaction.ts';
import { orOverloaded } from '../../store/unwritten.ts';
import type { RouteServices } from '../route-services.ts';
import { pathOf, unlisted } from '../routes.ts';
import type { BuiltConsole } from './built.ts';
import { cookieIn, cookieText, LOGIN_COOKIE, SIGN_IN_COOKIE } from './cookies.ts';
import type { LoginDoor } from './login-door.ts';
import { html } from './markup.ts';
import { plainPage, sentTo } from './pages.ts';
import { checkOrigin, type Site } from './site.ts';

export interface SignInServices extends Pick<RouteServices, 'contextOf' | 'addressOf'> {
  readonly signIn: SignIn;
  readonly door: LoginDoor;
  built(): BuiltConsole | null;
}

const OPEN = unlisted({ access: 'open' });
const CALLBACK = '/console/sign-in/callback';

/** How people sign in at `/console`, and out. */
export const signInRoutes = (services: SignInServices) => {
  const { door } = services;
  return new Elysia({ name: 'sign-in' })
    .get('/console/sign-in', ({ request }) => orFaultPage(services, request, () => begin(services, request)), OPEN)
    .get(CALLBACK, ({ request }) => orFaultPage(services, request, () => finish(services, request)), OPEN)
    .post(
      '/console/sign-out',
      async ({ request }) => {
        const site = door.siteOf(request);
        checkOrigin(request, site);
        const value = cookieIn(request.headers, LOGIN_COOKIE);
        const by = { address: services.addressOf(request), requestId: services.contextOf(request).requestId };
        if (value !== null) await written(() => services.signIn.signOut(value, by));
        return sentTo(`${site.base}/console`, [cookieText(LOGIN_COOKIE, '', 0)]);
      },
      unlisted({ access: 'open', body: 'none' }),
    );
};

const written = <T>(work: () => Promise<T>): Promise<T> =>
  orOverloaded('The database cannot be written now; try again.', work);

async function begin({ signIn, door }: SignInServices, request: Request): Promise<Response> {
  const site = door.siteOf(request);
  const asked = new URL(request.url).searchParams.get('return_to');
  const { url, value } = await signIn.begin(site.base + CALLBACK, ownPath(asked, site));
  return sentTo(url.href, [cookieText(SIGN_IN_COOKIE, value, TRANSACTION_MS)]);
}

async function finish(services: SignInServices, request: Request): Promise<Response> {
  const { signIn, door, contextOf, addressOf } = services;
  const site = door.siteOf(request);
  const { headers } = request;
  const finished = await written(() =>
    signIn.finish(new URL(request.url).search, cookieIn(headers, SIGN_IN_COOKIE), {
      redirectUri: site.base + CALLBACK,
      agent: headers.get('user-agent') ?? '',
      address: addressOf(request),
      loginBefore: cookieIn(headers, LOGIN_COOKIE),
      requestId: contextOf(request).requestId,
    }),
  );
  return sentTo(site.base + ownPath(finished.returnTo, site), [
    cookieText(LOGIN_COOKIE, finished.value, LOGIN_MS),
    cookieText(SIGN_IN_COOKIE, '', 0),
  ]);
}

/** A path of the console that an address of the same site names; `/console` for anything else. */
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

/** Shows the reason where nobody is signed in. A second answer of the issuer in a browser that is signed in by now changes nothing. */
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
    if (cause.fault === 'stale' && (await door.presentIn(request))) return sentTo(`${base}/console`);
    const { status, title } = FAULTS[cause.fault];
    const again = html`<a class="button" href="${base}/console/sign-in">Try again</a>`;
    const content = html`<p>${cause.message}</p>${cause.fault === 'off' ? null : again}`;
    return plainPage(pathOf(request.url), built(), title, content, status);
  }
}
