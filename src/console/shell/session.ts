import { effect, signal } from '@preact/signals';
import type { Action, Reach } from '../../admin/use-cases/roles.ts';
import { IS_SIGNED_IN } from '../api/base.ts';
import { read, send, sessionEnds } from '../api/client.ts';
import type { ApiFailure } from '../api/failure.ts';
import type { ReadOf } from '../api/reads.ts';
import { forgetAll } from '../api/resource.ts';

type Viewer = ReadOf<'/admin/me'>;

/** Who looks at the page. */
export type ConsoleSession =
  | { readonly state: 'loading' }
  | { readonly state: 'in'; readonly viewer: Viewer }
  | { readonly state: 'out' }
  | { readonly state: 'failed'; readonly failure: ApiFailure };

export const session = signal<ConsoleSession>({ state: 'loading' });

/** Asks who is signed in. */
export async function openSession(): Promise<void> {
  // The page knows it already, and the gateway need not refuse anybody.
  if (!IS_SIGNED_IN && session.peek().state === 'loading') {
    session.value = { state: 'out' };
    return;
  }
  const result = await read('/admin/me');
  if (result.ok) session.value = { state: 'in', viewer: result.value };
  else if (result.failure.status === 401) session.value = { state: 'out' };
  else session.value = { state: 'failed', failure: result.failure };
}

/** How far the viewer's role reaches in an action; null for not at all. Read in a component, it follows the session. */
export function reachOfViewer(action: Action): Reach | null {
  const now = session.value;
  if (now.state !== 'in') return null;
  return now.viewer.actions[action] ?? null;
}

export const mayView = (action: Action | null): boolean => action === null || reachOfViewer(action) !== null;

/** Shows the door when the login ends under the page. */
export function followSession(): void {
  effect(() => {
    if (sessionEnds.value > 0 && session.peek().state === 'in') leave();
  });
}

/** Exchanges a key for a login. The key is in nothing but this one request. @returns why it did not, in words; null where it did */
export async function signInByKey(key: string): Promise<string | null> {
  const result = await send('POST', '/console/sign-in/key', { body: { key } });
  if (!result.ok) return result.failure.message;
  await openSession();
  return null;
}

/** Ends the login, here and at the gateway. @returns why it did not, in words; null where it did */
export async function signOut(): Promise<string | null> {
  const result = await send('POST', '/console/sign-out');
  if (!result.ok) return `Signing out failed: ${result.failure.message}`;
  leave();
  return null;
}

function leave(): void {
  forgetAll();
  session.value = { state: 'out' };
}
