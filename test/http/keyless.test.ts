import { describe, expect, test } from 'bun:test';
import { Gate } from '../../src/access/limits/gate.ts';
import { Limiter } from '../../src/access/limits/limiter.ts';
import { SignalboxError } from '../../src/core/errors.ts';
import { type Caller, holderCaller } from '../../src/core/people/caller.ts';
import type { PaymentPolicy } from '../../src/core/policy/payments.ts';
import type { PolicySnapshot } from '../../src/core/policy/snapshot.ts';
import { type AdmissionRules, admit } from '../../src/http/admission.ts';
import { preflightRefusal } from '../../src/http/cors.ts';
import { x402Funding } from '../../src/payments/funding/funding.ts';
import type { X402Parts } from '../../src/payments/funding/gateway.ts';
import { load, SMALL, snapshotOf } from '../policy/support.ts';
import { noTokens } from '../support/observer.ts';
import { contextWith } from '../support/request-context.ts';
import { ROUTE_TABLE, ROUTES } from '../support/routes.ts';
import { WALLET } from './wallet-support.ts';

const LIMITS = `rate_limits:
  - { name: each-wallet, each: key, requests_per_minute: 2 }
gateway: { keyless_per_minute: 5, failed_auth_per_minute: 1000 }
`;
const key: Caller = {
  keyId: 'abc',
  scopes: new Set(['chat', 'route']),
  labels: {},
  models: null,
  limits: null,
  budgets: [],
};

