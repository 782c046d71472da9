import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { deeply, orDeeply } from '../../deep/deeply.ts';
import { waitFor } from '../../support/answers.ts';
import { withKey } from '../../support/signalbox.ts';
import {
  axeFinds,
  CONSOLE_POLICY,
  type ConsoleRole,
  type ConsoleStage,
  openConsole,
  openStage,
  overflowOf,
  settled,
} from './stage.ts';

/** Tests of people and keys, operated by a person of each role. */
const POLICY = CONSOLE_POLICY.replace(
  '  - name: search',
  '  - name: search\n    budgets: [{ limit_credits: 5000, window: month }]',
).replace(
  'budgets:\n  - { name: day',
  `budgets:
  - { name: trial, limit_credits: 200, window: day, each: key, match: 'key.labels.kind == "trial"' }
  - { name: day`,
);

/** A complete task takes longer than one step. */

let stage: ConsoleStage;
beforeAll(async () => {
  stage = await openStage(2, POLICY);
});
afterAll(() => stage.stop());

interface Row {
  readonly id: string;
  readonly name: string;
  readonly key: string;
  readonly user: string | null;
  readonly team: string | null;
  readonly state: string;
  readonly labels: Record<string, string>;
  readonly limits: { readonly requests_per_minute: number | null };
  readonly budgets: readonly { readonly limit_credits: number }[];
}

async function made(path: string, body: object): Promise<Row> {
  const response = await stage.box.post(path, body);
  const row: Row = JSON.parse(await response.text());
  expect(response.status).toBe(200);
  return row;
}
const shown = async (path: string): Promise<Row> => JSON.parse(await (await stage.box.get(path)).text());
const listed = async (path: string): Promise<readonly Row[]> =>
  JSON.parse(await (await stage.box.get(path)).text()).data;
const statusWith = async (key: string): Promise<number> =>
  (await fetch(`${stage.box.url}/v1/models`, withKey(key))).status;

async function open(path: string, role: ConsoleRole = 'owner', width = 1_280): Promise<Page> {
  const { page } = await openConsole(stage, { path: `/people${path}`, role, width });
  return page;
}
/** Returns the name of the focused element. */
const focusOf = async (page: Page): Promise<string> =>
  (
    await page
      .locator(':focus')
      .first()
      .textContent({ timeout: 1_000 })
      .catch(() => null)
  )?.trim() ?? 'nothing';
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true });
const panel = (page: Page) => page.locator('.panel');
/** The line that opens the folded fields of a form. */
const more = (page: Page) => page.locator('.form-more > summary');

