import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { effort } from '../../deep/effort.ts';
import { LOGIN, loginOf, startGateway } from '../../sign-in/stage.ts';
import { buildConsoleHere } from '../../support/console.ts';
import { startForgedIssuer } from '../../support/forged-issuer.ts';
import { withKey } from '../../support/signalbox.ts';
import { AUDIENCE, startIssuer } from '../../support/token-issuer.ts';
import { useSignalbox, useStarted } from '../../support/use.ts';
import { Visitor } from '../../support/visitor.ts';
import { holds, POLICY, QUESTION } from './support.ts';

/**
 * https://github.com/BerriAI/litellm/security/advisories/GHSA-jjhc-v7c2-5hh6: LiteLLM's cache identified a token by its first 20
 * characters.
 */
describe('CVE-2026-35030, one cache key for two subjects', () => {
  const { runs, seed } = effort('pairs of subjects', 30, 500);
  const issuers = useStarted(async () => {
    const [one, two] = await Promise.all([startIssuer(), startIssuer()]);
    return { one, two, stop: () => Promise.all([one.stop(), two.stop()]) };
  });
  const entry = (name: string, url: string) => `
  - { name: ${name}, issuer: "${url}", audience: "${AUDIENCE}", allow_private_network: true, when: claims.org == "acme", admin: claims.sub == "root" }`;
  const box = useSignalbox(() => ({
    policy: `${POLICY}tokens:${entry('one', issuers.one.url)}${entry('two', issuers.two.url)}\n`,
  }));

  interface Subject {
    readonly at: 'one' | 'two';
    readonly sub: string;
  }
  type Known = (token: string) => Promise<string>;
  /** The ID of the subject to whom a request with this token is charged. */
  const subjectOf: Known = async (token) => {
    const response = await box.post('/v1/chat/completions', QUESTION, withKey(token));
    const id = response.headers.get('x-signalbox-decision-id');
    const decision = (await (await box.get(`/v1/decisions/${id}`)).json()) as { key_id: string };
    return decision.key_id;
  };

  const sub = fc.oneof(
    fc.constantFrom('root', 'robot', 'robot ', 'Robot', 'robot"', 'robot","', 'r', '0'),
    fc.string({ minLength: 1, maxLength: 30 }),
  );
  const subject: fc.Arbitrary<Subject> = fc.record({ at: fc.constantFrom('one', 'two'), sub });
  const keepsApart =
    (known: Known) =>
    async ([a, b]: readonly [Subject, Subject]): Promise<boolean> => {
      const [first, second] = await Promise.all([a, b].map(({ at, sub }) => issuers[at].sign({ sub })));
      const [idOfA, idOfB, again] = [await known(first!), await known(second!), await known(first!)];
      return /^subject_/.test(idOfA) && idOfA === again && (idOfA === idOfB) === (a.at === b.at && a.sub === b.sub);
    };

  test('two subjects with the same header, key and other claims are never confused', async () => {
    expect(await holds(fc.tuple(subject, subject), keepsApart(subjectOf), { runs, seed })).toBe(true);
  });

  test('the law finds a cache that identifies a token by its first 20 characters', async () => {
    const cache = new Map<string, string>();
    const shared: Known = async (token) => {
      const known = cache.get(token.slice(0, 20)) ?? (await subjectOf(token));
      cache.set(token.slice(0, 20), known);
      return known;
    };
    expect(await holds(fc.tuple(subject, subject), keepsApart(shared), { runs, seed })).toBe(false);
  });

  test('a token that differs from a checked one only in its signature, or only in its subject, gets nothing of it', async () => {
    const admin = await issuers.one.sign({ sub: 'root' });
    const status = async (token: string) => (await box.get('/admin/status', withKey(token))).status;
    expect(await status(admin)).toBe(200);
    const [header, payload = '', signature = ''] = admin.split('.');
    const [, , other = ''] = (await issuers.one.sign({ sub: 'robot' })).split('.');
    const claims = Buffer.from(payload, 'base64url').toString();
    const changed = Buffer.from(claims.replace('"org":"acme"', '"org":"acme","x":1')).toString('base64url');
    for (const forged of [
      `${header}.${payload}.${other}`,
      `${header}.${changed}.${signature}`,
      `${header}.${payload}.`,
      admin.slice(0, -1),
    ]) {
      expect(await status(forged)).toBe(401);
    }
    expect(await status(await issuers.one.sign({ sub: 'robot' }))).toBe(403);
    expect(await status(await issuers.two.sign({ sub: 'root' }))).toBe(200);
  });

  test('two people with the same access token and the same claims from their issuer are two users', async () => {
    buildConsoleHere();
    const issuer = await startForgedIssuer();
    const gateway = await startGateway(issuer.url);
    const userOf = async (person: string) => {
      issuer.next = { claims: { sub: person, name: 'One Name', email: 'one@example.com' } };
      const visitor = new Visitor();
      await visitor.signIn(`${gateway.url}/console/sign-in`, person, (url) => url === `${gateway.url}/console`);
      const me = await fetch(`${gateway.url}/admin/me`, {
        headers: { cookie: `${LOGIN}=${loginOf(visitor, gateway)}` },
      });
      return ((await me.json()) as { user: { id: string; sub: string } }).user;
    };
    const users = [await userOf('alice'), await userOf('alice2'), await userOf('alice')];
    expect(users.map((user) => user.sub)).toEqual(['alice', 'alice2', 'alice']);
    expect([users[0]?.id === users[1]?.id, users[0]?.id === users[2]?.id]).toEqual([false, true]);
    await gateway.stop();
    await issuer.stop();
  });
});
