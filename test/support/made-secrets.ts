import { randomFrom } from '../deep/effort.ts';

/** Secrets of every form that the guard `secrets` knows, made from random characters. None is real. */

type Random = () => number;
/** Makes a secret. */
type Shape = (random: Random) => string;

const LOWER = 'abcdefghijklmnopqrstuvwxyz';
const UPPER = LOWER.toUpperCase();
const DIGITS = '0123456789';
const ALNUM = LOWER + UPPER + DIGITS;
const HEX = '0123456789abcdef';
const URL_SAFE = `${ALNUM}-_`;
const BASE64 = `${ALNUM}+/`;
const PASSWORD = `${ALNUM}!#$%&*+-.=?^_~`;

const from = (signs: string, length: number, random: Random): string =>
  Array.from({ length }, () => signs[Math.floor(random() * signs.length)]).join('');
/** A beginning with characters after it. */
const after =
  (beginning: string, signs: string, length: number, end = ''): Shape =>
  (random) =>
    beginning + from(signs, length, random) + end;
const between = (least: number, most: number, random: Random): number =>
  least + Math.floor(random() * (most - least + 1));
const oneOf = <Item>(items: readonly Item[], random: Random): Item => items[Math.floor(random() * items.length)]!;
const anyOf =
  (...shapes: Shape[]): Shape =>
  (random) =>
    oneOf(shapes, random)(random);

const pem =
  (label: string, begin: string): Shape =>
  (random) => {
    const lines = Array.from({ length: between(3, 24, random) }, () => from(BASE64, 64, random));
    return `-----BEGIN ${label}-----\n${begin}${lines.join('\n')}\n-----END ${label}-----`;
  };

/** Keys and tokens, by the service that gives them. */
const MADE_KEYS: Readonly<Record<string, Shape>> = {
  OpenAI: anyOf(after('sk-proj-', URL_SAFE, 120), after('sk-', ALNUM, 48), after('sk-svcacct-', URL_SAFE, 80)),
  Anthropic: after('sk-ant-api03-', URL_SAFE, 95),
  OpenRouter: after('sk-or-v1-', HEX, 64),
  Groq: after('gsk_', ALNUM, 52),
  xAI: after('xai-', ALNUM, 80),
  'Hugging Face': after('hf_', LOWER + UPPER, 34),
  Google: anyOf(after('AIza', URL_SAFE, 35), after('ya29.', URL_SAFE, 120)),
  AWS: anyOf(after('AKIA', `${UPPER}234567`, 16), after('ASIA', `${UPPER}234567`, 16)),
  GitHub: anyOf(
    after('ghp_', ALNUM, 36),
    after('gho_', ALNUM, 36),
    after('ghs_', ALNUM, 36),
    (random) => `github_pat_${from(ALNUM, 22, random)}_${from(ALNUM, 59, random)}`,
  ),
  GitLab: after('glpat-', URL_SAFE, 20),
  npm: after('npm_', ALNUM, 36),
  PyPI: after('pypi-AgEIcHlwaS5vcmc', URL_SAFE, 150),
  Slack: anyOf(
    (random) => `xoxb-${from(DIGITS, 12, random)}-${from(DIGITS, 13, random)}-${from(ALNUM, 24, random)}`,
    (random) => `xapp-1-A${from(UPPER + DIGITS, 10, random)}-${from(DIGITS, 13, random)}-${from(HEX, 64, random)}`,
  ),
  'Slack webhooks': (random) =>
    `hooks.slack.com/services/T${from(UPPER + DIGITS, 10, random)}/B${from(UPPER + DIGITS, 10, random)}/${from(ALNUM, 24, random)}`,
  Stripe: anyOf(after('sk_live_', ALNUM, 24), after('rk_live_', ALNUM, 24), after('sk_test_', ALNUM, 99)),
  SendGrid: (random) => `SG.${from(URL_SAFE, 22, random)}.${from(URL_SAFE, 43, random)}`,
  DigitalOcean: after('dop_v1_', HEX, 64),
  Telegram: (random) => `${from(DIGITS, 10, random)}:AA${from(URL_SAFE, 33, random)}`,
  Shopify: anyOf(
    after('shpat_', HEX, 32),
    after('shpss_', HEX, 32),
    after('shpca_', HEX, 32),
    after('shppa_', HEX, 32),
  ),
  'HashiCorp Vault': anyOf(after('hvs.', URL_SAFE, 90), after('hvb.', URL_SAFE, 138)),
  Databricks: anyOf(after('dapi', HEX, 32), after('dapi', HEX, 32, '-2')),
  Linear: anyOf(after('lin_api_', ALNUM, 40), after('lin_oauth_', HEX, 64)),
  'Standard Webhooks': after('whsec_', BASE64, 32),
  Signalbox: after('sb_live_', URL_SAFE, 40),
  'JSON Web Tokens': (random) =>
    `eyJ${from(URL_SAFE, 33, random)}.eyJ${from(URL_SAFE, between(40, 200, random), random)}.${from(URL_SAFE, 43, random)}`,
};

