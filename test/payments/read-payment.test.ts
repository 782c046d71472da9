import { describe, expect } from 'bun:test';
import type { PaymentPayload } from '@x402/core/types';
import fc from 'fast-check';
import type { PrivateKeyAccount } from 'viem/accounts';
import { SignalboxError } from '../../src/core/errors.ts';
import { PaymentRefused } from '../../src/payments/payments.ts';
import {
  ask,
  type Bench,
  benchTest,
  HASH,
  headerOf,
  newAccount,
  rejection,
  shopTest,
  stockPayload,
  workshop,
} from './support.ts';

interface ClientPayload {
  signature: string;
  authorization: Record<'from' | 'to' | 'value' | 'validAfter' | 'validBefore' | 'nonce', string>;
}

const payloadOf = ({ payments }: Bench, account: PrivateKeyAccount, over: Parameters<typeof ask>[0] = {}) =>
  stockPayload(account, payments.quote(ask(over)).required);

const signedOf = ({ payload }: PaymentPayload): ClientPayload => payload as unknown as ClientPayload;

async function reasonOf(promise: Promise<unknown>): Promise<string> {
  const cause = await rejection(promise);
  if (cause instanceof PaymentRefused) return cause.reason;
  if (cause instanceof SignalboxError) return `${cause.status} ${cause.code} ${cause.info.param}`;
  throw cause;
}

async function signAs(
  account: PrivateKeyAccount,
  payload: PaymentPayload,
  over: Partial<ClientPayload['authorization']>,
) {
  const { accepted } = payload;
  const authorization = { ...signedOf(payload).authorization, ...over };
  const { value, validAfter, validBefore } = authorization;
  const types = [
    'address from',
    'address to',
    'uint256 value',
    'uint256 validAfter',
    'uint256 validBefore',
    'bytes32 nonce',
  ];
  const signature = await account.signTypedData({
    domain: {
      name: String(accepted.extra.name),
      version: String(accepted.extra.version),
      chainId: 84_532,
      verifyingContract: accepted.asset as `0x${string}`,
    },
    types: {
      TransferWithAuthorization: types.map((line) => ({ type: line.split(' ')[0]!, name: line.split(' ')[1]! })),
    },
    primaryType: 'TransferWithAuthorization',
    message: {
      ...authorization,
      value: BigInt(value),
      validAfter: BigInt(validAfter),
      validBefore: BigInt(validBefore),
    },
  });
  return { ...payload, payload: { signature, authorization } };
}

describe('A payment is read', () => {
  benchTest('with any letter case in its addresses and signature, and is passed on in one form', async (bench) => {
    const account = newAccount();
    const payload = await payloadOf(bench, account);
    const { signature, authorization } = signedOf(payload);
    const upper = (text: string) => `0x${text.slice(2).toUpperCase()}`;
    const { from, to, nonce, value, validBefore } = authorization;
    const shouted = {
      signature: upper(signature),
      authorization: { ...authorization, from: upper(from), to: upper(to), nonce: upper(nonce), value: `00${value}` },
      more: { of: 'it' },
    };
    const offer = await bench.read(headerOf({ ...payload, payload: shouted, extensions: { any: 1 } }));
    expect(offer).toEqual(await bench.read(headerOf(payload)));
    expect(offer).toMatchObject({
      nonce: nonce.toLowerCase(),
      validBefore: Number(validBefore),
      amount: 6_000n,
      secret: expect.stringMatching(signature),
    });
    expect(offer.payload).toEqual({
      x402Version: 2,
      accepted: payload.accepted,
      payload: { signature, authorization: { ...authorization, from: from.toLowerCase(), to: to.toLowerCase() } },
    });
    expect(bench.chain.calls).toEqual(['check']);
  });

  benchTest('even if its quote has expired, because a payer who paid in time may repeat the request', async (bench) => {
    const header = await bench.header(newAccount());
    bench.clock.now += 86_400_000;
    expect((await bench.read(header)).amount).toBe(6_000n);
  });
});

