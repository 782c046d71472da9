import { Elysia } from 'elysia';
import { keyBody } from '../access/key-body.ts';
import { KeyConflict, type KeyPatch, keyTag } from '../access/key-patch.ts';
import type { Keys } from '../access/keys.ts';
import type { People } from '../access/people.ts';
import { parseMoment } from '../core/clock.ts';
import { SignalboxError } from '../core/errors.ts';
import { changeKey, notThere, suspendKey } from '../operate/key-change.ts';
import { membershipPatch } from '../operate/people.ts';
import type { KeyInfo } from '../store/keys.ts';
import { bodyIn } from './body.ts';
import * as docs from './docs/key-docs.ts';
import { budgetOf, limitsPatchOf } from './key-terms.ts';
import type { RouteServices } from './route-services.ts';
import { KeyPatchRequest } from './schemas/keys.ts';
import { inPeople, orNothingDone, refuseValue } from './terms.ts';

export interface KeyChangeServices extends Pick<RouteServices, 'gateway' | 'principalOf'> {
  readonly keys: Pick<Keys, 'change' | 'suspend' | 'resume'>;
  readonly people: People;
}

/** `PATCH /admin/keys/{id}`, and what suspends and resumes a key: `signalbox keys change` for programs. */
export const keyChangeRoutes = ({ gateway, principalOf, keys, people }: KeyChangeServices) => {
  const shown = (info: KeyInfo | null, headers: Record<string, string | number>) => {
    if (!info) throw notThere();
    headers.etag = etagOf(info);
    return keyBody(info, gateway.now());
  };
  const suspension = (isSuspended: boolean) => async (id: string, request: Request) =>
    changed(() => suspendKey(principalOf(request), keys, id, isSuspended, tagsIn(request.headers)));
  const [suspended, resumed] = [suspension(true), suspension(false)];
  return new Elysia({ name: 'keys-terms' })
    .patch(
      '/admin/keys/:id',
      async ({ params: { id }, body, request, set }) => {
        const patch = patchOf(body, gateway.now());
        const deed = () => {
          const whole = { ...patch, ...membershipPatch(people, body) };
          return changeKey(principalOf(request), keys, id, () => whole, tagsIn(request.headers));
        };
        return shown(await changed(deed), set.headers);
      },
      { ...bodyIn(KeyPatchRequest), ...docs.CHANGE },
    )
    .post(
      '/admin/keys/:id/suspend',
      async ({ params: { id }, request, set }) => shown(await suspended(id, request), set.headers),
      docs.SUSPEND,
    )
    .post(
      '/admin/keys/:id/resume',
      async ({ params: { id }, request, set }) => shown(await resumed(id, request), set.headers),
      docs.RESUME,
    );
};

/** A change that terms may refuse, the state of the keys, or a disk. */
export const changed = <T>(deed: () => T | Promise<T>): Promise<T> =>
  orNothingDone(async () => {
    try {
      return await inPeople(deed);
    } catch (cause) {
      if (!(cause instanceof KeyConflict)) throw cause;
      const { reason, message, tag } = cause;
      throw new SignalboxError(reason === 'stale' ? 'precondition_failed' : 'conflict', message, {
        ...(tag !== null && { headers: { etag: quoted(tag) } }),
        cause,
      });
    }
  });

const quoted = (tag: string): string => `"${tag}"`;

/** Names the terms and the state of a key. */
export const etagOf = (info: KeyInfo): string => quoted(keyTag(info));

/** The tags in `If-Match`, with or without quotes; null for any. */
function tagsIn(headers: Headers): readonly string[] | null {
  const text = headers.get('if-match')?.trim() ?? '*';
  return text === '*' ? null : text.split(',').map((tag) => tag.trim().replace(/^"(.*)"$/, '$1'));
}

/** @throws SignalboxError */
function patchOf(body: KeyPatchRequest, now: number): KeyPatch {
  const { limits, budgets, wallets, expires_at, expires_in_seconds, ...rest } = body;
  if (expires_at !== undefined && expires_in_seconds !== undefined) {
    refuseValue('expires_in_seconds', 'State `expires_at` or `expires_in_seconds`, not both.');
  }
  return {
    ...rest,
    ...(limits !== undefined && { limits: limits && limitsPatchOf(limits) }),
    ...(budgets !== undefined && {
      budgets: budgets === null ? null : budgets.map((budget, at) => budgetOf(budget, at)),
    }),
    ...(wallets !== undefined && { holders: wallets }),
    ...(expires_at !== undefined && { expiresAt: expires_at === null ? null : momentOf(expires_at) }),
    ...(expires_in_seconds !== undefined && {
      expiresAt: expires_in_seconds === null ? null : now + expires_in_seconds * 1_000,
    }),
  };
}

const momentOf = (text: string): number =>
  parseMoment(text) ?? refuseValue('expires_at', '`expires_at` takes 2027-02-18 or 2027-02-18T09:30Z.');
