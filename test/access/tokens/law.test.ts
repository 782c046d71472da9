import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { base64url, jwtVerify } from 'jose';
import { readToken } from '../../../src/access/tokens/claims.ts';
import { Tokens } from '../../../src/access/tokens/tokens.ts';
import type { TokenIssuer } from '../../../src/core/people/token-issuer.ts';
import { effort } from '../../deep/effort.ts';
import { AUDIENCE, startIssuer, type TestIssuer } from '../../support/token-issuer.ts';

const { runs, seed, proved } = effort('changed tokens', 150, 20_000);

const ALGORITHMS = ['ES256', 'RS256', 'PS256', 'EdDSA'] as const;
const CHARACTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/=. \n';

let issuers: ReadonlyMap<string, { issuer: TestIssuer; terms: TokenIssuer; token: string }>;
beforeAll(async () => {
  const started = await Promise.all(
    ALGORITHMS.map(async (algorithm) => {
      const issuer = await startIssuer(algorithm);
      const token = await issuer.sign({ org: 'acme' });
      return [algorithm, { issuer, token, terms: termsOf(issuer) }] as const;
    }),
  );
  issuers = new Map(started);
});
afterAll(async () => {
  for (const { issuer } of issuers.values()) await issuer.stop();
});

const termsOf = ({ url, keys }: TestIssuer): TokenIssuer => ({
  ...{ name: 'robots', issuer: url, audiences: [AUDIENCE], when: () => true, admin: null },
  ...{ labels: new Map(), team: null, scopes: ['chat'], models: null, limits: null, definition: '' },
  keys: { from: 'policy', set: { keys: keys.map((key) => ({ ...key })) } },
});

const tokens = new Tokens({
  ...{ clock: () => performance.now(), now: Date.now, secret: new Uint8Array(32) },
  log: { info() {}, warn() {}, error() {} },
  teams: { idOf: () => null, has: () => false },
  blocksAge: () => 0,
  onSubject() {},
});

type IsAccepted = (token: string, terms: TokenIssuer) => Promise<boolean>;

const isAccepted: IsAccepted = async (token, terms) => 'caller' in (await tokens.check(token, [terms], '', () => {}));

/** Replaces, inserts or removes one character of a token. */
const change = fc.record({
  algorithm: fc.constantFrom(...ALGORITHMS),
  at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  // Decoders are lenient at the end of the signature.
  isAtEnd: fc.boolean(),
  kind: fc.constantFrom('replace', 'insert', 'remove'),
  character: fc.constantFrom(...CHARACTERS),
});
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

function changed(token: string, { at, isAtEnd, kind, character }: Change): string {
  const place = isAtEnd ? token.length - 1 - Math.floor(at * 3) : Math.floor(at * token.length);
  const rest = token.slice(kind === 'insert' ? place : place + 1);
  return token.slice(0, place) + (kind === 'remove' ? '' : character) + rest;
}

/** Enough changes to find a mutant, although each run signs with new keys: one change in eighty affects bits that decoders ignore. */
const MUTANT_RUNS = 2_000;

/** Whether no token with a changed character is accepted. */
const holds = async (accepts: IsAccepted, numRuns: number): Promise<boolean> => {
  const law = fc.asyncProperty(change, async (one) => {
    const { token, terms } = issuers.get(one.algorithm)!;
    const other = changed(token, one);
    return other === token || !(await accepts(other, terms));
  });
  return !(await fc.check(law, { numRuns, seed })).failed;
};

describe('a token', () => {
  test('a token is accepted as it was signed, with every kind of key', async () => {
    for (const { token, terms } of issuers.values()) expect(await isAccepted(token, terms)).toBe(true);
  });

  test('a token is not accepted if one character is changed, inserted or removed', async () => {
    expect(await holds(isAccepted, runs)).toBe(true);
    proved(`no token of ${runs} with one character changed was accepted`);
  });

  test('the law finds a check that does not verify the form of the signature', async () => {
    const lenient: IsAccepted = async (token, { issuer, keys }) => {
      const [key] = keys.from === 'policy' ? (keys.set?.keys ?? []) : [];
      const verified = jwtVerify(token.replace(/[=\n ]+$/, ''), { kty: '', ...key }, { issuer });
      return await verified.then(
        () => true,
        () => false,
      );
    };
    expect(await holds(lenient, MUTANT_RUNS)).toBe(false);
  });

  test('the law finds a check that trusts the claims without the signature', async () => {
    const gullible: IsAccepted = async (token, terms) => typeof readToken(token, [terms], Date.now()) !== 'string';
    expect(await holds(gullible, MUTANT_RUNS)).toBe(false);
  });
});

test('the last character of a signature has bits that decoders ignore, so the law tests a real risk', () => {
  const { token } = issuers.get('ES256')!;
  const signature = token.slice(token.lastIndexOf('.') + 1);
  const others = [...CHARACTERS].map((one) => signature.slice(0, -1) + one).filter((one) => /^[\w-]+$/.test(one));
  const same = others.filter((one) => Buffer.from(base64url.decode(one)).equals(base64url.decode(signature)));
  expect(same.length).toBeGreaterThan(1);
});
