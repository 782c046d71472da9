import { describe, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import { exportSPKI, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { answerOf, waitFor } from '../support/answers.ts';
import { openResponses } from '../support/responses-socket.ts';
import { withKey } from '../support/signalbox.ts';
import { AUDIENCE, KEYS_PATH, type SignOptions, startIssuer } from '../support/token-issuer.ts';
import { useSignalbox, useStarted } from '../support/use.ts';
import { tokenPolicy } from './tokens-support.ts';

const issuer = useStarted(() => startIssuer());
const TERMS = `labels: { org: claims.org, run: string(claims.run) }
models: [toy]
limits: { requests_per_minute: 100000 }
admin: claims.environment == "operations"
`;
// Most of these tokens are refused, so the limit on failures is high.
const LIMITS = 'gateway: { failed_auth_per_minute: 1000000 }\n';
const box = useSignalbox(() => ({ policy: tokenPolicy(issuer, TERMS, LIMITS) }));

const now = () => Math.floor(Date.now() / 1_000);
const ask = (token: string) =>
  box.post('/v1/chat/completions', { model: 'toy', messages: [{ role: 'user', content: 'Hello?' }] }, withKey(token));
const askWith = async (claims: JWTPayload, options?: SignOptions) => await ask(await issuer.sign(claims, options));

const dataOf = async (response: Promise<Response>) =>
  (await (await response).json()) as { readonly data: readonly Readonly<Record<string, unknown>>[] };

/** The status of a response, and the code and the text of its error. */
async function refusal(response: Promise<Response>) {
  const { status } = await response;
  const { error } = await answerOf(await response);
  return [status, error?.code, error?.message];
}
const NOT_ACCEPTED = [401, 'invalid_api_key', expect.stringContaining('This token is not accepted')];
const refused = (message: string) => [401, 'invalid_api_key', expect.stringContaining(message)];

describe('a token instead of a key', () => {
  test('is accepted, also in another header, and for each of its audiences', async () => {
    const token = await issuer.sign({ aud: ['https://other.example', AUDIENCE] });
    for (let again = 0; again < 3; again++) expect((await ask(token)).status).toBe(200);
    const headers = { 'x-api-key': await issuer.sign(), 'content-type': 'application/json' };
    const body = JSON.stringify({ model: 'toy', messages: [{ role: 'user', content: 'Hello?' }] });
    const response = await fetch(`${box.url}/v1/chat/completions`, { method: 'POST', headers, body });
    expect(response.status).toBe(200);
    expect(response.headers.get('x-request-id')).toMatch(/^req_/);
  });

  test('is a subject with the labels, models and limits of its issuer', async () => {
    const response = await askWith({ sub: 'labelled', run: 17 });
    expect(response.headers.get('x-ratelimit-limit-requests')).toBe('100000');
    const { data } = await dataOf(box.get('/admin/decisions?limit=1'));
    expect(data[0]?.key_id).toMatch(/^subject_[0-9a-f]{32}$/);
    expect((await box.get('/admin/keys', withKey(await issuer.sign()))).status).toBe(403);
  });

  test('is an administrator if the policy says so with `admin`, and is never an owner', async () => {
    const token = await issuer.sign({ sub: 'operator', environment: 'operations' });
    expect((await box.get('/admin/status', withKey(token))).status).toBe(200);
    expect((await ask(token)).status).toBe(200);
    const label = await issuer.sign({ sub: 'pretender', run: 'admin', scope: 'admin', role: 'admin' });
    expect((await box.get('/admin/status', withKey(label))).status).toBe(403);
  });
});

describe('a token is refused', () => {
  test('that is unsigned, or that its sender signed with the public key', async () => {
    const [, payload = ''] = (await issuer.sign()).split('.');
    const header = (fields: object) => Buffer.from(JSON.stringify(fields)).toString('base64url');
    const none = `${header({ alg: 'none' })}.${payload}.`;
    expect(await refusal(ask(none))).toEqual(refused('must be signed with'));
    const publicKey = await exportSPKI(issuer.pairs.get('one')!.publicKey);
    const unsigned = `${header({ alg: 'HS256', kid: 'one' })}.${payload}`;
    const mac = createHmac('sha256', publicKey).update(unsigned).digest('base64url');
    expect(await refusal(ask(`${unsigned}.${mac}`))).toEqual(refused('must be signed with'));
  });

  test('of a foreign key under the ID of the issuer’s key, with or without the key in its header', async () => {
    const { privateKey } = await generateKeyPair('ES256');
    const claims = { iss: issuer.url, aud: AUDIENCE, sub: 'robot', org: 'acme', exp: now() + 60 };
    const jwk = JSON.parse(JSON.stringify(issuer.keys[0]));
    for (const more of [{}, { jwk }, { jku: `${issuer.url}${KEYS_PATH}` }]) {
      const signer = new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'one', ...more });
      expect(await refusal(ask(await signer.sign(privateKey)))).toEqual(NOT_ACCEPTED);
    }
  });

  test.each([
    ['of another issuer', { iss: 'https://issuer.example' }],
    ['for another audience', { aud: 'https://other.example' }],
    ['for no audience', { aud: undefined }],
    ['that does not satisfy the condition', { org: 'other' }],
    ['without the claim that the condition uses', { org: undefined }],
    ['whose claim has another type', { org: ['acme'] }],
  ] as [string, JWTPayload][])('%s', async (_, claims) => {
    expect(await refusal(askWith(claims))).toEqual(NOT_ACCEPTED);
  });

  test.each([
    ['that has expired', { iat: now() - 120, exp: now() - 1 }, 'has expired'],
    ['that never expires', { exp: undefined }, 'has no expiry'],
    ['that is not valid yet', { nbf: now() + 3_600 }, 'not valid yet'],
    ['that was issued in the future', { iat: now() + 3_600, exp: now() + 7_200 }, 'not valid yet'],
    ['that lives for more than 24 hours', { exp: now() + 86_500 }, 'more than 24 hours'],
    ['that is valid for long and has no issue time', { iat: undefined, exp: now() + 86_500 }, 'more than 24 hours'],
    ['that was issued long ago', { iat: now() - 86_500, exp: now() + 60 }, 'more than 24 hours'],
    ['without a subject', { sub: undefined }, 'no subject'],
    ['with an endless subject', { sub: 'x'.repeat(1_025) }, 'no subject'],
  ] as [string, JWTPayload, string][])('%s', async (_, claims, message) => {
    expect(await refusal(askWith(claims))).toEqual(refused(message));
  });

  test('of another type', async () => {
    for (const typ of ['logout+jwt', 'dpop+jwt', 'secevent+jwt', '']) {
      expect(await refusal(askWith({}, { header: { typ } }))).toEqual(refused('wrong type'));
    }
    for (const typ of ['JWT', 'at+jwt', 'application/at+jwt'])
      expect((await askWith({}, { header: { typ } })).status).toBe(200);
  });

  test('that is incomplete, or that is not a token', async () => {
    const token = await issuer.sign();
    expect(await refusal(ask(token.slice(0, -9)))).toEqual(refused('was cut'));
    expect(await refusal(ask('a.b.c'))).toEqual(refused('not a JSON Web Token'));
    expect((await refusal(ask(token.replaceAll('.', ''))))[0]).toBe(401);
  });
});

test('a WebSocket can be opened with a token, and its frames are requests of the subject', async () => {
  const client = openResponses(box, await issuer.sign({ sub: 'by socket' }));
  const events = await client.ask({ model: 'toy', input: 'Hi' });
  expect(events.at(-1)).toMatchObject({ type: 'response.completed' });
  client.socket.close();
  const stranger = openResponses(box, await issuer.sign({ org: 'other' }));
  await waitFor(() => stranger.closed !== null);
  expect(stranger.events).toEqual([]);
});

describe('the answer to a request with a token', () => {
  test('is the same before and after the token is checked: for an unknown route, a wrong method and a body that is too large', async () => {
    for (const token of [await issuer.sign({ sub: 'first' }), await issuer.sign({ sub: 'second' })]) {
      for (let again = 0; again < 2; again++) {
        const put = await fetch(`${box.url}/v1/chat/completions`, { method: 'PUT', ...withKey(token) });
        expect([put.status, put.headers.get('allow')]).toEqual([405, 'POST']);
        expect(put.headers.get('x-request-id')).toMatch(/^req_/);
      }
      expect((await box.get('/v1/nothing', withKey(token))).status).toBe(404);
    }
  });
});
