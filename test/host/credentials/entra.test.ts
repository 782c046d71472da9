import { afterAll, beforeEach, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { entra } from '../../../src/host/credentials/entra.ts';
import { temporaryFolder } from '../../support/signalbox.ts';
import { startTokenServices } from '../../support/token-services.ts';

const NOW = Date.parse('2026-11-20T09:30:00Z');
const SCOPE = 'https://cognitiveservices.azure.com/.default';
const RESOURCE = 'https://cognitiveservices.azure.com';
const folder = temporaryFolder();
const tokenFile = join(folder, 'token');
writeFileSync(tokenFile, 'a-token-of-the-cluster\n');

const services = startTokenServices({
  'login.microsoftonline.com': ({ url, form }) => {
    const isKnown = form.client_secret === 'the-secret' || form.client_assertion === 'a-token-of-the-cluster';
    if (url.pathname !== '/tenant-1/oauth2/v2.0/token' || !isKnown || form.client_id !== 'client-1')
      return Response.json(
        { error: 'invalid_client', error_description: 'AADSTS7000215: Invalid client secret.\r\nTrace ID: 1' },
        { status: 401 },
      );
    return { token_type: 'Bearer', expires_in: 3_599, access_token: `token-for-${form.scope}` };
  },
  'login.microsoftonline.us': () => ({ expires_in: 60, access_token: 'token-of-a-government' }),
  '169.254.169.254': ({ url, headers }) => {
    const isRight = headers.get('metadata') === 'true' && url.searchParams.get('api-version') === '2018-02-01';
    if (!isRight || url.pathname !== '/metadata/identity/oauth2/token') return new Response('', { status: 400 });
    const of = `${url.searchParams.get('resource')} ${url.searchParams.get('client_id')}`;
    return { access_token: of.replaceAll(' ', '|'), expires_in: '86399', expires_on: `${NOW / 1_000 + 86_399}` };
  },
  '127.0.0.1': ({ url, headers }) =>
    headers.get('x-identity-header') === 'secret-of-app-service' && url.searchParams.get('api-version') === '2019-08-01'
      ? { access_token: 'token-of-app-service', expires_on: `${NOW / 1_000 + 3_600}` }
      : new Response('', { status: 401 }),
});
afterAll(() => {
  services.stop();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  services.requests.length = 0;
});

const DEFAULTS = { scope: SCOPE, authority: 'https://login.microsoftonline.com' };
const APPLICATION = { tenant: 'tenant-1', client_id: 'client-1' };
const fetchToken = (settings: object, variables: Readonly<Record<string, string>> = {}) =>
  entra.open(
    { ...DEFAULTS, ...settings },
    services.context(variables, () => NOW),
  )();

test('an application proves its identity with a secret', async () => {
  const fetched = fetchToken({ ...APPLICATION, client_secret_env: 'SECRET' }, { SECRET: 'the-secret\n' });
  expect(await fetched).toEqual({ value: `token-for-${SCOPE}`, expiresAt: NOW + 3_599_000 });
  expect(services.requests[0]?.form).toMatchObject({ grant_type: 'client_credentials', scope: SCOPE });
});

test('an application proves its identity with a federated token, as AKS sets it up', async () => {
  const token = { value: `token-for-${SCOPE}`, expiresAt: NOW + 3_599_000 };
  expect(await fetchToken({ ...APPLICATION, federated_token_file: tokenFile })).toEqual(token);
  const ofCluster = { AZURE_FEDERATED_TOKEN_FILE: tokenFile, AZURE_TENANT_ID: 'tenant-1', AZURE_CLIENT_ID: 'client-1' };
  expect(await fetchToken({}, ofCluster)).toEqual(token);
  expect(services.requests[0]?.form.client_assertion_type).toBe(
    'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  );
});

test('the managed identity of a virtual machine, also one of several', async () => {
  expect(await fetchToken({})).toEqual({ value: `${RESOURCE}|null`, expiresAt: NOW + 86_399_000 });
  expect(await fetchToken({ client_id: 'client-2' })).toMatchObject({ value: `${RESOURCE}|client-2` });
});

test('the managed identity of App Service, whose address and secret are in variables', async () => {
  const variables = {
    IDENTITY_ENDPOINT: 'http://127.0.0.1:41741/MSI/token/',
    IDENTITY_HEADER: 'secret-of-app-service',
  };
  expect(await fetchToken({}, variables)).toEqual({ value: 'token-of-app-service', expiresAt: NOW + 3_600_000 });
});

test('another cloud of Azure has another authority', async () => {
  const settings = { ...APPLICATION, client_secret_env: 'SECRET', authority: 'https://login.microsoftonline.us' };
  expect(await fetchToken(settings, { SECRET: 'any' })).toMatchObject({ value: 'token-of-a-government' });
});

const FAULTS: readonly (readonly [settings: object, variables: Readonly<Record<string, string>>, message: string])[] = [
  [{ ...APPLICATION, client_secret_env: 'SECRET' }, {}, 'the variable SECRET is not set'],
  [{ client_secret_env: 'SECRET' }, { SECRET: 'x' }, '`tenant` is not stated and AZURE_TENANT_ID is not set'],
  [
    { tenant: 'a', client_secret_env: 'SECRET' },
    { SECRET: 'x' },
    '`client_id` is not stated and AZURE_CLIENT_ID is not set',
  ],
  [
    { ...APPLICATION, client_secret_env: 'SECRET' },
    { SECRET: 'wrong' },
    'Microsoft Entra refuses the request with status 401: AADSTS7000215: Invalid client secret. Trace ID: 1',
  ],
  [
    { ...APPLICATION, federated_token_file: `${tokenFile}-none` },
    {},
    'the file of federated_token_file cannot be used: there is no such file',
  ],
  [
    {},
    { IDENTITY_ENDPOINT: 'http://127.0.0.1:1/', IDENTITY_HEADER: 'x' },
    'the endpoint of the managed identity refuses the request with status 401',
  ],
];
for (const [settings, variables, message] of FAULTS) {
  test(`without usable credentials of Entra, the reason is: ${message}`, async () => {
    await expect(fetchToken(settings, variables)).rejects.toThrow(message);
  });
}
