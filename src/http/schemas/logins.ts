import * as field from '../../api/parts.ts';

const login = {
  id: field.text(
    'Names the login. It is not the value of the cookie, which nobody can see again.',
    'login_5f0c2e9b7a1d4c3e8f60',
  ),
  object: field.always('login'),
  user_id: field.textOrNull('ID of the user; null for the login of a key.', 'user_0mtqg5k3w4x1b7q2z'),
  user_name: field.textOrNull('Name of the user; null for one who was removed.', 'Ada Lovelace'),
  key_id: field.textOrNull('ID of the key; null for the login of a user.', null),
  key_name: field.textOrNull('Name of the key.', null),
  browser: field.text(
    'What the browser said of itself.',
    'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
  ),
  from: field.textOrNull('The address of the sign-in.', '192.0.2.7'),
  created_at: field.moment('When the person signed in.'),
  last_used_at: field.moment('The last use, at most ten minutes late.', '2026-11-20T11:02:00.000Z'),
  confirmed_at: field.moment(
    'When the issuer last stated the person’s groups and other claims; of a key, the sign-in.',
    '2026-11-20T10:31:00.000Z',
  ),
  expires_at: field.moment('The end, however much it is used.', '2026-11-27T09:30:00.000Z'),
};

const ACTIONS = field.mapOf(
  field.word(['all', 'team', 'own'], 'How far it reaches.'),
  'The actions that the caller may take, each with how far it reaches: to everything, to what its team has, or to what is its own.',
  { 'usage.own': 'own', 'me.read': 'own' },
);

export const Login = field.named('Login', 'The login of a person, or of a key, in one browser.', login);

export const LoginList = field.named('LoginList', 'Logins that have not ended.', {
  ...field.listOf(field.shape('A login.', login), 'Newest first.'),
  has_more: field.flag('Whether there are more. To get them, repeat the request with `after`.', false),
});

export const Me = field.named('Me', 'Who asks.', {
  object: field.always('me'),
  role: field.text('The role: of a person, or as the scopes of the key have it.', 'member'),
  name: field.textOrNull('Name of the person or the key; null for a token.', 'Ada Lovelace'),
  key_id: field.textOrNull('ID of the key, or of the subject of a token; null for a person.', null),
  user: field.shapeOrNull('The person; null for a key.', {
    id: field.text('ID of the user.', 'user_0mtqg5k3w4x1b7q2z'),
    issuer: field.textOrNull('Who knows the person.', 'https://login.example.com/realms/acme'),
    sub: field.textOrNull('The person’s ID at the issuer.', '8f2d1c'),
    name: field.text('For showing.', 'Ada Lovelace'),
    email: field.textOrNull('For showing; it proves nothing.', 'ada@example.com'),
    team_id: field.textOrNull('ID of the team.', null),
    team: field.textOrNull('Name of the team.', null),
  }),
  login: field.shapeOrNull('The login; null for a request with a key or a token.', login),
  actions: ACTIONS,
});
