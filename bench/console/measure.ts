import { readFileSync } from 'node:fs';
import type { OpenStore } from '../../src/store/driver.ts';
import { buildConsoleHere } from '../../test/support/console.ts';
import type { Signalbox } from '../../test/support/signalbox.ts';
import { openConsole, settled } from '../../test/system/console/stage.ts';
import { closeBrowser } from '../../test/system/support/browser.ts';
import { median, table } from '../stats.ts';
import { serveFolder } from './base.ts';
import { answersIn, type ConsoleAnswers } from './generate.ts';

/** A page that a person opens, with its filters. */
interface OpenedPage {
  readonly view: string;
  readonly path: string;
}

/** The requests that a page makes when it opens, and the duration of each in ms. */
interface PageTimes {
  readonly page: OpenedPage;
  readonly requests: readonly { readonly address: string; readonly times: readonly number[] }[];
}

export const AIM_MS = 200;
const RUNS = 9;
const RANGES = ['24h', '7d', '30d', '90d'] as const;

/** Returns the pages with the most expensive filters: rare filters, and several filters together. */
function pagesOf(
  { decision, key, slowProvider }: ConsoleAnswers,
  { team, user, endpoint }: FirstOf,
): readonly OpenedPage[] {
  const ranged = (view: string, path: string): OpenedPage[] =>
    RANGES.map((range) => ({
      view: `${view}, ${range}`,
      path: `${path}${path.includes('?') ? '&' : '?'}range=${range}`,
    }));
  return [
    ...ranged('Overview', ''),
    ...ranged('Overview by provider', '?by=provider&measure=ttft'),
    ...ranged('Requests', '/requests'),
    ...ranged('Requests of a key', `/requests?key=${key.id}`),
    ...ranged('Requests that failed, of a model', '/requests?status=failed&model=swift-mini'),
    ...ranged('Requests of a label', '/requests?label=use%3Dbatch&status=abandoned'),
    { view: 'Request', path: `/requests/${decision.id}` },
    { view: 'Playground', path: '/playground' },
    { view: 'Policies', path: '/policies' },
    { view: 'People: teams', path: '/people/teams' },
    { view: 'People: a team', path: `/people/teams/${team}` },
    { view: 'People: members', path: '/people/members' },
    { view: 'People: a member', path: `/people/members/${user}` },
    { view: 'People: keys', path: '/people/keys' },
    { view: 'People: a key', path: `/people/keys/${key.id}` },
    { view: 'People: logins', path: '/people/logins' },
    { view: 'People: trail', path: '/people/trail' },
    ...['key', 'team', 'user', 'model', 'provider', 'task', 'label%3Ause'].flatMap((by) =>
      ranged(`Money by ${by.split('%')[0]}`, `/money?by=${by}`),
    ),
    ...ranged('Money: a key', `/money?open=${key.id}`),
    ...ranged('Money: a team', `/money?by=team&open=${team}`),
    ...ranged('Money: a model', `/money?by=model&open=${key.model}`),
    ...['key', 'team', 'user', 'label%3Ause'].map((by) => ({
      view: `Money: months by ${by.split('%')[0]}`,
      path: `/money?tab=months&by=${by}`,
    })),
    { view: 'Money: budgets', path: '/money?tab=budgets' },
    { view: 'Money: payments', path: '/money?tab=payments' },
    ...ranged('Fleet', '/fleet'),
    ...ranged(`Fleet: ${slowProvider}`, `/fleet?open=${encodeURIComponent(endpoint)}`),
  ];
}

/** The IDs of the first entries of lists. */
interface FirstOf {
  readonly team: string;
  readonly user: string;
  /** An endpoint of the slow provider, as URLs of the console name it. */
  readonly endpoint: string;
}

interface Listed {
  readonly data: readonly {
    readonly id: string;
    readonly provider: string;
    readonly model: string;
    readonly upstream: string;
  }[];
}