describe('a key', () => {
  test('a new key works, is shown once, and is in no URL and no browser storage', async () => {
    const page = await open('/keys');
    await link(page, 'Create key').click();
    await page.getByLabel('Name', { exact: true }).fill('billing-app');
    expect(await page.getByLabel('Labels').isVisible()).toBe(false);
    await more(page).click();
    await page.getByLabel('Labels').fill('app=billing');
    await button(page, 'Add budget').click();
    await page.getByLabel('Limit in USD').fill('20,5');
    await page.getByText('This can mean 20.5 or 205.').waitFor();
    await page.getByLabel('Limit in USD').fill('0.50');
    await page.getByText('= 500 Credits').waitFor();
    await button(page, 'Create key').click();
    await page.getByText('Copy the secret now.').waitFor();
    const secret = (await page.locator('.people-secret .copy-text').textContent()) ?? '';
    expect(await statusWith(secret)).toBe(200);
    const [row] = await listed('/admin/keys?name=billing-app');
    expect([row?.labels, row?.budgets[0]?.limit_credits]).toEqual([{ app: 'billing' }, 500]);
    const kept = await page.locator('html').evaluate((html) => {
      const { defaultView: view } = html.ownerDocument;
      return JSON.stringify([
        view?.location.href,
        { ...view?.localStorage },
        { ...view?.sessionStorage },
        view?.history.state,
      ]);
    });
    expect(kept).not.toContain(secret.slice(-20));
    await link(page, 'Close').click();
    await page.getByRole('table', { name: 'Keys' }).getByRole('link', { name: 'billing-app' }).click();
    await panel(page).getByText('app=billing').waitFor();
    expect(await page.content()).not.toContain(secret.slice(-20));
  });

  test('the list shows what each key spent, and how full its fullest budget is', async () => {
    const { id, key } = await made('/admin/keys', {
      name: 'spending-app',
      budgets: [{ limit_credits: 1_000, window: 'month' }],
    });
    const messages = [{ role: 'user', content: 'Say hello.' }];
    const body = JSON.stringify({ model: 'mistral-breeze', messages, max_tokens: 40 });
    const headers = { ...withKey(key).headers, 'content-type': 'application/json' };
    const answer = await fetch(`${stage.box.url}/v1/chat/completions`, { method: 'POST', body, headers });
    expect([answer.status, (await answer.text()).length > 0]).toEqual([200, true]);
    const { series } = await waitFor(async () => {
      const traffic = JSON.parse(await (await stage.box.get(`/admin/traffic?by=key&key=${id}&step=day`)).text());
      return traffic.series.length > 0 && traffic.total.whole.credits > 0 ? traffic : null;
    });
    const page = await open('/keys');
    const row = page.getByRole('row', { name: /spending-app/ });
    const cells = (await row.locator('td').allTextContents()).map((text) => text.trim());
    const [spend = '', budget = ''] = cells.slice(-3);
    expect(Number(spend.slice(1))).toBeCloseTo(Number(series[0].whole.usd), 4);
    expect(budget).toMatch(/^\d[\d.]* %$/);
    expect(await axeFinds(page)).toEqual([]);
  });

  test('the budget that the policy gives to each key is in the detail of the key that uses it', async () => {
    const { id, key } = await made('/admin/keys', {
      name: 'trial-app',
      labels: { kind: 'trial' },
      budgets: [{ limit_credits: 1_000, window: 'month' }],
    });
    const body = JSON.stringify({
      model: 'mistral-breeze',
      messages: [{ role: 'user', content: 'Say hello.' }],
      max_tokens: 40,
    });
    const headers = { ...withKey(key).headers, 'content-type': 'application/json' };
    const answer = await fetch(`${stage.box.url}/v1/chat/completions`, { method: 'POST', body, headers });
    expect([answer.status, (await answer.text()).length > 0]).toEqual([200, true]);
    const page = await open(`/keys/${id}`);
    await panel(page).getByText('trial, of the policy').waitFor();
    expect(await panel(page).locator('.related > li strong').allInnerTexts()).toEqual([
      'Month',
      'trial, of the policy',
    ]);
  });

  test('a refused value is reported at its field, which gets the focus, and other input stays', async () => {
    const page = await open('/keys/new');
    await page.getByLabel('Name', { exact: true }).fill('half-made');
    const field = page.getByLabel('Requests a minute');
    await more(page).click();
    await field.fill('many');
    await more(page).click();
    expect(await field.isVisible()).toBe(false);
    await button(page, 'Create key').click();
    await page.locator('.field-error').waitFor();
    expect(await field.getAttribute('aria-invalid')).toBe('true');
    expect(await field.evaluate((input) => input === input.ownerDocument.activeElement)).toBe(true);
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('half-made');
    expect(await listed('/admin/keys?name=half-made')).toEqual([]);
  });

  test('when two people change a key at once, the second sees the first change, and both changes apply', async () => {
    const { id } = await made('/admin/keys', { name: 'shared', limits: { tokens_per_minute: 1_000 } });
    const page = await open(`/keys/${id}?edit=yes`);
    await page.getByLabel('Requests a minute').fill('60');
    const patch = { method: 'PATCH', body: JSON.stringify({ name: 'renamed', labels: { app: 'x' } }) };
    await (await stage.box.get(`/admin/keys/${id}`, patch)).text();
    await button(page, 'Save changes').click();
    const notice = page.locator('.form-moved');
    await notice.waitFor();
    expect(await notice.locator('dt').allTextContents()).toEqual(['name', 'labels']);
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('renamed');
    await button(page, 'Save changes').click();
    await panel(page).getByText('60 requests a minute').waitFor();
    const now = await shown(`/admin/keys/${id}`);
    expect([now.name, now.labels, now.limits]).toEqual([
      'renamed',
      { app: 'x' },
      { requests_per_minute: 60, tokens_per_minute: 1_000, concurrent_streams: null } as Row['limits'],
    ]);
  });

  deeply('is suspended at once, which can be undone, by the keyboard alone', async () => {
    const { id, key } = await made('/admin/keys', { name: 'agent' });
    const page = await open(`/keys/${id}`);
    await button(page, 'Suspend').focus();
    await page.keyboard.press('Enter');
    await page.getByText('agent is suspended.').waitFor();
    await waitFor(async () => (await statusWith(key)) === 403);
    await waitFor(async () => (await focusOf(page)) === 'Resume');
    await button(page, 'Undo').focus();
    await page.keyboard.press('Enter');
    await page.getByText('agent works again.').waitFor();
    await waitFor(async () => (await statusWith(key)) === 200);
    // The button that had the focus no longer exists.
    expect(await page.locator('body:focus').count()).toBe(0);
  });

  deeply('is revoked after a question that names it; Escape answers no, and leaves the detail open', async () => {
    const { id, key } = await made('/admin/keys', { name: 'old-app' });
    const page = await open(`/keys/${id}`);
    await button(page, 'Revoke').click();
    const question = page.getByRole('dialog', { name: 'Revoke old-app?' });
    await question.waitFor();
    expect(await question.textContent()).toContain('Within a second, requests with this key');
    await page.keyboard.press('Escape');
    await question.waitFor({ state: 'detached' });
    expect(await statusWith(key)).toBe(200);
    await waitFor(async () => (await focusOf(page)) === 'Revoke');
    await page.keyboard.press('Enter');
    await button(page, 'Revoke key').click();
    await panel(page).getByText('Revoked', { exact: true }).first().waitFor();
    await waitFor(async () => (await statusWith(key)) === 401);
    expect(await button(page, 'Revoke').count()).toBe(0);
    await waitFor(async () => (await focusOf(page)) === 'old-app');
  });

  deeply('is rotated: the new secret is shown once, and the old one works as long as was said', async () => {
    const { id, key } = await made('/admin/keys', { name: 'rotating' });
    const page = await open(`/keys/${id}`);
    await button(page, 'Rotate').click();
    await page.getByLabel('The old secret still works').selectOption({ label: 'not at all' });
    await button(page, 'Rotate key').click();
    await page.getByText('Copy the secret now.').waitFor();
    const secret = (await page.locator('.people-secret .copy-text').textContent()) ?? '';
    expect(await statusWith(secret)).toBe(200);
    await waitFor(async () => (await statusWith(key)) === 401);
  });

  deeply('shows the keys that it has made as a tree, and they lead on', async () => {
    const parent = await made('/admin/keys', { name: 'planner', scopes: ['chat', 'delegate'] });
    const child = (of: string, name: string, scopes: readonly string[]) =>
      fetch(`${stage.box.url}/v1/keys`, {
        method: 'POST',
        headers: { ...withKey(of).headers, 'content-type': 'application/json' },
        body: JSON.stringify({ name, scopes }),
      }).then(async (answer): Promise<Row> => JSON.parse(await answer.text()));
    const worker = await child(parent.key, 'worker', ['chat', 'delegate']);
    await child(worker.key, 'helper', ['chat']);
    const page = await open(`/keys/${parent.id}`);
    await button(page, 'Show child keys of worker').click();
    await panel(page).getByRole('link', { name: 'helper' }).click();
    await page.getByRole('heading', { name: 'helper' }).waitFor();
    await panel(page)
      .getByRole('link', { name: `Key ${worker.id}` })
      .waitFor();
  });

  deeply('is found by a part of its name, its state and a label, and the address brings the list back', async () => {
    await made('/admin/keys', { name: 'needle-in-hay', labels: { app: 'hay' } });
    const page = await open('/keys');
    await page.getByLabel('Name or ID').fill('NEEDLE');
    await page.getByLabel('State').selectOption({ label: 'Valid' });
    await page.getByLabel('Label', { exact: true }).fill('app=hay');
    const links = page.getByRole('table', { name: 'Keys' }).getByRole('link');
    await waitFor(async () => (await links.count()) === 1);
    await page.reload();
    await settled(page);
    expect(await links.allTextContents()).toEqual(['needle-in-hay']);
    await page.getByLabel('Label', { exact: true }).fill('hay');
    await page.locator('.field-error').waitFor();
    await button(page, 'Clear filters').click();
    await waitFor(async () => (await links.count()) > 1);
  });
});