/** The admission rules with everything that a test checks. Each door has its own rate limiter and gate. */
function door({ isOn = true, blocked = [] as string[], more = LIMITS, ageMs = 0 } = {}) {
  const snapshot = snapshotOf(
    load([
      { path: 'p.yaml', text: SMALL },
      { path: 'q.yaml', text: more },
    ]),
  );
  // The parts of the policy that admission reads.
  const payments = { bodyBytesMax: 1_000 } as PaymentPolicy;
  const policy: PolicySnapshot = { ...snapshot, payments: isOn ? payments : null };
  const gate = new Gate(() => performance.now());
  const rules: AdmissionRules = {
    routes: ROUTE_TABLE,
    tokens: noTokens({ info() {}, warn() {}, error() {} }),
    authenticate: (header) => {
      if (header === 'Bearer good') return { caller: key, reason: null, ageMs };
      if (header === 'Bearer wallet') return { caller: holderCaller(WALLET), reason: null, ageMs: 0 };
      return header ? { caller: null, reason: 'unknown', ageMs } : { caller: null, reason: 'missing', ageMs: 0 };
    },
    senderOf: () => null,
    actAs: () => ({ caller: null, reason: 'unknown', ageMs: 0 }),
    policy: () => policy,
    // Admission only asks the gateway whether a wallet is blocked.
    funding: x402Funding({
      payments: { blocklist: { blocked: new Set(blocked) as ReadonlySet<string>, ageMs: 0 } },
    } as X402Parts),
    limiter: new Limiter(() => 0),
    levels: { of: (caller) => caller },
    gate,
    changes: { take() {} },
    logins: { admit: () => null, loginOf: () => null, checkOwnPage() {} },
    refusePreflight: preflightRefusal({ warn() {} }),
  };
  const send = (path: string, headers: Record<string, string> = {}, method = 'POST') => {
    const request = new Request(`http://gateway.example${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(method === 'POST' && { body: '{}' }),
    });
    const route = ROUTE_TABLE.find(path);
    const context = contextWith({ method, route: route?.path });
    const admission = admit(request, rules, { requestIP: () => ({ address: '192.0.2.7' }) }, context, route);
    if (admission) held.push(admission);
    return context;
  };
  const held: Promise<void>[] = [];
  return { send, gate, held };
}

function refusal(run: () => unknown): SignalboxError {
  try {
    run();
  } catch (error) {
    if (error instanceof SignalboxError) return error;
    throw error;
  }
  throw new Error('the request was admitted');
}
const codeOf = (run: () => unknown) => refusal(run).code;

test('the server checks a key only with a copy of keys that is at most 5 seconds old; an older copy does not admit or refuse the key', () => {
  expect(door({ ageMs: 5_000 }).send('/v1/models', { authorization: 'Bearer good' }, 'GET').caller).toBe(key);
  const { send } = door({ ageMs: 5_001 });
  for (const one of ['good', 'bad'])
    expect(codeOf(() => send('/v1/models', { authorization: `Bearer ${one}` }, 'GET'))).toBe('overloaded');
  expect(codeOf(() => send('/v1/models', {}, 'GET'))).toBe('invalid_api_key');
});

const PAID = [
  '/v1/chat/completions',
  '/v1/embeddings',
  '/v1/messages',
  '/v1/responses',
  '/v1/wallets/topup',
  '/v1/wallets/keys',
];

describe('while payments are on, a request without a key', () => {
  test('is admitted on routes that can be paid for, takes a place in the gate, and has no caller yet', () => {
    expect(
      ROUTES.filter(({ pays }) => pays)
        .map(({ path }) => path)
        .sort(),
    ).toEqual([...PAID].sort());
    for (const path of PAID) {
      const { send, gate } = door();
      const context = send(path);
      expect(context.caller).toBeNull();
      expect(() => context.knownCaller).toThrow('without a key');
      expect(gate.inside).toBe(1);
      context.handled(200, null);
      expect(gate.inside).toBe(0);
    }
  });

  test('but with an invalid token gets 401, even where it could have paid without a token', async () => {
    const issuer = '{ name: one, issuer: "https://issuer.example", audience: a, when: claims.team == "x" }';
    const { send, held, gate } = door({ more: `${LIMITS}tokens:\n  - ${issuer}\n` });
    const claims = { iss: 'https://other.example', aud: 'a', sub: 'robot', exp: Date.now() };
    const part = (fields: object) => Buffer.from(JSON.stringify(fields)).toString('base64url');
    const token = `${part({ alg: 'ES256' })}.${part(claims)}.${'A'.repeat(86)}`;
    for (const path of PAID) send(path, { authorization: `Bearer ${token}` });
    expect(held).toHaveLength(PAID.length);
    for (const admission of held) {
      const cause: unknown = await admission.catch((error: unknown) => error);
      expect(cause).toMatchObject({ code: 'invalid_api_key', status: 401 });
      expect(String(cause)).toContain('To pay by x402, omit the header Authorization.');
    }
    expect(gate.inside).toBe(0);
  });

  test('gets 401 on all other routes and methods', () => {
    for (const { method, path, access } of ROUTES) {
      const { send } = door();
      if (access === 'open' || PAID.includes(path)) continue;
      expect(codeOf(() => send(path.replace(':id', 'x').replace('*', 'x'), {}, method))).toBe('invalid_api_key');
    }
    for (const path of PAID)
      for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'])
        expect(codeOf(() => door().send(path, {}, method))).toBe('invalid_api_key');
  });

  test('with an invalid or empty key gets 401: a key that was sent is never ignored', () => {
    for (const authorization of ['Bearer bad', 'Bearer ', '', 'Basic x'])
      for (const path of PAID) {
        const { send } = door();
        expect(codeOf(() => send(path, { authorization, 'payment-signature': 'e30=' }))).toBe('invalid_api_key');
      }
    expect(door().send('/v1/wallets/topup', { authorization: 'Bearer good' }).caller).toBe(key);
  });

  test('with an invalid key gets an error that says how to pay instead, on routes that can be paid for', () => {
    const help = 'To pay by x402, omit the header Authorization.';
    const send = (path: string, isOn: boolean) => door({ isOn }).send(path, { authorization: 'Bearer none' });
    for (const path of PAID) {
      expect(() => send(path, true)).toThrow(help);
      expect(() => send(path, false)).not.toThrow(help);
    }
    expect(() => send('/v1/route', true)).not.toThrow(help);
  });

  test('is throttled by its address before any other check', () => {
    const { send } = door();
    for (let i = 0; i < 5; i++) send('/v1/chat/completions').handled(200, null);
    const error = refusal(() => send('/v1/chat/completions', { 'content-type': 'text/plain', 'x-payment': 'x' }));
    expect([error.code, error.info.details]).toEqual([
      'rate_limit_exceeded',
      { limit: 'gateway.keyless_per_minute', kind: 'requests' },
    ]);
    // Requests with a key are not throttled by address.
    expect(send('/v1/chat/completions', { authorization: 'Bearer good' }).caller).toBe(key);
  });

  test('may only have a small body; a request with a key may have a large body', () => {
    const { send } = door();
    expect(codeOf(() => send(PAID[0]!, { 'content-length': '1001' }))).toBe('request_too_large');
    expect(send(PAID[0]!, { 'content-length': '1000' }).caller).toBeNull();
    expect(codeOf(() => send(PAID[0]!, { 'transfer-encoding': 'chunked' }))).toBe('length_required');
    expect(send(PAID[0]!, { 'transfer-encoding': 'chunked', authorization: 'Bearer good' }).caller).toBe(key);
    expect(send(PAID[0]!, { 'content-length': '1001', authorization: 'Bearer good' }).caller).toBe(key);
  });

  test('gets an error that says to use version 2 if it uses version 1 of x402', () => {
    for (const path of PAID) {
      const error = refusal(() => door().send(path, { 'x-payment': 'eyJ4NDAyVmVyc2lvbiI6MX0=' }));
      expect([error.code, error.info.param]).toEqual(['unsupported_x402_version', 'X-PAYMENT']);
    }
    expect(door().send(PAID[0]!, { 'x-payment': 'x', authorization: 'Bearer good' }).caller).toBe(key);
  });

  test('gets 431 for a payment that is larger than headers may be', () => {
    const { send } = door();
    expect(codeOf(() => send(PAID[0]!, { 'payment-signature': 'A'.repeat(16_400) }))).toBe('headers_too_large');
    expect(send(PAID[0]!, { 'payment-signature': 'A'.repeat(10_000) }).caller).toBeNull();
  });
});

test('while payments are off, a request without a key gets 401 on every route that needs a key', () => {
  for (const path of PAID) expect(codeOf(() => door({ isOn: false }).send(path))).toBe('invalid_api_key');
});

describe('a wallet that has proved itself with a signature', () => {
  test('is the caller from then on, and counts once against the rate limits', () => {
    const { send } = door();
    const wallet = holderCaller(WALLET);
    for (let i = 0; i < 2; i++) {
      const context = send(PAID[0]!);
      context.acceptPayer(wallet);
      context.acceptPayer(wallet);
      expect(context.caller).toBe(wallet);
      const headers: Record<string, string | number> = {};
      context.life.addLimitHeaders(headers);
      expect(headers['x-ratelimit-remaining-requests']).toBe(String(1 - i));
      context.handled(200, null);
    }
    const third = send(PAID[0]!);
    expect(codeOf(() => third.acceptPayer(wallet))).toBe('rate_limit_exceeded');
    // Another wallet has its own limit. A request whose payer is not known is not counted.
    expect(() => send(PAID[0]!).acceptPayer(holderCaller(WALLET.replace('4', '5')))).not.toThrow();
    // A payment with an API key still belongs to the same wallet.
    expect(codeOf(() => send(PAID[0]!, { authorization: 'Bearer wallet' }))).toBe('rate_limit_exceeded');
  });

  test('is not the caller and is not counted if the request also has a key', () => {
    const { send } = door();
    for (let i = 0; i < 2; i++) {
      const context = send(PAID[0]!, { authorization: 'Bearer good' });
      context.acceptPayer(holderCaller(WALLET));
      expect(context.caller).toBe(key);
    }
    expect(() => send(PAID[0]!).acceptPayer(holderCaller(WALLET))).not.toThrow();
  });

  test('is refused if the operator has blocked it: with any signature, and with its keys on any route', () => {
    const { send } = door({ blocked: [WALLET] });
    const wallet = holderCaller(WALLET);
    const refused = refusal(() => send(PAID[0]!).acceptPayer(wallet));
    expect([refused.code, refused.message]).toEqual([
      'insufficient_permissions',
      'The operator has blocked this wallet.',
    ]);
    expect(codeOf(() => send(PAID[0]!, { authorization: 'Bearer good' }).acceptPayer(wallet))).toBe(refused.code);
    for (const { method, path, access } of ROUTES.filter((route) => route.path.startsWith('/v1/'))) {
      expect(access).not.toBe('open');
      const at = path.replace(':id', 'x').replace('*', 'x');
      expect(codeOf(() => send(at, { authorization: 'Bearer wallet' }, method))).toBe(refused.code);
    }
  });
});
