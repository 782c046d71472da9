import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { serveFolder } from '../../../bench/console/base.ts';
import { answersIn, type ConsoleAnswers, generate } from '../../../bench/console/generate.ts';
import { dayTime, usd } from '../../../src/console/design/format.ts';
import { effort, isDeep } from '../../deep/effort.ts';
import { buildConsoleHere } from '../../support/console.ts';
import { type Signalbox, temporaryFolder } from '../../support/signalbox.ts';
import { type ConsoleStage, openConsole, openStage, settled } from './stage.ts';

/**
 * Five questions that a person who has only read the README answers with the console, starting at its first page. The right answers come
 * from the generator of the data. `CONSOLE_FOLDER=FOLDER` uses a folder that was generated earlier.
 */
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const { runs: decisions, proved } = effort('console', 20_000, 10_000_000);
const given = process.env.CONSOLE_FOLDER;

/**
 * The test has half an hour before figures of whole hours change. It looks at the last Thursday, because a weekend has too few requests to
 * say that a provider is slow.
 */
const LOOKED_AT = lastThursday(Math.floor(Date.now() / HOUR_MS) * HOUR_MS - HOUR_MS / 2);
const MINUTES_20 = 1_200_000;

/** The first day of 1970 was a Thursday. @returns the same time of the last Thursday that is over, or begun */
function lastThursday(time: number): number {
  return time - (Math.floor(time / DAY_MS) % 7) * DAY_MS;
}

async function folderOf(): Promise<{ folder: string; answers: ConsoleAnswers }> {
  const folder = given ?? temporaryFolder();
  if (existsSync(answersIn(folder))) return { folder, answers: JSON.parse(readFileSync(answersIn(folder), 'utf8')) };
  const size = isDeep ? { keys: 500, teams: 25 } : { keys: 60, teams: 6 };
  return { folder, answers: await generate({ folder, decisions, ...size, now: LOOKED_AT }) };
}

describe('of a month of traffic', () => {
  let [folder, answers, box]: [string, ConsoleAnswers, Signalbox] = ['', null!, null!];
  /** The clock of the folder, which advances in real time from the first use. */
  let now: () => number;
  beforeAll(
    async () => {
      buildConsoleHere();
      ({ folder, answers } = await folderOf());
      const begun = performance.now();
      now = () => answers.now + Math.floor(performance.now() - begun);
      box = await serveFolder(folder, { now });
      const { page } = await openConsole({ box });
      await page.clock.install({ time: now() });
    },
    isDeep ? 4 * HOUR_MS : 120_000,
  );
  afterAll(async () => {
    await box.stop();
    if (!given) rmSync(folder, { recursive: true, force: true });
    proved('the page answers each question as the generator does');
  });

  /** Errors of the page during the test. */
  let faults: readonly string[] = [];
  /** Opens the console as a person finds it after signing in. */
  async function open() {
    const opened = await openConsole({ box });
    faults = opened.faults;
    return opened;
  }
  afterEach(() => expect(faults).toEqual([]));

  const inUsd = (microcredits: number): string => usd((microcredits / 1e6) * 0.001).short;

  test('what did a team spend this week, and save?', async () => {
    const { page } = await open();
    await page.getByRole('link', { name: 'Money' }).click();
    await page.getByLabel('Time range').selectOption({ label: 'Last 7 days' });
    await page.getByLabel('By', { exact: true }).selectOption({ label: 'By team' });
    const { name, charged, saved } = answers.team;
    await page.getByRole('table', { name: 'Spend by team' }).getByText(name, { exact: true }).click();
    const panel = page.getByRole('complementary', { name: `Team ${name}` });
    const compared = `${inUsd(Math.abs(saved))} ${saved < 0 ? 'more' : 'less'} than the`;
    await panel.getByText(`${inUsd(charged)} in the last 7 days, ${compared}`).waitFor();
  });

  test('why did this request go to that model?', async () => {
    const { page } = await open();
    const { id, model, reason, keyName } = answers.decision;
    await page.getByRole('link', { name: 'Requests' }).click();
    await page.getByLabel('Time range').selectOption({ label: 'Last 24 hours' });
    await page.getByLabel('Key', { exact: true }).selectOption({ label: keyName });
    await settled(page);
    await page.locator(`a[href*="${id}"]`).first().click();
    const why = page.getByRole('region', { name: 'Why' });
    await why.getByText(`It went to ${model}.`).waitFor();
    expect(await page.getByRole('region', { name: 'Facts' }).textContent()).toContain(reason);
  });

  test('which budget runs out first, and when?', async () => {
    const { page } = await open();
    const { name } = answers.budget;
    const heading = await page.getByRole('heading', { name: /Budget .* will be empty first/ }).textContent();
    expect(heading).toContain(`Budget “${name}” will be empty first`);
    // The forecast also knows the last 24 hours, so the server says when, and not the average of the generator.
    const shown = await page.evaluate(async (budget) => {
      const { funds } = (await (await fetch('/admin/ledger')).json()) as {
        funds: { name: string; runs_out_at: string }[];
      };
      return funds.find((fund) => fund.name === budget)?.runs_out_at ?? '';
    }, name);
    const runsOutAt = Date.parse(shown);
    const days = [runsOutAt - MINUTES_20, runsOutAt + MINUTES_20].map(dayTime);
    if (runsOutAt - now() > 13 * HOUR_MS) expect(days.some((day) => heading?.includes(day))).toBe(true);
  });

  test('which provider is slow today?', async () => {
    const { page } = await open();
    await page.getByLabel('Time range').selectOption({ label: 'Last 24 hours' });
    await page.getByText(new RegExp(`Provider ${answers.slowProvider} is slow`)).waitFor();
    await page
      .getByRole('heading', { name: new RegExp(`${answers.slowProvider} is slow, with`) })
      .first()
      .waitFor();
  });

  test('which key spends far more than before, and on what?', async () => {
    const { page } = await open();
    const { name, model } = answers.key;
    await page.getByRole('link', { name: 'Money' }).click();
    await page.getByLabel('Time range').selectOption({ label: 'Last 7 days' });
    await page.getByRole('heading', { name: new RegExp(`^Key ${name} `) }).waitFor();
    await page.getByRole('table', { name: 'Spend by key' }).getByText(name, { exact: true }).click();
    const panel = page.getByRole('complementary', { name: `Key ${name}` });
    await panel.getByRole('heading', { name: new RegExp(`^Mostly on ${model}`) }).waitFor();
  });
});

describe('the pages of an empty installation say what they will show', () => {
  let stage: ConsoleStage;
  beforeAll(async () => {
    stage = await openStage(0);
  });
  afterAll(() => stage.stop());

  for (const { path, says } of [
    { path: '', says: ['No requests in the last hour', 'At this rate, no budget will be empty before it renews.'] },
    { path: '/requests', says: ['No requests in this period'] },
    { path: '/money', says: ['No spend in the last hour', 'No spend by key yet'] },
    { path: '/money?by=team', says: ['No spend by team yet'] },
  ]) {
    test(`at /console${path}`, async () => {
      const { page, faults } = await openConsole(stage, { path });
      for (const text of says) await page.getByText(text).first().waitFor();
      expect(faults).toEqual([]);
    });
  }
});
