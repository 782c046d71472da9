import { beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import type { PrivateKeyAccount } from 'viem/accounts';
import { waitFor } from '../../support/answers.ts';
import { buildConsoleHere } from '../../support/console.ts';
import { usePaid } from '../support/paying.ts';
import { axeFinds, openConsole, overflowOf, settled, tabTo } from './stage.ts';

/** Payments and wallets with a real chain: settled, unknown and failed payments, and Credits that an operator grants with the keyboard. */

const paid = usePaid({ facilitator: '{ mode: local, private_key_env: TEST_GAS_KEY, confirmation_timeout_ms: 1000 }' });
const BODY = { model: 'best', messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 100 };

let agent: PrivateKeyAccount;
const short = ({ address }: PrivateKeyAccount) => {
  const text = address.toLowerCase();
  return `${text.slice(0, 8)}…${text.slice(-6)}`;
};

/** Makes a payment whose transaction no block contains before its deadline. */
async function unmined(): Promise<{ account: PrivateKeyAccount; nonce: `0x${string}` }> {
  const account = await paid.payer();
  const header = await paid.sign(account, (await paid.quote(BODY)).required);
  await paid.chain.automine(false);
  expect((await paid.send(header, BODY)).status).toBe(503);
  return { account, nonce: JSON.parse(atob(header)).payload.authorization.nonce };
}

beforeAll(async () => {
  buildConsoleHere();
  agent = await paid.payer();
  expect((await paid.pay(agent, { usd: 1, name: 'agent' }, { path: '/v1/wallets/topup' })).status).toBe(201);
  expect((await paid.pay(await paid.payer(), BODY)).status).toBe(200);
});

const open = (path: string, width = 1_280) => openConsole({ box: paid.box }, { path, width });
const panel = (page: Page) => page.getByRole('complementary');
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const fact = (page: Page, name: string) =>
  panel(page)
    .locator('dt', { hasText: new RegExp(`^${name}$`) })
    .locator('+ dd');
const read = async (path: string) => JSON.parse(await (await paid.box.get(path)).text());

test('the page shows the outcome of each payment, and queries the chain about an unknown payment', async () => {
  const cancelled = await unmined();
  await paid.chain.dropTransactions();
  const late = await unmined();
  const { page, faults } = await open('/money?tab=payments');
  const table = page.getByRole('table', { name: 'Payments' });
  const column = (at: number) => table.locator(`tbody tr td:nth-child(${at})`).allTextContents();
  expect(await column(2)).toEqual(['Unknown', 'Unknown', 'Settled', 'Settled']);
  expect(await column(3)).toEqual(['A request', 'A request', 'A request', 'A top-up']);
  expect((await column(5)).at(-1)).toBe('$1.00000');
  expect(await table.locator('tbody .figure').last().getAttribute('title')).toBe('$0 · 0 Credits');

  await table.getByRole('link', { name: short(cancelled.account) }).click();
  await panel(page)
    .getByText('The payment may have arrived. The chain did not confirm the transaction in time.')
    .waitFor();
  expect(await fact(page, 'Charged').textContent()).toBe('not known yet');
  expect(await axeFinds(page)).toEqual([]);
  // The gateway itself checks now and then, which does not affect this test.
  await paid.chain.automine(true);
  await paid.chain.cancel(cancelled.account, cancelled.nonce);
  // A check before the chain's answer is final leaves the payment unchanged, so the test checks again.
  const isOver = panel(page).getByText(
    'The payment failed, and no money arrived. The wallet cancelled its authorization.',
  );
  await waitFor(async () => {
    if (await isOver.isVisible()) return true;
    await button(page, 'Check the chain')
      .click({ timeout: 1_000 })
      .catch(() => {});
    return false;
  }, 60_000);
  expect(await fact(page, 'Fee').textContent()).toBe('$0 · 0 Credits');
  await page.keyboard.press('Escape');

  const { data } = await read(`/admin/payments?wallet=${late.account.address}`);
  await paid.box.post(`/admin/payments/${data[0].id}/reconcile`, {});
  await page.reload();
  await settled(page);
  await table.getByRole('link', { name: short(late.account) }).click();
  await waitFor(async () => (await fact(page, 'Added to balance').textContent()) === '$0.00144 · 1.44 Credits');
  expect(await column(2)).toEqual(['Settled', 'Failed', 'Settled', 'Settled']);
  expect(await column(6)).toEqual(['$0.000', '–', '$0.001', '$0.000']);

  await page.getByLabel('State').selectOption({ label: 'Failed' });
  await waitFor(async () => (await column(2)).join() === 'Failed');
  await panel(page).getByText('This payment is not in the list').waitFor();
  expect(faults).toEqual([]);
});

test('a balance links to its wallet, the wallet to its payment and key, and the page fits a phone', async () => {
  const { page, faults } = await open('/money?tab=budgets', 390);
  await page
    .getByRole('table', { name: 'Budgets and balances' })
    .getByRole('link', { name: short(agent) })
    .click();
  await settled(page);
  expect(await fact(page, 'Balance').textContent()).toBe('$1.00 · 1,000 Credits');
  expect(await fact(page, 'Keys').getByRole('link').allTextContents()).toEqual(['agent']);
  expect([await overflowOf(page), await axeFinds(page)]).toEqual([0, []]);
  await panel(page).getByRole('table', { name: 'Payments of the wallet' }).getByRole('link').click();
  await panel(page)
    .getByRole('heading', { name: /^Payment pay_/ })
    .waitFor();
  expect(await fact(page, 'For').textContent()).toBe('A top-up');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Clear filters' }).click();
  expect(await page.getByLabel('Wallet').inputValue()).toBe('');
  expect(faults).toEqual([]);
});

test('with the keyboard, an operator grants Credits to a wallet once, removes the Credits, and blocks and unblocks the wallet', async () => {
  const address = agent.address.toLowerCase();
  const { page, faults } = await open('/money?tab=payments');
  const { keyboard } = page;
  await tabTo(page, 'Wallet');
  await keyboard.type(address);
  await tabTo(page, 'Open wallet');
  await keyboard.press('Enter');
  await panel(page).getByText('1,000 Credits').first().waitFor();
  await tabTo(page, 'Grant in USD');
  await keyboard.type('0.0255');
  await tabTo(page, 'Note');
  await keyboard.type('goodwill');
  await keyboard.press('Enter');
  await page.getByText('25.5 Credits were added to the balance.').waitFor();
  await waitFor(async () => (await fact(page, 'Balance').textContent())?.includes('1,026 Credits') ?? false);
  expect((await read(`/admin/wallets/${address}`)).balance_credits).toBe(1_025.5);
  const { data } = await read(`/admin/trail?key=${address}&limit=1`);
  expect(data[0].details.note).toBe('goodwill');

  await keyboard.press('Shift+Tab');
  await keyboard.type('1e15');
  await tabTo(page, 'Grant');
  await keyboard.press('Enter');
  await panel(page).locator('.field-error').waitFor();
  expect((await read(`/admin/wallets/${address}`)).balance_credits).toBe(1_025.5);
  await keyboard.press('Shift+Tab');
  await keyboard.press('Shift+Tab');
  await keyboard.press('Control+a');
  await keyboard.type('-0.0255');
  await tabTo(page, 'Remove Credits');
  await keyboard.press('Enter');
  await page.getByText('25.5 Credits were removed from the balance.').waitFor();
  expect((await read(`/admin/wallets/${address}`)).balance_credits).toBe(1_000);

  await tabTo(page, 'Block wallet');
  await keyboard.press('Enter');
  const question = page.getByRole('dialog', { name: `Block wallet ${short(agent)}?` });
  await question.waitFor();
  await keyboard.press('Escape');
  await question.waitFor({ state: 'detached' });
  await waitFor(async () => (await page.locator(':focus').textContent()) === 'Block wallet');
  await keyboard.press('Enter');
  await question.waitFor();
  await tabTo(page, 'Block wallet');
  await keyboard.press('Enter');
  await panel(page).getByText('Blocked', { exact: true }).waitFor();
  expect((await read(`/admin/wallets/${address}`)).is_blocked).toBe(true);
  await tabTo(page, 'Unblock wallet');
  await keyboard.press('Enter');
  await panel(page).getByText('Served', { exact: true }).waitFor();
  expect((await read(`/admin/wallets/${address}`)).is_blocked).toBe(false);
  await keyboard.press('Escape');
  await panel(page).waitFor({ state: 'detached' });
  expect(faults).toEqual(['Failed to load resource: the server responded with a status of 400 (Bad Request)']);
});

test('with the keyboard, an operator makes a key prepaid, and its grant becomes its balance', async () => {
  const id = (await paid.box.makeKey('--name', 'shop')).split('_')[2]!;
  const { page, faults } = await open('/people/keys');
  await tabTo(page, 'shop');
  await page.keyboard.press('Enter');
  await panel(page).getByText('The first grant makes the key prepaid').waitFor();
  await tabTo(page, 'Grant in USD');
  await page.keyboard.type('0.04');
  await page.keyboard.press('Enter');
  await tabTo(page, 'Make key prepaid');
  await page.keyboard.press('Enter');
  await page.getByText('40 Credits were added to the balance.').waitFor();
  await panel(page).getByText('A negative amount removes Credits.').waitFor();
  const { balance } = await read(`/admin/keys/${id}`);
  expect(balance.left_credits).toBe(40);
  expect(faults).toEqual([]);
});
