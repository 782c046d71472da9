import { Elysia, t } from 'elysia';
import { orNothingDone } from '../admin/kit/refusals.ts';
import { SignalboxError } from '../core/errors.ts';
import { endLogin, LOGINS_LIMIT, LOGINS_LIMIT_MAX, type LoginDesk, listLogins, meBody } from '../operate/logins.ts';
import type { LoginDoor } from './console/login-door.ts';
import { routeDocs } from './docs/route-docs.ts';
import { NOT_EMPTY, queryLimit, queryText } from './query.ts';
import type { RouteServices } from './route-services.ts';
import * as schemas from './schemas/logins.ts';
import { limitOf } from './terms.ts';

export interface LoginServices extends Pick<RouteServices, 'principalOf'> {
  readonly desk: LoginDesk;
  readonly door: Pick<LoginDoor, 'loginOf'>;
}

const QUERY = t.Object({
  user: queryText('Only logins of the user, or the key, with this ID.'),
  after: queryText('The ID of the last login of the page before.', NOT_EMPTY),
  limit: queryLimit(LOGINS_LIMIT, LOGINS_LIMIT_MAX),
});

/** `/admin/me` and `/admin/logins`. */
export const loginRoutes = ({ principalOf, desk, door }: LoginServices) =>
  new Elysia({ name: 'logins' })
    .get(
      '/admin/me',
      ({ request }) => meBody(principalOf(request), door.loginOf(request), desk),
      routeDocs({
        access: 'me.read',
        summary: 'Who asks',
        description:
          'Returns the role of the caller with each action that it may take and how far that reaches, and the login where a browser asks.',
        answer: { schema: schemas.Me, description: 'The caller.' },
      }),
    )
    .get(
      '/admin/logins',
      ({ request, query: { user = null, after = null, limit } }) =>
        listLogins(principalOf(request), desk, {
          user,
          after,
          limit: limitOf(limit ?? LOGINS_LIMIT, LOGINS_LIMIT_MAX),
        }),
      {
        query: QUERY,
        ...routeDocs({
          access: 'logins.read',
          summary: 'List logins',
          description:
            'Lists the logins that have not ended. Owners, admins and auditors see all, others their own. A login belongs to a user, or to the key that signed in.',
          answer: { schema: schemas.LoginList, description: 'The page.' },
          errorField: 'limit',
          errors: ['invalid_value', 'out_of_range'],
        }),
      },
    )
    .delete(
      '/admin/logins/:id',
      async ({ request, params: { id } }) => {
        const ended = await orNothingDone(() => endLogin(principalOf(request), desk, id));
        if (!ended)
          throw new SignalboxError('not_found', 'No login that you may end has this ID. It may have ended already.');
        return ended;
      },
      routeDocs({
        access: 'logins.end',
        body: 'none',
        summary: 'End a login',
        description:
          'Ends a login: the cookie is refused within a second. Owners and admins end any, others their own. To keep a person out, suspend the user; to keep a key out, suspend or revoke it.',
        answer: { schema: schemas.Login, description: 'The login that was ended.' },
        errors: ['not_found'],
      }),
    );