const PRIVATE_KEYS: Shape = anyOf(
  pem('RSA PRIVATE KEY', 'MIIEow'),
  pem('PRIVATE KEY', 'MIIEvQ'),
  pem('EC PRIVATE KEY', 'MHcCAQ'),
  pem('OPENSSH PRIVATE KEY', 'b3BlbnNzaC1rZXktdjEA'),
  pem('ENCRYPTED PRIVATE KEY', 'MIIFLTBXBgkq'),
  pem('RSA PRIVATE KEY', 'Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF\n\n'),
);

/** A word with a number and a sign, as people choose passwords. */
const WORD_PASSWORD: Shape = (random) =>
  `${oneOf(['Summer', 'hunter', 'dragon', 'Welcome'], random)}${between(10, 2_030, random)}${oneOf(['', '!', '#'], random)}`;
/** A password with letters, digits and signs, or letters and digits alone. */
const RANDOM_PASSWORD: Shape = (random) => {
  const signs = random() < 0.5 ? PASSWORD : ALNUM;
  return `${from(LOWER + UPPER, 1, random)}${from(signs, between(6, 30, random), random)}${from(DIGITS, 1, random)}`;
};
/** Values of credentials without a form of their own, which only the name before them shows. */
const NAMED_VALUE: Shape = anyOf(
  RANDOM_PASSWORD,
  (random) => from(HEX, between(32, 64, random), random),
  (random) => from(BASE64, between(40, 60, random), random),
  WORD_PASSWORD,
  (random) =>
    `${from(HEX, 8, random)}-${from(HEX, 4, random)}-4${from(HEX, 3, random)}-${from(HEX, 4, random)}-${from(HEX, 12, random)}`,
);