describe('a team', () => {
  deeply('of the policy shows the line that declares it, its headroom, and no way to change it here', async () => {
    const [team] = await listed('/admin/teams?origin=policy');
    const page = await open(`/teams/${team?.id}`);
    const line = POLICY.split('\n').findIndex((text) => text.includes('name: search')) + 1;
    await panel(page).getByText(`line ${line}.`).waitFor();
    await panel(page).getByText('of $5.00').waitFor();
    expect(await panel(page).getByRole('button', { name: 'Remove' }).count()).toBe(0);
  });

  test('a person creates a team with terms for itself and its members, changes it, and removes it after a confirmation', async () => {
    const page = await open('/teams');
    await link(page, 'Create team').click();
    await page.getByLabel('Name', { exact: true }).fill('ads');
    await page.getByLabel('Streams at once').last().fill('3');
    await button(page, 'Create team').click();
    await panel(page).getByText('3 streams at once').waitFor();
    await link(page, 'Change').click();
    await page.getByRole('group', { name: 'Models' }).first().getByLabel('gpt-6-luna').check();
    await button(page, 'Save changes').click();
    await link(page, 'Change').waitFor();
    await panel(page).getByText('gpt-6-luna').waitFor();
    await button(page, 'Remove').click();
    await page.getByRole('dialog', { name: 'Remove team ads?' }).waitFor();
    await button(page, 'Remove team').click();
    await page.getByText('Team ads is removed.').waitFor();
    expect((await listed('/admin/teams')).map(({ name }) => name)).toEqual(['search']);
  });
});

