import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { openKeys } from '../../src/access/keys.ts';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { accessMigrations } from '../../src/store/sqlite/keys.ts';
import { answerOf, waitFor } from '../support/answers.ts';
import { testPolicy } from '../support/policies.ts';
import { withKey } from '../support/signalbox.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** A running server applies changes of keys by another process within a second; the tests allow four times as much, ms. */
const WITHIN = 4_000;

const upstream = useUpstream();

const box = useSignalbox(() => ({
  policy: testPolicy(
    { first: upstream.url },
    { best: { endpoints: ['first'], price: { input: 1, output: 4 } } },
    // Many tests send requests with keys that do not work yet, or no longer.
    'gateway: { failed_auth_per_minute: 1000000 }\n',
  ),
}));

const status = async (key: string) => (await box.get('/v1/models', withKey(key))).status;
const chat = (key: string) =>
  box.post('/v1/chat/completions', { model: 'best', messages: [{ role: 'user', content: 'Hi.' }] }, withKey(key));

interface Shown {
  readonly id: string;
  readonly key: string;
  readonly wallet: string | null;
  readonly balance: { readonly granted_credits: number };
  readonly data: readonly Shown[];
  readonly error: object;
}
const jsonOf = async (response: Promise<Response>) => (await (await response).json()) as Shown;
const shownBy = async (door: 'http' | 'cli', id: string) =>
  door === 'http'
    ? jsonOf(box.get(`/admin/keys/${id}`))
    : JSON.parse((await box.run('keys', 'show', id, '--json')).out);

let wallets = 0;
const someWallet = () => `0x${String(++wallets).padStart(2, '0')}${'ab'.repeat(19)}`;

/** Creates a key of a wallet in the running server's database, and waits until the server knows it. */
async function walletKey(wallet: string, name: string): Promise<{ key: string; id: string }> {
  const store = await openSqlite(join(box.data, 'signalbox.db'), [accessMigrations]);
  const keys = await openKeys({ store, now: Date.now });
  const { key, info } = await keys.createForHolder(wallet, name);
  keys.close();
  await store.close();
  await waitFor(async () => (await status(key)) === 200, WITHIN);
  return { key, id: info.id };
}

describe('a key that belongs to a wallet', () => {
  test('a wallet’s key may use chat, route and models, and no admin operation', async () => {
    const wallet = someWallet();
    const { key } = await walletKey(wallet, 'agent');
    await box.post(`/admin/wallets/${wallet}/credit`, { credits: 30 });
    expect((await box.post('/v1/route', {}, withKey(key))).status).toBe(200);
    expect((await box.get('/admin/keys', withKey(key))).status).toBe(403);
  });

  test('all keys of a wallet spend one balance, and grants to any of them through the API or a command go there', async () => {
    const wallet = someWallet();
    const [one, other] = [await walletKey(wallet, 'one'), await walletKey(wallet, 'other')];
    const granted = await box.post(`/admin/keys/${one.id}/grant`, { credits: 30, note: 'a gift' });
    expect(await granted.json()).toMatchObject({ id: one.id, wallet, balance: { granted_credits: 30 } });
    const { out } = await box.run('keys', 'grant', other.id, '10.5');
    expect(out).toBe(`The balance of wallet ${wallet} is 40.5 Credits (0.0405 USD), of 40.5 that were granted.\n`);
    const grantedTo = async (id: string) => (await shownBy('http', id)).balance.granted_credits;
    await waitFor(async () => (await grantedTo(one.id)) === 40.5, WITHIN);
    const first = (await answerOf(await chat(one.key))).platform.credits_consumed;
    const second = (await answerOf(await chat(other.key))).platform.credits_consumed;
    const spent = Math.round((first + second) * 1e6) / 1e6;
    expect(spent).toBeGreaterThan(0);
    for (const door of ['http', 'cli'] as const) {
      for (const { id } of [one, other]) {
        const shown = await shownBy(door, id);
        expect(shown).toMatchObject({ wallet, balance: { granted_credits: 40.5, spent_credits: spent } });
      }
    }
    const { data } = await jsonOf(box.get(`/admin/trail?key=${one.id}`));
    expect(data).toMatchObject([
      { action: 'grant', actor: { kind: 'key' }, details: { credits: 30, note: 'a gift', wallet } },
      { action: 'create', actor: { kind: 'wallet', name: wallet }, request_id: null },
    ]);
    const back = await box.run('keys', 'grant', one.id, '-40.4');
    expect(back.out).toContain('of 0.1 that were granted');
    await waitFor(async () => (await chat(other.key)).status === 402, WITHIN);
  });
});
