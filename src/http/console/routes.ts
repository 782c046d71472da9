import { Elysia } from 'elysia';
import type { SignIn } from '../../access/sign-in/sign-in.ts';
import { SignalboxError } from '../../core/errors.ts';
import { pathOf, unlisted } from '../kit/route-table.ts';
import { assetOf } from './assets.ts';
import type { BuiltConsole } from './built.ts';
import type { LoginDoor } from './login-door.ts';
import { html } from './markup.ts';
import { clientPage, plainPage } from './pages.ts';

interface ConsoleServices {
  readonly signIn: Pick<SignIn, 'issuer'>;
  readonly door: Pick<LoginDoor, 'siteOf' | 'presentIn' | 'isOn'>;
  built(): BuiltConsole | null;
}

const OPEN = unlisted({ access: 'open' });

/** Serves `/console`: one page for all views, and its files. */
export function consoleRoutes(services: ConsoleServices) {
  const { door, built } = services;
  const view = ({ request }: { readonly request: Request }) => viewPage(services, request);
  return new Elysia({ name: 'console' })
    .get(
      '/console/assets/:name',
      ({ request, params: { name } }) => {
        door.siteOf(request);
        return assetOf(built(), name, request.headers);
      },
      OPEN,
    )
    .get('/console', view, OPEN)
    .get('/console/', view, OPEN)
    .get('/console/*', view, OPEN);
}

async function viewPage({ signIn, door, ...services }: ConsoleServices, request: Request): Promise<Response> {
  door.siteOf(request);
  const built = services.built();
  const path = pathOf(request.url);
  if (!door.isOn()) {
    const off = html`<p>The policy switches the console off with <code>console: { enabled: false }</code>. Logins can still use the admin API.</p>`;
    return plainPage(path, built, 'The console is off', off, 404);
  }
  if (!built) return plainPage(path, null, 'The console is not built', NOT_BUILT, 503);
  const { issuer } = signIn;
  const isSignedIn = await door.presentIn(request).then((login) => login !== null, orUnread);
  if (isSignedIn === 'unread') return plainPage(path, built, 'The database is not available', AWAY, 503);
  return clientPage(path, built, { issuer: issuer === null ? null : new URL(issuer).host, isSignedIn });
}

/** If the stored logins are too old to trust, the server shows a page to the person instead of an API error. */
function orUnread(cause: unknown): 'unread' {
  if (cause instanceof SignalboxError && cause.code === 'overloaded') return 'unread';
  throw cause;
}

const AWAY = html`<p>Signalbox refuses requests until the database is available again. Nothing is lost. Reload this page in a moment.</p>`;

const NOT_BUILT = html`<p>Run <code>npm run console</code> in the folder of Signalbox, and reload this page.</p>`;