async function firstOf(box: Signalbox, { slowProvider }: ConsoleAnswers): Promise<FirstOf> {
  const list = async (path: string) => ((await (await box.get(path)).json()) as Listed).data;
  const [[team], [user], endpoints] = await Promise.all([
    list('/admin/teams?limit=1'),
    list('/admin/users?limit=1'),
    list('/admin/endpoints'),
  ]);
  const slow = endpoints.find(({ provider }) => provider === slowProvider);
  if (!team || !user || !slow) throw new Error('the folder lacks a team, a user or its slow provider');
  return { team: team.id, user: user.id, endpoint: [slow.provider, slow.model, slow.upstream].join('/') };
}

interface MeasureOptions {
  readonly folder: string;
  /** A part of the names of the pages; empty for all pages. */
  readonly only: string;
  /** The store for a server in this process; if null, a separate server process serves the folder. */
  readonly openStore: (() => Promise<OpenStore>) | null;
}

/** Opens every page of a generated folder in a browser, records its requests, and sends the same requests again to measure them. */
export async function measure(
  { folder, only, openStore }: MeasureOptions,
  onPage: (page: PageTimes) => void,
): Promise<readonly PageTimes[]> {
  buildConsoleHere();
  const answers: ConsoleAnswers = JSON.parse(readFileSync(answersIn(folder), 'utf8'));
  const box = await serveFolder(folder, openStore ? { openStore } : { isProcess: true });
  try {
    const measured: PageTimes[] = [];
    for (const page of pagesOf(answers, await firstOf(box, answers)).filter(({ view }) => view.includes(only))) {
      const addresses = await addressesOf(box, page);
      const times: number[][] = addresses.map(() => []);
      for (let run = 0; run < RUNS; run++) {
        for (const [at, address] of addresses.entries()) times[at]!.push(await timeOf(box, address));
      }
      measured.push({ page, requests: addresses.map((address, at) => ({ address, times: times[at]! })) });
      onPage(measured.at(-1)!);
    }
    return measured;
  } finally {
    await closeBrowser();
    await box.stop();
  }
}

/** Returns the requests that a page makes when it opens. */
async function addressesOf(box: Signalbox, { path }: OpenedPage): Promise<readonly string[]> {
  const { page } = await openConsole({ box }, {});
  const seen = new Set<string>();
  const note = (request: { url(): string; method(): string }) => {
    const { pathname, search } = new URL(request.url());
    if (pathname.startsWith('/admin/') && pathname !== '/admin/events' && request.method() === 'GET')
      seen.add(pathname + search);
  };
  page.on('request', note);
  await page.goto(`${box.url}/console${path}`);
  // Even a view that loads too slowly has sent its requests when this wait ends.
  await settled(page).catch(() => {});
  await page.waitForLoadState('networkidle').catch(() => {});
  page.off('request', note);
  return [...seen];
}

async function timeOf(box: Signalbox, address: string): Promise<number> {
  const begun = performance.now();
  const answer = await box.get(address);
  await answer.arrayBuffer();
  const ms = performance.now() - begun;
  if (!answer.ok && answer.status !== 404) throw new Error(`${address} was answered with ${answer.status}`);
  return ms;
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Returns the row of a page: its requests, the sum of their medians, and its slowest request. */
export function rowOf({ page, requests }: PageTimes): readonly string[] {
  const medians = requests.map(({ times }) => median(times));
  const worst = requests.map(({ times }) => Math.max(...times));
  const slowest = requests[medians.indexOf(Math.max(...medians))];
  return [
    page.view,
    String(requests.length),
    sum(medians).toFixed(0),
    Math.max(0, ...medians).toFixed(0),
    Math.max(0, ...worst).toFixed(0),
    slowest ? `\`${slowest.address.split('?')[0]}\`` : '',
  ];
}

export const tableOf = (pages: readonly PageTimes[]): string =>
  table([
    ['view', 'requests', 'sum of medians, ms', 'slowest median, ms', 'worst, ms', 'slowest request'],
    ...pages.map(rowOf),
  ]);