describe('A payment is refused', () => {
  benchTest('for another purpose or another request than its quote', async (bench) => {
    const header = await bench.header(newAccount());
    expect(await reasonOf(bench.read(header, { purpose: 'topup' }))).toBe('other_request');
    expect(await reasonOf(bench.read(header, { requestHash: HASH.replace('a', 'c') }))).toBe('other_request');
  });

  benchTest('with 403 before its signature is checked, if `agent_wallet` names another wallet', async (bench) => {
    const payload = await payloadOf(bench, newAccount());
    const header = headerOf({ ...payload, payload: { ...payload.payload, signature: `0x${'11'.repeat(65)}` } });
    const wallet = newAccount().address.toLowerCase();
    expect(await reasonOf(bench.read(header, { wallet }))).toBe('403 agent_wallet_mismatch agent_wallet');
    expect(await reasonOf(bench.read(header))).toBe('invalid_signature');
  });

  benchTest('if its authorization has other terms than the quote, even if they are signed', async (bench) => {
    const account = newAccount();
    const payload = await payloadOf(bench, account);
    const now = Math.ceil(bench.clock.now / 1_000);
    const cases = [
      [{ value: '5999' }, 'other_terms'],
      [{ value: '6001' }, 'other_terms'],
      [{ to: newAccount().address }, 'other_terms'],
      [{ validAfter: String(now + 60) }, 'not_yet_valid'],
      [{ validBefore: String(now + 2 * 86_400) }, 'valid_too_long'],
      [{ validBefore: '9'.repeat(77) }, 'valid_too_long'],
      [{ from: newAccount().address }, 'invalid_signature'],
    ] as const;
    for (const [over, reason] of cases) {
      expect(await reasonOf(bench.read(headerOf(await signAs(account, payload, over))))).toBe(reason);
    }
    // A clock that is some hours ahead is allowed.
    const ahead = await signAs(account, payload, { validBefore: String(now + 12 * 3_600) });
    expect((await bench.read(headerOf(ahead))).validBefore).toBe(now + 12 * 3_600);
    expect((await bench.read(headerOf(await signAs(account, payload, {})))).payer).toBe(account.address.toLowerCase());
  });

  benchTest('if its authorization was changed after signing', async (bench) => {
    const payload = await payloadOf(bench, newAccount());
    const { signature, authorization } = signedOf(payload);
    const later = { ...authorization, validBefore: String(Number(authorization.validBefore) + 1) };
    const other = { ...authorization, nonce: `0x${'07'.repeat(32)}` };
    for (const changed of [later, other]) {
      const header = headerOf({ ...payload, payload: { signature, authorization: changed } });
      expect(await reasonOf(bench.read(header))).toBe('invalid_signature');
    }
  });

  benchTest('if it is not an EIP-3009 authorization with a signature of 65 bytes', async (bench) => {
    const payload = await payloadOf(bench, newAccount());
    const { signature, authorization } = signedOf(payload);
    const forms = [
      { signature: `${signature}00`, authorization },
      { signature: signature.slice(0, -2), authorization },
      { signature: `0x${'ab'.repeat(400)}`, authorization },
      { signature, permit2Authorization: {} },
      { signature, authorization: { ...authorization, value: 6_000 } },
      { signature, authorization: { ...authorization, value: '-1' } },
      { signature, authorization: { ...authorization, nonce: '0x01' } },
      {},
    ];
    for (const form of forms) {
      expect(await reasonOf(bench.read(headerOf({ ...payload, payload: form })))).toBe('unsupported_signature');
    }
  });

  benchTest('with 400 for another version of x402', async (bench) => {
    const payload = await payloadOf(bench, newAccount());
    const older = [
      { ...payload, x402Version: 1 },
      { ...payload, x402Version: 3 },
      { x402Version: 1, scheme: 'exact', network: 'base', payload: payload.payload },
      { ...payload, accepted: { ...payload.accepted, network: 'base-sepolia' } },
    ];
    for (const one of older) {
      expect(await reasonOf(bench.read(headerOf(one)))).toBe('400 unsupported_x402_version PAYMENT-SIGNATURE');
    }
  });

  benchTest('with 400 if it is malformed', async (bench) => {
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    const texts = ['', '%', 'e30', base64('{'), base64('null'), base64('[]'), base64('{"x402Version":2}')];
    const deep = base64(`{"x402Version":2,"payload":{},"accepted":{"a":${'['.repeat(5_000)}${']'.repeat(5_000)}}}`);
    const wide = base64(`{"x402Version":2,"payload":{},"accepted":{"a":[${'1,'.repeat(5_000)}1]}}`);
    const list = base64('{"x402Version":2,"payload":{},"accepted":[]}');
    for (const text of [...texts, deep, wide, list]) {
      expect(await reasonOf(bench.read(text))).toBe('400 invalid_value PAYMENT-SIGNATURE');
    }
  });

  benchTest('with 400 or 402 for any invalid header, without network calls', async (bench) => {
    const header = await bench.header(newAccount());
    // A header without its padding would still be valid, so the test removes the padding first.
    const good = header.replace(/=+$/, '');
    expect((await bench.read(good)).amount).toBe(6_000n);
    const spoiled = fc.oneof(
      fc.string(),
      fc.base64String(),
      fc.json().map((text) => Buffer.from(text).toString('base64')),
      fc
        .record({ x402Version: fc.constantFrom(2, 2, 2, 1), accepted: fc.jsonValue(), payload: fc.jsonValue() })
        .map(headerOf),
      fc.record({ x402Version: fc.constant(2), accepted: fc.object(), payload: fc.object() }).map(headerOf),
      fc.tuple(fc.nat(good.length - 1), fc.nat(good.length - 1)).map(([a, b]) => good.slice(a, b)),
    );
    await fc.assert(
      fc.asyncProperty(spoiled, async (text) => {
        expect(await reasonOf(bench.read(text))).toMatch(/^400 |^[a-z_]+$/);
      }),
      { numRuns: 300 },
    );
    expect(bench.chain.calls).toEqual(['check']);
  });
});