test('an operator creates a person with a key, suspends, resumes and removes both', async () => {
  const page = await open('/members/new');
  await page.getByLabel('Name', { exact: true }).fill('Ada');
  await page.getByLabel('Email', { exact: true }).fill('ada@example.com');
  await page.getByLabel('Team').last().selectOption({ label: 'search' });
  await button(page, 'Create member').click();
  await panel(page).getByText('ada@example.com').waitFor();
  await panel(page).getByRole('link', { name: 'Create key' }).click();
  await page.getByLabel('Name', { exact: true }).fill('ada-laptop');
  await button(page, 'Create key').click();
  const secret = (await page.locator('.people-secret .copy-text').textContent()) ?? '';
  await panel(page).getByRole('link', { name: 'Ada' }).click();
  await button(page, 'Suspend').click();
  await page.getByText('Ada is suspended').waitFor();
  await waitFor(async () => (await statusWith(secret)) === 403);
  await button(page, 'Resume').click();
  await waitFor(async () => (await statusWith(secret)) === 200);
  await button(page, 'Remove').click();
  await button(page, 'Remove member').click();
  await page.getByText('Ada is removed.').waitFor();
  await waitFor(async () => (await statusWith(secret)) === 401);
});

deeply('a login is ended after a question, and this browser is named', async () => {
  await openConsole(stage, { role: 'auditor' });
  const page = await open('/logins');
  await page.getByText('This browser').waitFor();
  await button(page, 'End the login of Robin of auditor').click();
  await page.getByRole('dialog', { name: 'End the login of Robin of auditor?' }).waitFor();
  await button(page, 'End login').click();
  await page.getByText('The login of Robin of auditor has ended.').waitFor();
});