/** Where a key stands in a text. */
const KEY_CONTEXTS: readonly ((key: string) => string)[] = [
  (key) => key,
  (key) => `Please use ${key} for this.`,
  (key) => `KEY=${key}\nPORT=80\n`,
  (key) => `{"auth":{"key":"${key}"},"n":1}`,
  (key) => `client = Client("${key}")\n`,
  (key) => `curl -H 'authorization: Bearer ${key}' https://api.example/v1`,
  (key) => `- \`${key}\`: the key of the build\n`,
  (key) => `[2026-10-07 10:15:00] refused (${key})`,
];
/** Where a value stands after the name of a credential. */
const NAMED_CONTEXTS: readonly ((value: string) => string)[] = [
  (value) => `DB_PASSWORD=${quoted(value)}\n`,
  (value) => `{"client_secret": ${JSON.stringify(value)}}`,
  (value) => JSON.stringify({ body: JSON.stringify({ password: value }) }),
  (value) => `spring:\n  datasource:\n    password: ${quoted(value)}\n`,
  (value) => `const apiKey = '${value}';`,
  (value) => `api_key: str = "${value}"\n`,
  (value) => `config["access_key"] = "${value}"\n`,
  (value) => `$config['password'] = '${value}';`,
  (value) => `  :token => "${value}",\n`,
  (value) => `var token string = "${value}"`,
  (value) => `let token = b"${value}";`,
  (value) => `token := \`${value}\``,
  (value) => `private static final String PASSWORD = "${value}";`,
  (value) => `AccountName=app;AccountKey="${value}";EndpointSuffix=core.example`,
];
const quoted = (value: string): string => `"${value}"`;
/** Where a value without quotes stands after a name. */
const BARE_CONTEXTS: readonly ((value: string) => string)[] = [
  (value) => `DB_PASSWORD=${value}\n`,
  (value) => `password: ${value}\n`,
  (value) => `My password = ${value}`,
  (value) => `Server=db;User Id=app;Password=${value};Encrypt=true`,
  (value) => `psql "host=db user=app password=${value}"`,
];
/** Values without quotes end at some signs. */
const BARE_VALUE: Shape = anyOf(
  (random) => `${from(LOWER + UPPER, 1, random)}${from(`${ALNUM}!#%&*+-.=?^_~`, between(8, 30, random), random)}7x`,
  (random) => from(HEX, between(32, 64, random), random),
  after('', BASE64, 86, '=='),
  WORD_PASSWORD,
);

const USER_SIGNS = `${ALNUM}._-`;
const address: Shape = (random) => from(`${ALNUM}!$%&*+-.=^_~`, between(6, 24, random), random);

/** One group of made secrets. */
interface Group {
  readonly name: string;
  readonly secret: Shape;
  readonly contexts: readonly ((secret: string, random: Random) => string)[];
}

const escapedLines = (key: string): string => `{"private_key": ${JSON.stringify(`${key}\n`)}}`;
const GROUPS: readonly Group[] = [
  ...Object.entries(MADE_KEYS).map(([name, secret]) => ({ name, secret, contexts: KEY_CONTEXTS })),
  {
    name: 'private keys in PEM',
    secret: PRIVATE_KEYS,
    contexts: [
      (key) => key,
      (key) => `key: |\n${key.replaceAll(/^/gm, '  ')}\n`,
      escapedLines,
      (key) => `KEY = """${key}\n"""`,
    ],
  },
  {
    name: 'passwords in addresses',
    secret: anyOf(address, address, (random) => from(ALNUM, between(129, 900, random), random)),
    contexts: [
      (value, random) => `postgres://${from(USER_SIGNS, between(1, 30, random), random)}:${value}@db.example/app`,
      (value, random) =>
        `DATABASE_URL=mysql://${from(USER_SIGNS, between(65, 120, random), random)}:${value}@10.0.0.7:3306/app\n`,
      (value) => `redis.connect("redis://:${value}@cache:6379/0")`,
      (value) => `See https://build:${value}@git.example/team/app.git`,
    ],
  },
  { name: 'values after a name, with quotes', secret: NAMED_VALUE, contexts: NAMED_CONTEXTS },
  { name: 'values after a name, without quotes', secret: BARE_VALUE, contexts: BARE_CONTEXTS },
];

/** A made secret in a text. */
export interface MadeSecret {
  readonly group: string;
  readonly text: string;
  /** The secret as the text contains it, which may be escaped or indented. */
  readonly from: number;
  readonly to: number;
}

/** The names of the groups whose secrets have a form of their own. */
export const KEY_GROUPS: readonly string[] = Object.keys(MADE_KEYS);

/** Makes secrets of every form. @param each how many of each form */
export function madeSecrets(seed: number, each: number): readonly MadeSecret[] {
  const random = randomFrom(seed);
  return GROUPS.flatMap(({ name, secret, contexts }) =>
    Array.from({ length: each }, () => {
      const value = secret(random);
      const text = oneOf(contexts, random)(value, random);
      const [first, last] = [value.slice(0, 8), value.slice(-8)];
      return { group: name, text, from: text.indexOf(first), to: text.lastIndexOf(last) + last.length };
    }),
  );
}
