import { afterAll, beforeEach, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exportPKCS8, generateKeyPair, jwtVerify } from 'jose';
import { google } from '../../../src/host/credentials/google.ts';
import { temporaryFolder } from '../../support/signalbox.ts';
import { type ServiceAnswer, startTokenServices } from '../../support/token-services.ts';

const NOW = Date.parse('2026-11-20T09:30:00Z');
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const folder = temporaryFolder();
const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });

/** Plays the token endpoint: verifies the signature of the service account, and that the assertion is new. */
const oauth: { answer: ServiceAnswer } = { answer: () => ({}) };
const services = startTokenServices({
  'oauth2.googleapis.com': (request) => oauth.answer(request),
  'sts.googleapis.com': ({ form }) =>
    form.subject_token === 'a-token-of-another-issuer'
      ? { access_token: 'federated-token', expires_in: 1_800, token_type: 'Bearer' }
      : Response.json({ error: 'invalid_grant', error_description: 'The subject token is unknown.' }, { status: 400 }),
  'iamcredentials.googleapis.com': ({ headers }) =>
    headers.get('authorization') === 'Bearer federated-token'
      ? { accessToken: 'impersonated-token', expireTime: '2026-11-20T10:30:00Z' }
      : new Response('', { status: 401 }),
  'metadata.google.internal': ({ url, headers }) =>
    headers.get('metadata-flavor') === 'Google' &&
    url.pathname === '/computeMetadata/v1/instance/service-accounts/default/token'
      ? { access_token: 'token-of-the-machine', expires_in: 3_000 }
      : new Response('', { status: 403 }),
  'issuer.example': () => ({ id_token: 'a-token-of-another-issuer' }),
  '127.0.0.1': () => new Response('a-token-of-another-issuer\n'),
});
afterAll(() => {
  services.stop();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  services.requests.length = 0;
});

function write(content: object): string {
  const path = join(folder, 'google.json');
  writeFileSync(path, JSON.stringify(content));
  return path;
}
const fetchToken = (settings: object, variables: Readonly<Record<string, string>> = {}) =>
  google.open(
    settings,
    services.context(variables, () => NOW),
  )();

const ACCOUNT = {
  type: 'service_account',
  client_email: 'signalbox@project.iam.gserviceaccount.com',
  private_key_id: 'key-1',
  private_key: await exportPKCS8(privateKey),
  token_uri: 'https://oauth2.googleapis.com/token',
};
const EXTERNAL = {
  type: 'external_account',
  audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/provider',
  subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
  token_url: 'https://sts.googleapis.com/v1/token',
};

test('a service account signs a request for a token, as the token endpoint verifies', async () => {
  oauth.answer = async ({ form }) => {
    const { payload, protectedHeader } = await jwtVerify(form.assertion ?? '', publicKey, {
      ...{ audience: ACCOUNT.token_uri, issuer: ACCOUNT.client_email, currentDate: new Date(NOW), maxTokenAge: 3_600 },
    });
    expect([payload.scope, protectedHeader.kid]).toEqual([SCOPE, 'key-1']);
    expect(form.grant_type).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer');
    return { access_token: 'token-of-the-account', expires_in: 3_599 };
  };
  const token = { value: 'token-of-the-account', expiresAt: NOW + 3_599_000 };
  expect(await fetchToken({ credentials_file: write(ACCOUNT) })).toEqual(token);
  expect(await fetchToken({}, { GOOGLE_APPLICATION_CREDENTIALS: write(ACCOUNT) })).toEqual(token);
});

test('a refusal of the token endpoint is the reason', async () => {
  oauth.answer = () =>
    Response.json({ error: 'invalid_grant', error_description: 'Invalid JWT: check your iat.' }, { status: 400 });
  const fetched = fetchToken({ credentials_file: write(ACCOUNT) });
  await expect(fetched).rejects.toThrow('Google refuses the request with status 400: Invalid JWT: check your iat');
});

const SUBJECTS: Readonly<Record<string, object>> = {
  'in a file': { file: join(folder, 'subject') },
  'in a file with JSON': {
    file: join(folder, 'subject.json'),
    format: { type: 'json', subject_token_field_name: 'id_token' },
  },
  'at a URL': { url: 'https://issuer.example/token', format: { type: 'json', subject_token_field_name: 'id_token' } },
  'at a URL on this machine': { url: 'http://127.0.0.1:9/token' },
};
writeFileSync(join(folder, 'subject'), 'a-token-of-another-issuer\n');
writeFileSync(join(folder, 'subject.json'), '{"id_token":"a-token-of-another-issuer"}');
for (const [where, source] of Object.entries(SUBJECTS)) {
  test(`workload identity federation exchanges a subject token ${where}`, async () => {
    const path = write({ ...EXTERNAL, credential_source: source });
    const token = { value: 'federated-token', expiresAt: NOW + 1_800_000 };
    expect(await fetchToken({ credentials_file: path })).toEqual(token);
    expect(services.requests.at(-1)?.form).toMatchObject({
      ...{ audience: EXTERNAL.audience, subject_token_type: EXTERNAL.subject_token_type, scope: SCOPE },
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    });
  });
}

test('workload identity federation impersonates a service account', async () => {
  const path = write({
    ...EXTERNAL,
    credential_source: SUBJECTS['in a file'],
    service_account_impersonation_url:
      'https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/a@b.iam.gserviceaccount.com:generateAccessToken',
    service_account_impersonation: { token_lifetime_seconds: 600 },
  });
  const token = { value: 'impersonated-token', expiresAt: NOW + 3_600_000 };
  expect(await fetchToken({ credentials_file: path })).toEqual(token);
  expect(JSON.parse(services.requests.at(-1)!.text)).toEqual({ scope: [SCOPE], lifetime: '600s' });
});

test('without a file, the metadata server has the token', async () => {
  expect(await fetchToken({})).toEqual({ value: 'token-of-the-machine', expiresAt: NOW + 3_000_000 });
});

const FAULTS: readonly (readonly [file: object, message: string])[] = [
  [{ type: 'authorized_user' }, 'the file with the credentials has no `type` that is supported'],
  [{ ...ACCOUNT, private_key: 'no key' }, 'the `private_key` in the file of the service account is not a key'],
  [{ ...ACCOUNT, token_uri: undefined }, 'the file of the service account has no `token_uri`'],
  [{ ...EXTERNAL, credential_source: { environment_id: 'aws1' } }, 'has neither `file` nor `url`'],
  [{ ...EXTERNAL, credential_source: { file: join(folder, 'none') } }, 'the file of credential_source cannot be used'],
];
for (const [file, message] of FAULTS) {
  test(`without usable credentials of Google, the reason is: ${message}`, async () => {
    await expect(fetchToken({ credentials_file: write(file) })).rejects.toThrow(message);
  });
}
