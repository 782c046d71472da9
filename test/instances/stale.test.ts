import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { x402Funding } from '../../src/payments/funding/funding.ts';
import type { X402Parts } from '../../src/payments/funding/gateway.ts';
import type { NewsSubject } from '../../src/store/news.ts';
import { loginOf, MODEL, meBy } from '../sign-in/stage.ts';
import { through } from '../store/hostile/through.ts';
import { World } from '../store/hostile/world.ts';
import { expectError } from '../support/error-contract.ts';
import { callerNamed } from '../support/request-context.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';
import { Visitor } from '../support/visitor.ts';

/** A copy that has had no contact with the store for five seconds must serve no request, because neither 200 nor 401 would be right. */
const STALE_MS = 5_001;
const ages = new Map<NewsSubject, number>();
let box: Signalbox;

beforeAll(async () => {
  const openStore = async () => {
    const store = await new World().open('a');
    const news = { ...store.news, ageOf: (subject: NewsSubject) => ages.get(subject) ?? 0 };
    return through(store, { read: (answer) => answer, own: { news } });
  };
  box = await startSignalbox({ policy: MODEL, openStore });
});
afterAll(() => box.stop());
afterEach(() => ages.clear());

const made = async (path: string, body: object): Promise<Record<string, unknown>> =>
  (await (await box.post(path, body)).json()) as Record<string, unknown>;
const modelsBy = (key: unknown) => box.get('/v1/models', { headers: { authorization: `Bearer ${key}` } });

async function expectAway(answer: Response): Promise<void> {
  await expectError(answer, 'overloaded', null, true);
  expect(answer.headers.get('retry-after')).toBe('1');
}

test('a copy of keys that is too old answers 503 for known and unknown keys', async () => {
  const { key } = await made('/admin/keys', { name: 'app', scopes: ['chat'] });
  const unknown = `${String(key).slice(0, -4)}AAAA`;
  expect([(await modelsBy(key)).status, (await modelsBy(unknown)).status]).toEqual([200, 401]);
  ages.set('keys', STALE_MS);
  await expectAway(await modelsBy(key));
  await expectAway(await modelsBy(unknown));
  ages.set('keys', STALE_MS - 1);
  expect((await modelsBy(key)).status).toBe(200);
});

test('a copy of people that is too old answers 503 for keys of a team, whose terms may have changed', async () => {
  const { id: team } = await made('/admin/teams', { name: 'search' });
  const { key: ofTeam } = await made('/admin/keys', { name: 'app', scopes: ['chat'], team });
  const { key: ofNobody } = await made('/admin/keys', { name: 'app', scopes: ['chat'] });
  ages.set('people', STALE_MS);
  await expectAway(await modelsBy(ofTeam));
  expect((await modelsBy(ofNobody)).status).toBe(200);
});

test('a copy of logins or people that is too old answers 503 for all logins', async () => {
  const visitor = new Visitor();
  const answer = await visitor.go(`${box.url}/console/sign-in/key`, {
    method: 'POST',
    body: JSON.stringify({ key: box.key }),
    headers: { 'content-type': 'application/json' },
    origin: box.url,
  });
  expect(answer.status).toBe(204);
  const login = loginOf(visitor, box);
  expect((await meBy(box, login)).status).toBe(200);
  for (const subject of ['logins', 'people'] as const) {
    ages.set(subject, STALE_MS);
    await expectAway(await meBy(box, login));
    await expectAway(await meBy(box, `${'A'.repeat(42)}w`));
    ages.clear();
  }
});

test('a copy of blocked wallets that is too old refuses all wallets', () => {
  const wallet = `0x${'ab'.repeat(20)}`;
  const fundingAt = (ageMs: number) =>
    x402Funding({ payments: { blocklist: { blocked: new Set<string>(), ageMs } } } as unknown as X402Parts);
  expect(() => fundingAt(STALE_MS - 1).checkBlocked(callerNamed(wallet))).not.toThrow();
  expect(() => fundingAt(STALE_MS).checkBlocked(callerNamed(wallet))).toThrow('cannot be read now');
  expect(() => fundingAt(STALE_MS).checkBlocked(callerNamed('key'))).not.toThrow();
});
