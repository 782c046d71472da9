import { describe, expect, test } from 'bun:test';
import { secrets } from '../../../plugins/guards/secrets.ts';
import { seedOf } from '../../deep/effort.ts';
import { countFound, placesIn } from '../../support/found-secrets.ts';
import { KEY_GROUPS } from '../../support/made-secrets.ts';

const guard = secrets.prepare({ entropy: false });
const foundIn = (text: string): string[] => placesIn(guard, text).map(({ from, to }) => text.slice(from, to));

/** Code in which the name of a credential stands before a reference, a call, a type or words. */
const CODE = [
  ...['const apiKey = process.env.API_KEY;', 'token = response.token', 'const token = await getToken2(session);'],
  ...['password = config.get("password")', 'password: Optional[str] = None', 'self.access_token = access_token'],
  ...['access_token: Annotated[str, Field(min_length=8)]', "SECRET_KEY = os.environ['SECRET_KEY']"],
  ...['clientSecret: conf.ClientSecret,', 'secret := os.Getenv("APP_SECRET_2")', 'expectToken := &oauth2.Token{}'],
  ...['private final String password = builder.password;', 'PrivateKey privateKey = keyProvider.getPrivateKey();'],
  ...['val credentials: UserPasswordCredential? = call.principal()', 'var token: Sha256Digest'],
  ...[
    'let credentials = Credentials::new(user, password);',
    'credentials: &Credentials,',
    'token: Option<AccessToken>',
  ],
  ...['conn->passwd = curlx_strdup(data->set.str[STRING_PASSWORD]);', 'token=ptr->next_token;'],
  ...['@credentials = Fog::Core::Utils.prepare_service_credentials(options)', 'password: :new_password'],
  ...['$password = $this->config->getPassword();', "'token' => $request->token,", 'if (token == other.value12) {}'],
  ...[
    `password="\${DB_PASSWORD}"`,
    'token: "{{ vault.token_1 }}"',
    "secret: f'{prefix1}-{name}'",
    'token: <your-token-1>',
  ],
  ...['credentials: "same-origin"', 'token: "https://auth2.example.com/oauth/token"', 'secret = 0x00000001'],
  ...['Use Bearer authentication with TLS.', 'sk_stack_of_x509_names(names)', 'mask_or_something_else'],
  ...['#define PEM_HEADER "-----BEGIN RSA PRIVATE KEY-----"\n#define PEM_FOOTER "x"'],
  ...[
    '"http://" + user + ":" + password + "@" + host',
    'postgres://user:password@localhost',
    'https://host:8080?to=ada@example.com',
    `https://u:\${PW}@host`,
  ],
  ...['mongodb://one:27017,two:27017,three:27017/?replicaSet=rs0', 'grant_type=password&password=%s&username=%s'],
];

/** Secrets that earlier versions did not find. */
const SECRETS: readonly (readonly [text: string, from: number, after: number])[] = [
  [`pypi-AgEIcHlwaS5vcmc${'a1B2'.repeat(12)}`, 0, 0],
  [`shpat_${'0a1b'.repeat(8)}`, 0, 0],
  [`hvs.${'a1B2'.repeat(8)}`, 0, 0],
  [`dapi${'0a1b'.repeat(8)}`, 0, 0],
  [`lin_api_${'a1B2'.repeat(10)}`, 0, 0],
  ['https://hooks.slack.com/services/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', 'https://'.length, 0],
  [`DefaultEndpointsProtocol=https;AccountName=app;AccountKey=${'a1B2'.repeat(21)}ab==`, 58, 0],
  [`postgres://me:${'p4'.repeat(500)}@db`, 14, 3],
  [`postgres://${'user'.repeat(30)}:hunter22@db`, 132, 3],
  [`https://${'user'.repeat(200)}:hunter22@db`, 8, 3],
  ['host=db password=hunter22', 17, 0],
  ['Server=db;Password=hunter22;', 19, 1],
  ['$config["password"] = "Tr0ub4dor&3', 23, 0],
  ['api_key: str = "a1B2c3D4e5', 16, 0],
  ['{\\"password\\": \\"Tr0ub4dor&3\\"}', 17, 3],
];

describe('secrets', () => {
  test.each(CODE)('finds nothing in the code %j', (text) => {
    expect(foundIn(text)).toEqual([]);
  });

  test.each(SECRETS)('finds the secret in %j', (text, from, after) => {
    expect(foundIn(text)).toEqual([text.slice(from, text.length - after)]);
  });

  test('finds made keys of every service, and nearly all other made secrets', () => {
    for (const [name, { made, found, missed }] of countFound(seedOf('made-secrets'), 60)) {
      const least = KEY_GROUPS.includes(name) ? made : 0.95 * made;
      expect([name, missed.slice(0, 3), found >= least]).toEqual([name, expect.any(Array), true]);
    }
  });

  test('finds a secret after a value that does not count, and after one that ends with its name', () => {
    expect(foundIn('token: password: Tr0ub4dor&3')).toEqual(['Tr0ub4dor&3']);
    expect(foundIn('password: Tr0ub4dor&3access_token: "hunter22"')).toEqual(['Tr0ub4dor&3access_token:', 'hunter22']);
  });
});
