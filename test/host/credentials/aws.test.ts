import { afterAll, beforeEach, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { aws } from '../../../src/host/credentials/aws.ts';
import { OutboundError } from '../../../src/host/outbound.ts';
import { temporaryFolder } from '../../support/signalbox.ts';
import { type ServiceRequest, startTokenServices } from '../../support/token-services.ts';

const NOW = Date.parse('2026-11-20T09:30:00.400Z');
const ROLE = 'arn:aws:iam::123456789012:role/signalbox';
const folder = temporaryFolder();
const tokenFile = join(folder, 'token');
writeFileSync(tokenFile, 'a-web-identity-token\n');

const hour = () => new Date(NOW + 3_600_000).toISOString();
const expiry = { at: hour() };

/** Plays STS: accepts one web identity, and any signed request to assume the role. */
function sts({ form, headers }: ServiceRequest): Response {
  const isSigned = headers.get('authorization')?.startsWith('AWS4-HMAC-SHA256 ') ?? false;
  const isAccepted =
    form.Action === 'AssumeRole' ? isSigned : form.WebIdentityToken === 'a-web-identity-token' && form.RoleArn === ROLE;
  if (!isAccepted)
    return new Response(
      '<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>Not authorized to\n perform this.</Message></Error></ErrorResponse>',
      { status: 403 },
    );
  return new Response(`<${form.Action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><${form.Action}Result><Credentials>
    <AccessKeyId>ASIA${form.Action}</AccessKeyId><SecretAccessKey>a/secret+of-sts</SecretAccessKey>
    <SessionToken>session/of+${form.Action}==</SessionToken><Expiration>${expiry.at}</Expiration>
  </Credentials></${form.Action}Result></${form.Action}Response>`);
}

const keys = (name: string) => ({
  AccessKeyId: name,
  SecretAccessKey: 'a-secret-of-metadata',
  Token: `token-of-${name}`,
  Expiration: expiry.at,
});

/** Plays the metadata service of EC2, version 2. */
function machine({ method, url, headers }: ServiceRequest): Response | object {
  if (method === 'PUT' && url.pathname === '/latest/api/token') {
    return headers.get('x-aws-ec2-metadata-token-ttl-seconds')
      ? new Response('session-token')
      : new Response('', { status: 400 });
  }
  if (headers.get('x-aws-ec2-metadata-token') !== 'session-token') return new Response('', { status: 401 });
  const roles = '/latest/meta-data/iam/security-credentials/';
  if (url.pathname === roles) return new Response('role-of-machine');
  return url.pathname === `${roles}role-of-machine` ? keys('MACHINE') : new Response('', { status: 404 });
}

const container =
  (name: string) =>
  ({ url, headers }: ServiceRequest) =>
    headers.get('authorization') === 'a-web-identity-token' || url.pathname === '/v2/credentials'
      ? keys(name)
      : new Response('{"message":"Token is wrong."}', { status: 400 });

const services = startTokenServices({
  'sts.eu-central-1.amazonaws.com': sts,
  'sts.cn-north-1.amazonaws.com.cn': sts,
  '169.254.169.254': machine,
  '169.254.170.2': container('ECS'),
  '169.254.170.23': container('POD'),
});
afterAll(() => {
  services.stop();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  expiry.at = hour();
  services.requests.length = 0;
});

type Variables = Readonly<Record<string, string>>;
const fetchToken = (variables: Variables, more: object = {}) =>
  aws.open(
    { region: 'eu-central-1', ...more },
    services.context(variables, () => NOW),
  )();

/** Returns the access key that signed a key of Bedrock, its life in seconds, and whether it has a session token. */
async function signed(variables: Variables, more: object = {}) {
  const { value, expiresAt } = await fetchToken(variables, more);
  const url = new URL(`https://${Buffer.from(value.replace('bedrock-api-key-', ''), 'base64')}`);
  const [by, , region] = url.searchParams.get('X-Amz-Credential')!.split('/');
  const lifeS = Number(url.searchParams.get('X-Amz-Expires'));
  expect(expiresAt).toBe(Math.floor(NOW / 1_000) * 1_000 + lifeS * 1_000);
  return { by, region, lifeS, session: url.searchParams.get('X-Amz-Security-Token') };
}

const ENV = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'a-secret-in-a-variable' };
const WEB = { AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile, AWS_ROLE_ARN: ROLE };
const ECS = { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '/v2/credentials' };
const POD = {
  AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://169.254.170.23/v1/credentials',
  AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: tokenFile,
};

