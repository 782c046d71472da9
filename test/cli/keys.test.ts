import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { everyKey, MORNING, type OpenedKeys, open } from '../access/support.ts';
import { tempFolder } from '../store/support.ts';
import { runHere } from '../support/run-here.ts';

const WALLET = `0x${'ab'.repeat(20)}`;

const folder = tempFolder();
let opened: OpenedKeys;
beforeAll(async () => {
  opened = await open(folder.file);
});
afterAll(async () => {
  await opened.close();
  folder[Symbol.dispose]();
});

const run = async (...args: string[]) => {
  const env = { DATABASE_URL: folder.file };
  const { code, out, err } = await runHere(['keys', ...args], env, '', () => opened.clock.now);
  if (code !== 0) throw new Error(err);
  return out;
};

describe('a keys command with wrong arguments prints one clear sentence and creates no key:', () => {
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [['create', '--rpm', '0'], /--rpm must be a whole number from 1 to 1000000000/],
    [['create', '--tpm', '1e3'], /--tpm must be a whole number from 1 to/],
    [['create', '--streams', ''], /--streams must be a whole number from 1 to/],
    [
      ['create', '--budget', '500'],
      /like 500\/month, 20USD\/day@Europe\/Berlin or 20,000\/total:downgrade, not .*\. The windows are day, week/,
    ],
    [['create', '--budget', '500/year'], /--budget: .*not "500\/year"/],
    [['create', '--budget', '0.0000001/day'], /--budget.*0.0000001.* at most 6 decimals/],
    [['create', '--budget', '20,5/day'], /--budget: "20,5" .*20\.5 or 205/],
    [['create', '--budget', '20 EUR/day'], /--budget: "20 EUR" .*20 USD/],
    [['create', '--budget', '$20/day'], /--budget.*\$20.* before a policy/],
    [['create', '--budget', '5/day@Mars'], /time zone "Mars" is unknown/],
    [['create', '--budget', '5/day:stop'], /not "5\/day:stop".* are cap, reject, downgrade/],
    [['create', '--budget', '5/day', '--budget', '6/day'], /--budget: Two budgets have the same window, day in UTC/],
    [['create', '--name', 'two\nlines'], /--name must be one line/],
    [['create', '--wallet', '0xabc'], /A wallet must be given by its address: 0x and 40 hexadecimal digits/],
    [['create', '--wallet', ''], /A wallet must be given by its address/],
    [['create', '--wallet', WALLET, '--wallet', 'x'], /A wallet must be given by its address/],
    [['create', '--name', 'a', '--name', 'b'], /--name is given twice/],
    [['create', '--label', 'team=a', '--label', 'team=b'], /--label gives team twice/],
    [['create', '--scope', 'chat', '--scope', 'chet'], /--scope must be one of "chat"/],
    [['show', `sb_live_abc_${'x'.repeat(43)}`], /between sb_live_ and the next underscore/],
    [['list', '--has-models', '--no-has-models'], /--no-has-models contradicts --has-models/],
    [['show'], /keys show needs NAME\|ID/],
    [['show', 'nobody'], /No key has this ID/],
    [['rotate', 'nobody'], /No valid key has this ID/],
    [['rotate', 'nobody', '--overlap', '31d'], /--overlap: A duration must be from 0 to 30d, not "31d"/],
    [['rotate', 'nobody', '--overlap', 'soon'], /90m, 12h or 30d/],
    [['log', '--limit', '0'], /--limit must be a whole number from 1 to 1000/],
  ];
  for (const [args, message] of cases) {
    test(`keys ${args.join(' ')}`, async () => {
      const error = await run(...args).catch(String);
      expect(error).toMatch(/^Error: signalbox: [^\n]+\n$/);
      expect(error).toMatch(message);
      expect(JSON.parse(await run('list', '--json')).data).toEqual([]);
    });
  }
});

test.each([
  ['500/month', { limit: 500_000_000, window: 'month', timeZone: 'UTC', onExhausted: 'cap' }],
  ['20,000/month', { limit: 20_000_000_000, window: 'month', timeZone: 'UTC', onExhausted: 'cap' }],
  ['0.000001/total', { limit: 1, window: 'total', timeZone: 'UTC', onExhausted: 'cap' }],
  ['20/day@Europe/Berlin', { limit: 20_000_000, window: 'day', timeZone: 'Europe/Berlin', onExhausted: 'cap' }],
  ['5/week:cap', { limit: 5_000_000, window: 'week', timeZone: 'UTC', onExhausted: 'cap' }],
  ['5/week:downgrade', { limit: 5_000_000, window: 'week', timeZone: 'UTC', onExhausted: 'downgrade' }],
  ['5/day@+02:00:reject', { limit: 5_000_000, window: 'day', timeZone: '+02:00', onExhausted: 'reject' }],
])('--budget %s', async (text, budget) => {
  const id = (await run('create', '--budget', text)).split('_')[2]!;
  expect((await opened.keys.get(id))?.budgets).toMatchObject([budget]);
});