describe('the trail', () => {
  deeply('shows a change with both sides, the entries of one key alone, and the addresses in a link', async () => {
    const { id } = await made('/admin/keys', { name: 'first-name' });
    const patch = { method: 'PATCH', body: JSON.stringify({ name: 'second-name' }) };
    await (await stage.box.get(`/admin/keys/${id}`, patch)).text();
    const page = await open(`/keys/${id}`);
    await link(page, 'All entries').click();
    const rows = page.getByRole('table', { name: 'Trail' }).locator('tbody tr');
    await waitFor(async () => (await rows.count()) === 2);
    // The entry of the change stores only the ID of the key. The page shows the current name once it has read the names.
    const change = rows.first().locator('td, th').first();
    await waitFor(async () => (await change.textContent()) === `Changed key second-name ${id}`);
    expect(await rows.first().textContent()).toContain('installed (key)');
    await rows.first().getByRole('link').click();
    await panel(page).getByText('Before and after').waitFor();
    expect(await panel(page).locator('del').textContent()).toContain('first-name');
    expect(await panel(page).locator('ins').textContent()).toContain('second-name');
  });

  deeply('is verified and exported', async () => {
    const page = await open('/trail');
    await button(page, 'Verify trail').click();
    await page.getByText(/^The trail is intact: \d+ entries are unchanged/).waitFor();
    const [download] = await Promise.all([page.waitForEvent('download'), link(page, 'Export').click()]);
    const lines = (await Bun.file((await download.path()) ?? '').text()).trim().split('\n');
    expect(lines.length).toBeGreaterThan(5);
    expect(JSON.parse(lines[0] ?? '')).toHaveProperty('hash');
  });
});

describe('roles', () => {
  test('a member creates a key within their own terms, and the form offers nothing more', async () => {
    const page = await open('', 'member');
    expect(await page.getByRole('tab').allTextContents()).toEqual(['Teams', 'Members', 'Keys', 'Logins']);
    await link(page, 'Create key').click();
    expect(await page.getByLabel('Labels').count()).toBe(0);
    expect(await page.getByLabel('Team').count()).toBe(0);
    await page.getByLabel('Name', { exact: true }).fill('my-laptop');
    await button(page, 'Create key').click();
    const secret = (await page.locator('.people-secret .copy-text').textContent()) ?? '';
    expect(await statusWith(secret)).toBe(200);
    const [own] = await listed('/admin/keys?name=my-laptop');
    expect(own?.user).not.toBeNull();
    expect(await button(page, 'Suspend').count()).toBe(0);
    const names = await page.getByRole('table', { name: 'Keys' }).getByRole('link').allTextContents();
    expect(names).toEqual(['my-laptop']);
  });

  deeply('a lead sees its team alone, and changes its members', async () => {
    const page = await open('/members', 'lead');
    await page.getByText('Your team').waitFor();
    await link(page, 'Create member').click();
    await page.getByLabel('Name', { exact: true }).fill('Grace');
    await button(page, 'Create member').click();
    await panel(page).getByText('search', { exact: true }).first().waitFor();
    await page.goto(`${stage.box.url}/console/people/teams`);
    await settled(page);
    expect(await page.getByRole('table', { name: 'Teams' }).getByRole('link').allTextContents()).toEqual(['search']);
    expect(await link(page, 'Create team').count()).toBe(0);
  });

  deeply('finance reads, and has no button that changes', async () => {
    const { id } = await made('/admin/keys', { name: 'read-only' });
    const page = await open(`/keys/${id}`, 'finance');
    await panel(page).getByText('Last 14 days').waitFor();
    for (const name of ['Suspend', 'Rotate', 'Revoke']) expect(await button(page, name).count()).toBe(0);
    expect(await link(page, 'Change').count()).toBe(0);
    await page.goto(`${stage.box.url}/console/people/trail`);
    await page.getByText('Trail is not available to your role').waitFor();
  });
});

test.each(orDeeply([1_280], [390]))('every part and detail has no finding of axe and fits %p px', async (width) => {
  const { id } = await made('/admin/keys', { name: 'looked-at', budgets: [{ limit_credits: 5, window: 'day' }] });
  const [team] = await listed('/admin/teams');
  const more = ['/members', '/keys', `/keys/${id}`, '/logins', '/subjects'];
  const paths = orDeeply([`/keys/${id}?edit=yes`, `/teams/${team?.id}`, '/trail'], more);
  for (const path of paths) {
    const { page, faults } = await openConsole(stage, { path: `/people${path}`, width });
    expect([path, await axeFinds(page)]).toEqual([path, []]);
    expect([path, (await overflowOf(page)) > 0]).toEqual([path, false]);
    expect([path, [...faults]]).toEqual([path, []]);
  }
});