const region = 'eu-central-1';
const CHAIN: readonly (readonly [what: string, variables: Variables, result: object])[] = [
  [
    'keys in variables come first, and sign for 12 hours',
    { ...ENV, ...WEB, ...ECS },
    { by: 'AKIDEXAMPLE', region, lifeS: 43_200, session: null },
  ],
  [
    'a web identity comes second',
    { ...WEB, ...ECS },
    { by: 'ASIAAssumeRoleWithWebIdentity', region, lifeS: 3_600, session: 'session/of+AssumeRoleWithWebIdentity==' },
  ],
  ['the endpoint of ECS comes third', ECS, { by: 'ECS', region, lifeS: 3_600, session: 'token-of-ECS' }],
  [
    'the endpoint of EKS Pod Identity needs the token in the file',
    POD,
    { by: 'POD', region, lifeS: 3_600, session: 'token-of-POD' },
  ],
  ['the metadata of the machine come last', {}, { by: 'MACHINE', region, lifeS: 3_600, session: 'token-of-MACHINE' }],
];
for (const [what, variables, result] of CHAIN) {
  test(`credentials of AWS: ${what}`, async () => {
    expect<object>(await signed(variables)).toEqual(result);
  });
}

test('a role is assumed with the credentials that were found, with its external ID', async () => {
  const more = { role_arn: ROLE, external_id: 'for-signalbox' };
  expect(await signed(ENV, more)).toMatchObject({ by: 'ASIAAssumeRole', session: 'session/of+AssumeRole==' });
  const [{ form, headers, url }] = services.requests as [ServiceRequest];
  expect(form).toMatchObject({ RoleArn: ROLE, ExternalId: 'for-signalbox', RoleSessionName: 'signalbox' });
  expect(url.href).toBe('https://sts.eu-central-1.amazonaws.com/');
  expect(headers.get('authorization')).toContain('/eu-central-1/sts/aws4_request');
});

test('STS of China has another domain', async () => {
  await fetchToken(WEB, { region: 'cn-north-1' });
  expect(services.requests.map(({ url }) => url.host)).toEqual(['sts.cn-north-1.amazonaws.com.cn']);
});

test('a key is never valid for longer than its credentials', async () => {
  expiry.at = new Date(NOW + 90_000).toISOString();
  expect((await signed(ECS)).lifeS).toBe(90);
  // The keeper refuses a token that has ended.
  expiry.at = new Date(NOW - 1_000).toISOString();
  expect((await fetchToken(ECS)).expiresAt).toBe(NOW - 1_000);
});

const FAULTS: readonly (readonly [variables: Variables, message: string])[] = [
  [{ AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE' }, 'AWS_ACCESS_KEY_ID is set, but not AWS_SECRET_ACCESS_KEY'],
  [{ AWS_SECRET_ACCESS_KEY: 'a-secret' }, 'AWS_SECRET_ACCESS_KEY is set, but not AWS_ACCESS_KEY_ID'],
  [{ AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile }, 'AWS_WEB_IDENTITY_TOKEN_FILE is set, but not AWS_ROLE_ARN'],
  [
    { ...WEB, AWS_WEB_IDENTITY_TOKEN_FILE: `${tokenFile}-none` },
    'the file of AWS_WEB_IDENTITY_TOKEN_FILE cannot be used: there is no such file',
  ],
  [
    { ...WEB, AWS_ROLE_ARN: 'arn:other' },
    'AWS STS refuses the request with status 403: AccessDenied: Not authorized to perform this',
  ],
  [
    { ...POD, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: '' },
    'the credentials endpoint of the container refuses the request with status 400: Token is wrong',
  ],
  [{ AWS_CONTAINER_CREDENTIALS_FULL_URI: 'nonsense' }, 'AWS_CONTAINER_CREDENTIALS_FULL_URI is not a URL'],
  [{ AWS_EC2_METADATA_DISABLED: 'TRUE' }, 'found no credentials of AWS'],
];
for (const [variables, message] of FAULTS) {
  test(`without usable credentials of AWS, the reason is: ${message}`, async () => {
    await expect(fetchToken(variables)).rejects.toThrow(message);
  });
}

test('without any credentials of AWS, the reason names all places', async () => {
  const context = services.context({}, () => NOW);
  const callMetadata = () => Promise.reject(new OutboundError('unreachable', '`169.254.169.254` cannot be reached'));
  const fetched = aws.open({ region }, { ...context, callMetadata })();
  await expect(fetched).rejects.toThrow(
    /no keys in variables.*and no metadata service: `169.254.169.254` cannot be reached/,
  );
});