test('--has-models lists keys with their own list of models, --no-has-models lists keys without such a list', async () => {
  for (const [name, ...flags] of [['listed', '--model', 'toy'], ['open']] as const) {
    await run('create', '--name', name, ...flags);
  }
  const names = async (flag: string) =>
    (JSON.parse(await run('list', flag, '--json')).data as { name: string }[]).map(({ name }) => name);
  expect(await names('--has-models')).toEqual(['listed']);
  expect(await names('--no-has-models')).toContain('open');
  expect(await names('--no-has-models')).not.toContain('listed');
});

test('a command accepts scopes one by one or as one list, and each scope is stored once', async () => {
  await run('create', '--name', 'scoped', '--scope', 'route,chat', '--scope', 'admin', '--scope', 'chat');
  const made = (await everyKey(opened.keys)).find(({ name }) => name === 'scoped');
  expect(made?.scopes.toSorted()).toEqual(['admin', 'chat', 'route']);
});

test('keys create and keys rotate with --json print one object with the whole key, and nothing else', async () => {
  const made = JSON.parse(await run('create', '--name', 'for-ci', '--scope', 'chat', '--json'));
  expect(made).toMatchObject({ name: 'for-ci', scopes: ['chat'], state: 'valid', overlap_ends_at: null });
  expect(made.key).toStartWith(`sb_live_${made.id}_`);
  const again = JSON.parse(await run('rotate', made.id, '--overlap', '1h', '--json'));
  expect(again).toMatchObject({ id: made.id, name: 'for-ci', rotated_at: expect.any(String) });
  expect(again.overlap_ends_at).toBe(new Date(opened.clock.now + 3_600_000).toISOString());
  expect(again.key).toStartWith(`sb_live_${made.id}_`);
  expect(again.key).not.toBe(made.key);
  const { key: _, ...known } = again;
  expect(JSON.parse(await run('list', '--json')).data).toContainEqual({ ...known, team_name: null, user_name: null });
});

test('a database without a ledger shows budgets as unspent, and refuses a grant', async () => {
  const id = (await run('create', '--budget', '5/day', '--expires-in', '1h')).split('_')[2]!;
  expect(JSON.parse(await run('show', id, '--json'))).toMatchObject({
    expires_at: new Date(MORNING + 3_600_000).toISOString(),
    budgets: [{ spent_credits: 0, left_credits: 5, renews_at: '2026-11-21T00:00:00.000Z' }],
    balance: null,
  });
  await expect(run('grant', id, '5')).rejects.toThrow('no ledger of this version yet');
});

test('a key can be bound to wallets in upper or lower case; `keys show` lists these wallets, or `all`', async () => {
  const flags = ['--wallet', WALLET.toUpperCase().replace('0X', '0x'), '--wallet', `0x${'12'.repeat(20)}`];
  const id = (await run('create', ...flags)).split('_')[2]!;
  const wallets = [WALLET, `0x${'12'.repeat(20)}`];
  expect(JSON.parse(await run('show', id, '--json'))).toMatchObject({ wallets, wallet: null });
  expect(await run('show', id)).toMatch(new RegExp(`^wallets +${wallets.join(', ')}$`, 'm'));
  const plain = (await run('create')).split('_')[2]!;
  expect(await run('show', plain)).toMatch(/^wallets +all$/m);
});

test('a key of a wallet is marked as such and shows the wallet’s balance, which is always prepaid', async () => {
  expect(await run('list')).not.toContain('WALLET');
  const { info } = await opened.keys.createForHolder(WALLET, 'laptop');
  expect(await run('list')).toMatch(/^ID .* WALLET$/m);
  expect(await run('list')).toMatch(new RegExp(`^${info.id} +laptop .* ${WALLET}$`, 'm'));
  const shown = await run('show', info.id);
  expect(shown).toMatch(new RegExp(`^wallet +${WALLET}$`, 'm'));
  expect(shown).toMatch(/^balance +0 Credits \(0 USD\) left: 0 Credits granted, 0 spent$/m);
  expect(JSON.parse(await run('show', info.id, '--json'))).toMatchObject({
    wallet: WALLET,
    wallets: null,
    balance: { granted_credits: 0, granted_usd: '0', spent_credits: 0, left_credits: 0, left_usd: '0' },
  });
  expect(await run('log', '--key', info.id)).toMatch(new RegExp(`wallet ${WALLET} +create +key ${info.id}`));
  expect(await run('log', '--key', WALLET.toUpperCase().replace('0X', '0x'))).toMatch(/^TIME .*DETAILS\n$/);
});