/** The paths in a value, each as a list of names. */
function placesOf(value: unknown, path: readonly string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [[...path]];
  return Object.entries(value).flatMap(([name, inner]) => placesOf(inner, [...path, name]));
}

/** Returns a copy with a changed path; `undefined` removes the path. */
function changedAt(value: object, [name = '', ...rest]: readonly string[], to: unknown): object {
  const inner: unknown = Reflect.get(value, name);
  const next = rest.length === 0 ? to : changedAt(inner as object, rest, to);
  return { ...value, [name]: next };
}

describe('A quote’s payment requirements', () => {
  benchTest('are refused if they are changed anywhere, at any depth, without network calls', async (bench) => {
    const account = newAccount();
    const payload = await payloadOf(bench, account);
    const places = placesOf(payload.accepted);
    expect(places.length).toBeGreaterThanOrEqual(13);
    const tampering = fc.tuple(
      fc.constantFrom(...places, ['more'], ['extra', 'more'], ['extra']),
      fc.oneof(fc.constant(undefined), fc.string(), fc.nat(), fc.jsonValue(), fc.object()),
    );
    await fc.assert(
      fc.asyncProperty(tampering, async ([path, to]) => {
        const accepted = changedAt(payload.accepted, path, to);
        fc.pre(JSON.stringify(accepted) !== JSON.stringify(payload.accepted));
        // The authorization is signed for the changed amount and payee, as by a hostile client.
        const { amount, payTo } = { ...payload.accepted, ...accepted };
        const value = typeof amount === 'string' && /^\d+$/.test(amount) ? amount : '6000';
        const over = { value, to: payTo };
        const signed = await signAs(account, payload, over).catch(() => payload);
        const reason = await reasonOf(bench.read(headerOf({ ...signed, accepted })));
        expect(reason).toMatch(/^(unknown_quote|400 unsupported_x402_version PAYMENT-SIGNATURE)$/);
      }),
      { numRuns: 200 },
    );
    for (const [i, letter] of [...String(payload.accepted.extra.terms)].entries()) {
      const terms = String(payload.accepted.extra.terms);
      const changed = terms.slice(0, i) + (letter === 'A' ? 'Q' : 'A') + terms.slice(i + 1);
      const accepted = { ...payload.accepted, extra: { ...payload.accepted.extra, terms: changed } };
      expect(await reasonOf(bench.read(headerOf({ ...payload, accepted })))).toBe('unknown_quote');
    }
    expect(bench.chain.calls).toEqual(['check']);
  });

  shopTest(
    'of another gateway are refused, and requirements with members in another order are accepted',
    async (shop) => {
      await using other = workshop();
      const [here, there] = [await shop.open(), await other.open()];
      const account = newAccount();
      const payload = await payloadOf(here, account);
      const { extra, ...rest } = payload.accepted;
      const turned = { extra: Object.fromEntries(Object.entries(extra).reverse()), ...rest };
      expect(await reasonOf(there.read(headerOf(payload)))).toBe('unknown_quote');
      expect((await here.read(headerOf({ ...payload, accepted: turned }))).payer).toBe(account.address.toLowerCase());
    },
  );
});
