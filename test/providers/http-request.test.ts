import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { WireAdapter } from '../../src/contract/provider.ts';
import { callHeaders } from '../../src/providers/http-request.ts';
import { openaiAdapter, targetOf } from '../support/provider-call.ts';

const OURS = ['accept', 'accept-encoding', 'authorization', 'content-type', 'user-agent'];

function headersOf(own: Record<string, string>, adapter: Partial<WireAdapter> = {}, baseUrl = 'http://192.0.2.1/v1') {
  const target = targetOf(baseUrl, { apiKey: 'sk-1', adapter: { ...openaiAdapter(), ...adapter } });
  return callHeaders({ ...openaiAdapter(), ...adapter }, own, target, false);
}

describe('a header that an adapter sets', () => {
  test.each([
    ...[
      'x-title',
      'X-Goog-User-Project',
      'x-amz-security-token',
      'openai-organization',
      'OpenAI-Beta',
      'anthropic-version',
    ],
    ...['anthropic-beta', 'mistral-affinity', 'accept-language', 'idempotency-key', 'http-referer', 'traceparent'],
  ])('goes out: %s', (name) => {
    expect(headersOf({ [name]: 'yes' }, { dialect: 'mistral' }).get(name)).toBe('yes');
  });

  test.each([
    ...'host Connection content-length content-encoding transfer-encoding te trailer upgrade expect'.split(' '),
    ...['cookie', 'cookie2', 'set-cookie', 'proxy-authorization', 'Proxy-Connection', 'keep-alive', 'accept-encoding'],
    ...['forwarded', 'via', 'x-forwarded-for', 'X-Forwarded-Host', 'x-real-ip', 'x-original-url', 'x-rewrite-url'],
    ...['x-http-method-override', 'x-host', 'x-client-ip', 'x-api-key', 'api-key', 'x-auth-token', 'openai-api-key'],
    ...'mistral-api-key origin referer range if-none-match sec-fetch-mode helicone-auth anything'.split(' '),
  ])('is left out: %s', (name) => {
    const names = [...headersOf({ [name]: 'evil' }, { dialect: 'mistral' }).keys()];
    expect(names.sort()).toEqual(OURS);
  });

  test('never overrides our headers, in any letter case', () => {
    const caseOf = (name: string) =>
      fc
        .array(fc.boolean(), { minLength: name.length, maxLength: name.length })
        .map((upper) => [...name].map((letter, at) => (upper[at] ? letter.toUpperCase() : letter)).join(''));
    const name = fc.constantFrom(...OURS, 'host', 'cookie', 'x-forwarded-for').chain(caseOf);
    fc.assert(
      fc.property(name, fc.constantFrom('openai', 'proxy', 'content', 'x', 'user', 'sec'), (written, dialect) => {
        const headers = headersOf({ [written]: 'evil' }, { dialect });
        expect([...headers.keys()].sort()).toEqual(OURS);
        expect([...headers.values()]).not.toContain('evil');
      }),
    );
  });
});

describe('the key', () => {
  test('of a token source is sent in the header for tokens, and another key in the header for keys', () => {
    const auth = { header: 'api-key', prefix: '', token: { header: 'authorization', prefix: 'Bearer ' } };
    const adapter = { ...openaiAdapter(), auth };
    const target = targetOf('https://a.example.com/v1', { apiKey: 'sk-1', adapter });
    const sourced = { variable: 'T', hosts: [], file: '', token: () => 'token-1', problem: () => '' };
    const sent = [target, { ...target, sourced }].map((one) => {
      const headers = callHeaders(adapter, {}, one, false);
      return [headers.get('api-key'), headers.get('authorization')];
    });
    expect(sent).toEqual([
      ['sk-1', null],
      [null, 'Bearer token-1'],
    ]);
  });

  test('is sent only in the adapter’s header', () => {
    const headers = headersOf({}, { auth: { header: 'x-api-key', prefix: '' } });
    expect(headers.get('x-api-key')).toBe('sk-1');
    expect(headers.get('authorization')).toBeNull();
  });

  test('is not sent for an adapter without `auth`', () => {
    const { auth: _, ...keyless } = openaiAdapter();
    const headers = callHeaders(
      keyless,
      {},
      targetOf('http://192.0.2.1/v1', { apiKey: 'sk-1', adapter: keyless }),
      false,
    );
    expect([...headers.keys()].sort()).toEqual(OURS.filter((name) => name !== 'authorization'));
  });

  test.each(['host', 'Content-Length', 'proxy-authorization'])('is not sent in %s', (header) => {
    expect(() => headersOf({}, { auth: { header, prefix: '' } })).toThrow('an API key cannot be sent in the header');
  });
});

test('the host header contains the name if fetch gets an address', () => {
  expect(headersOf({}, {}, 'https://api.example:8443/v1').get('host')).toBe('api.example:8443');
  expect(headersOf({}, {}, 'https://api.example/v1').get('host')).toBe('api.example');
  expect(headersOf({}, {}, 'http://192.0.2.1:80/v1').get('host')).toBeNull();
});
