import { effect, signal } from '@preact/signals';
import type { Action, Reach } from '../../admin/use-cases/roles.ts';
import { IS_SIGNED_IN } from '../api/base.ts';
import { read, send, sessionEnds } from '../api/client.ts';
import type { ApiFailure } from '../api/failure.ts';
import type { ReadOf } from '../api/reads.ts';
import { forgetAll } from '../api/resource.ts';

type Viewer = ReadOf<'/admin/me'>;

/** The person who views the page. */
export type ConsoleSession =
  | { readonly state: 'loading' }
  | { readonly state: 'in'; readonly viewer: Viewer }
  | { readonly state: 'out' }
  | { readonly state: 'failed'; readonly failure: ApiFailure };

export const session = signal<ConsoleSession>({ state: 'loading' });

/** Requests from the gateway who is signed in. */
export async function openSession(): Promise<void> {
  // The page already says that the browser is not signed in, so no request is needed.
  if (!IS_SIGNED_IN && session.peek().state === 'loading') {
    session.value = { state: 'out' };
    return;
  }
  const result = await read('/admin/me');
  if (result.ok) session.value = { state: 'in', viewer: result.value };
  else if (result.failure.status === 401) session.value = { state: 'out' };
  else session.value = { state: 'failed', failure: result.failure };
}

/**
 * How far the viewer's role may use an action; null if the role may not use the action. A component that reads the session is rendered
 * again when the session changes.
 */
export function reachOfViewer(action: Action): Reach | null {
  const now = session.value;
  if (now.state !== 'in') return null;
  return now.viewer.actions[action] ?? null;
}

/**
 * Whether the viewer may read a report by a dimension.
 * @param report `ledger` for what only charges of the ledger have: months in any time zone, and a second dimension
 */
export function mayGroup(report: keyof Viewer['dimensions'], by: string): boolean {
  const now = session.value;
  return now.state === 'in' && now.viewer.dimensions[report].includes(by.startsWith('label:') ? 'label' : by);
}

export const mayView = (action: Action | null): boolean => action === null || reachOfViewer(action) !== null;

/** Shows the sign-in page when the login ends while the page is open. */
export function followSession(): void {
  effect(() => {
    if (sessionEnds.value > 0 && session.peek().state === 'in') leave();
  });
}

/**
 * Exchanges a key for a login. The key is only in the request that signs in.
 * @returns why the sign-in failed, in words; null if it succeeded
 */
export async function signInByKey(key: string): Promise<string | null> {
  const result = await send('POST', '/console/sign-in/key', { body: { key } });
  if (!result.ok) return result.failure.message;
  await openSession();
  return null;
}

/**
 * Ends the login in the browser and at the gateway.
 * @returns why the sign-out failed, in words; null if it succeeded
 */
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
