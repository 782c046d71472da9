import * as f from '../core/define/fields.ts';
import { notFound, operationsOn } from './kit/operation.ts';
import {
  endLogin,
  LOGINS_LIMIT,
  LOGINS_LIMIT_MAX,
  type LoginDesk,
  listLogins,
  loginOf,
  meOf,
} from './use-cases/logins.ts';
import { dimensionsFor } from './use-cases/traffic/spend.ts';

/** The services that operations on logins use. */
export interface LoginServices {
  readonly logins: LoginDesk;
}
const operation = operationsOn<LoginServices>();

const login = {
  id: f.text(
    'The ID of the login. The ID is not the value of the cookie, which is never shown again.',
    'login_5f0c2e9b7a1d4c3e8f60',
  ),
  object: f.always('login'),
  user_id: f.as('user', f.orNull(f.text('ID of the user; null for the login of a key.', 'user_0mtqg5k3w4x1b7q2z'))),
  user_name: f.orNull(f.text('Name of the user; null if the user was removed.', 'Ada Lovelace')),
  key_id: f.as('key', f.orNull(f.text('ID of the key; null for the login of a user.'), undefined, null)),
  key_name: f.orNull(f.text('Name of the key.'), undefined, null),
  browser: f.text(
    'The user agent that the browser sent.',
    'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
  ),
  from: f.orNull(f.text('The IP address of the sign-in.', '192.0.2.7')),
  created_at: f.moment('When the sign-in happened.'),
  last_used_at: f.as(
    'usedAt',
    f.moment('When the login was last used, accurate to ten minutes.', '2026-11-20T11:02:00.000Z'),
  ),
  confirmed_at: f.moment(
    'When the issuer last confirmed the person’s groups and other claims. For a key, the time of the sign-in.',
    '2026-11-20T10:31:00.000Z',
  ),
  expires_at: f.moment('When the login ends, no matter how often it is used.', '2026-11-27T09:30:00.000Z'),
};
export const Login = f.named('Login', 'The login of a person, or of a key, in one browser.', login);
export const LoginList = f.named('LoginList', 'Logins that have not ended.', {
  object: f.always('list'),
  data: f.list(f.shape('A login.', login), 'The logins, newest first.'),
  has_more: f.flag('Whether more logins follow. To get them, repeat the request with `after`.', false),
});

/** The operations of `/admin/logins` and `signalbox logins`. */
export const LOGIN_OPERATIONS = [
  operation({
    name: 'logins list',
    use: 'to see who is signed in to the console.',
    example: 'logins list',
    http: 'GET /admin/logins',
    action: 'logins.read',
    summary: 'List logins',
    details:
      'Lists the logins that have not ended. Owners, admins and auditors see all logins, other people see their own. A login belongs to a user, or to the key that signed in.',
    input: f.closed('Which logins.', {
      user: f.optional(f.text('Only logins of the user, or the key, with this ID.')),
      after: f.afterLast('login'),
      limit: f.pageSize({ most: LOGINS_LIMIT_MAX, unlessGiven: LOGINS_LIMIT }),
    }),
    output: LoginList,
    answer: 'The page.',
    errorField: 'limit',
    prints: {
      columns: ['id', 'user_name', 'key_name', 'created_at', 'last_used_at', 'expires_at', 'from', 'browser'],
    },
    async run({ logins }, { by }, { user = null, after = null, limit = LOGINS_LIMIT }) {
      return listLogins(by, logins, { user, after, limit });
    },
  }),
  operation({
    name: 'logins end',
    use: 'to sign a person out, for example after a laptop was lost.',
    example: 'logins end login_5f0c2e9b7a1d4c3e8f60',
    http: 'DELETE /admin/logins/:id',
    action: 'logins.end',
    summary: 'End a login',
    details:
      'Ends a login: the server refuses its cookie within a second. Owners and admins can end any login, other people can end their own. To keep a person out, suspend the user. To keep a key out, suspend or revoke the key.',
    output: Login,
    answer: 'The login that was ended.',
    prints: ({ user_name, key_name }: Readonly<Record<'user_name' | 'key_name', string | null>>, id) =>
      `Ended the login of ${user_name ?? `key ${key_name}`}, ${id}.\n`,
    run: async ({ logins }, { by, id }) =>
      loginOf(
        (await endLogin(by, logins, id)) ??
          notFound('No login that you may end has this ID. The login may have ended already.'),
        logins,
      ),
  }),
];

export const Me = f.named('Me', 'The caller of the request.', {
  object: f.always('me'),
  role: f.text('The role of the person, or the role that the scopes of the key give.', 'member'),
  name: f.orNull(f.text('Name of the person or the key; null for a token.', 'Ada Lovelace')),
  key_id: f.orNull(f.text('ID of the key, or of the subject of a token; null for a person.'), undefined, null),
  user: f.orNull(
    f.shape('The person; null for a key.', {
      id: f.text('ID of the user.', 'user_0mtqg5k3w4x1b7q2z'),
      issuer: f.orNull(f.text('The issuer that the person signs in with.', 'https://login.example.com/realms/acme')),
      sub: f.orNull(f.text('The person’s ID at the issuer.', '8f2d1c')),
      name: f.text('The name of the person, for display.', 'Ada Lovelace'),
      email: f.orNull(
        f.text('The email address, only for display. The address does not identify the person.', 'ada@example.com'),
      ),
      team_id: f.as('team', f.orNull(f.text('ID of the team.'), undefined, null)),
      team: f.as('teamName', f.orNull(f.text('Name of the team.'), undefined, null)),
    }),
  ),
  login: f.orNull(f.shape('The login; null for a request with a key or a token.', login)),
  actions: f.mapOf(
    f.word(['all', 'team', 'own'], 'How far the action reaches: all, the caller’s team, or only what the caller owns.'),
    'The actions that the caller may take, each with how far it reaches: everything, what belongs to the caller’s team, or what belongs to the caller.',
    { 'usage.own': 'own', 'me.read': 'own' },
  ),
  dimensions: f.shape('The dimensions of reports that the caller may read. `label` stands for every `label:NAME`.', {
    spend: f.textList('The dimensions of `GET /admin/spend`.', ['key', 'model', 'label']),
    ledger: f.textList(
      'The dimensions of `GET /admin/spend` that the ledger has. Only these can be used with `and`, `of`, and months of other time zones than UTC.',
      ['key', 'model', 'label'],
    ),
    traffic: f.textList('The dimensions by which `GET /admin/traffic` groups.', ['model', 'key']),
  }),
});

export const showMe = operationsOn<LoginServices>()({
  name: 'me',
  command: false,
  http: 'GET /admin/me',
  action: 'me.read',
  summary: 'Show who you are and what you may do',
  details:
    'Returns the role of the caller, each action that the caller may take and how far the action reaches. If a browser sends the request, also returns the login.',
  output: Me,
  answer: 'The caller.',
  run: async ({ logins }, { by }) => ({ ...meOf(by, logins), dimensions: dimensionsFor(by.caller) }),
});
