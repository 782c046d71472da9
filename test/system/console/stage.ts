import axe from 'axe-core';
import type { Locator, Page } from 'playwright-core';
import { buildConsoleHere } from '../../support/console.ts';
import { CLIENT_SECRET, startIssuer, type TestIssuer } from '../../support/issuer.ts';
import { type Signalbox, startSignalbox } from '../../support/signalbox.ts';
import { newPage } from '../support/browser.ts';

/** The roles that tests use in the console. `owner` signs in with a key, and all other roles sign in with OpenID. */
export type ConsoleRole = 'owner' | 'admin' | 'finance' | 'auditor' | 'lead' | 'member';

/** A gateway with a console, an issuer where people of every role can sign in, and some traffic. */
export interface ConsoleStage {
  readonly box: Signalbox;
  readonly issuer: TestIssuer;
  stop(): Promise<void>;
}

const model = (provider: string, input: number, quality: number, ttft: number) => `
    provider: ${provider}
    price: { input: ${input}, output: ${input * 4}, as_of: 2026-11-01, basis: own }
    context_window: 32768
    max_output: 256
    latency: { ttft_ms: ${ttft}, output_tokens_per_second: 20000, basis: guessed }
    quality: { default: ${quality}, basis: guessed }`;

const ROLES = ['admin', 'finance', 'auditor', 'lead', 'member'] as const;

/** A policy with two providers, three models, a budget that is nearly spent and one that is not. */
export const CONSOLE_POLICY = `version: 1
providers: { north: { adapter: simulated }, south: { adapter: simulated } }
models:
  gpt-6-luna:${model('north', 1_000, 0.8, 4)}
  claude-mirror-4:${model('south', 3_000, 0.9, 8)}
  mistral-breeze:${model('north', 100, 0.5, 2)}
baseline: claude-mirror-4
teams:
  - name: search
budgets:
  - { name: day, limit_credits: 6000, window: day }
  - { name: month, limit_credits: 50000, window: month }
gateway: { failed_auth_per_minute: 1000000, keyless_per_minute: 1000000 }
`;

const signInText = (issuer: string) => `
sign_in:
  issuer: ${issuer}
  client_id: signalbox
  client_secret_env: OIDC_SECRET
  scopes: [openid, profile, email, groups, offline_access]
  roles:
${ROLES.map((role) => `    - { when: '"${role}" in claims.groups', role: ${role}${role === 'lead' || role === 'member' ? ', team: search' : ''} }`).join('\n')}
`;

/**
 * Starts a gateway with the built console.
 * @param requests how many requests it answers first
 * @param files files of the policy in addition to `policy.yaml`
 * @param now its clock, ms since 1970
 * @param env keys of providers
 */
export async function openStage(
  requests = 24,
  policy = CONSOLE_POLICY,
  files: Readonly<Record<string, string>> = {},
  now: () => number = Date.now,
  env: Readonly<Record<string, string>> = {},
): Promise<ConsoleStage> {
  buildConsoleHere();
  const issuer = await startIssuer();
  const policies = { ...files, 'policy.yaml': policy + signInText(issuer.url) };
  const box = await startSignalbox({ now, policy: policies, env: { ...env, OIDC_SECRET: CLIENT_SECRET } });
  issuer.register(box.url);
  for (const role of ROLES) {
    issuer.people.set(role, { name: `Robin of ${role}`, email: `${role}@example.com`, groups: [role] });
  }
  await traffic(box, requests);
  return { box, issuer, stop: () => Promise.all([closePages(box), box.stop(), issuer.stop()]).then(() => {}) };
}

const MODELS = ['gpt-6-luna', 'claude-mirror-4', 'mistral-breeze', 'auto'];

/** Sends requests to every model, streamed and not, and a few that fail. */
export async function traffic(box: Pick<Signalbox, 'post'>, count: number): Promise<void> {
  for (let at = 0; at < count; at++) {
    const messages = [{ role: 'user', content: `Write ${at} words about signals. ${'More. '.repeat(at * 4)}` }];
    const body = { model: at % 8 === 7 ? 'nowhere' : MODELS[at % 4], messages, max_tokens: 40, stream: at % 2 === 0 };
    await (await box.post('/v1/chat/completions', body)).text();
  }
}

/** The paths of the views under the console. */
export const VIEW_PATHS = ['', '/playground', '/requests', '/policies', '/people', '/money', '/fleet'] as const;

interface OpenOptions {
  /** The path under the console, with its query. */
  readonly path?: string;
  readonly theme?: 'light' | 'dark';
  /** The width of the window, px. */
  readonly width?: number;
  readonly role?: ConsoleRole;
}

/** A page of the console, with the errors that occurred in it. */
export interface OpenedConsole {
  readonly page: Page;
  /** Browser warnings and errors, script errors and violations of the page's content security policy. */
  readonly faults: readonly string[];
}

/** Each role of a gateway has its own page with its own cookies. */
const opened = new WeakMap<Signalbox, Map<ConsoleRole, Promise<OpenedConsole & { readonly faults: string[] }>>>();

/** Closes the pages of a gateway that stops; open pages would continue to poll it. */
async function closePages(box: Signalbox): Promise<void> {
  const pages = await Promise.all(opened.get(box)?.values() ?? []);
  await Promise.all(pages.map(({ page }) => page.context().close()));
}

/** Opens the console for a signed-in person of a role. */
export async function openConsole(
  { box }: Pick<ConsoleStage, 'box'>,
  { path = '', theme = 'light', width = 1_280, role = 'owner' }: OpenOptions = {},
): Promise<OpenedConsole> {
  const pages = opened.get(box) ?? new Map();
  opened.set(box, pages);
  const opening = pages.get(role) ?? signedIn(box, role);
  pages.set(role, opening);
  const console = await opening;
  await console.page.setViewportSize({ width, height: 900 });
  await console.page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
  console.faults.length = 0;
  await console.page.goto(`${box.url}/console${path}`);
  await settled(console.page);
  return console;
}

/** Waits until the view is shown and all its requests are answered. */
export async function settled(page: Page): Promise<void> {
  await page.locator('main h1').first().waitFor();
  await page.locator('main .skeletons').first().waitFor({ state: 'detached' });
  // The gateway runs only one policy tool at a time for each person, so the next page would get a refusal.
  await page.getByText('Checking …').first().waitFor({ state: 'detached' });
}

async function signedIn(box: Signalbox, role: ConsoleRole): Promise<OpenedConsole & { readonly faults: string[] }> {
  const page = await newPage();
  const faults: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') faults.push(message.text());
  });
  page.on('pageerror', ({ message }) => faults.push(message));
  await page.goto(`${box.url}/console`);
  if (role === 'owner') {
    await page.locator('input[type=password]').fill(box.key);
    await page.locator('button[type=submit]').click();
  } else {
    await page.getByRole('link', { name: 'Continue with' }).click();
    await page.locator('input[name=login]').fill(role);
    await page.locator('input[name=password]').fill('x');
    await page.locator('button[type=submit], input[type=submit]').first().click();
  }
  await page.locator('.rail').waitFor();
  return { page, faults };
}

/** Returns the findings of axe: the rule and the elements. */
export async function axeFinds(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  const found: unknown = await page.evaluate(
    // Passed checks are not requested, because listing their elements takes longer than all rules.
    'axe.run({ resultTypes: ["violations"], selectors: false }).then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ": " + html.slice(0, 200) + " " + failureSummary)))',
  );
  return Array.isArray(found) ? found.map(String) : [`axe answered ${String(found)}`];
}

/** Returns the charts without a table of the same figures, or without a sentence above. */
export const chartsWithoutTwin = (page: Page): Promise<readonly string[]> =>
  page.locator('.chart').evaluateAll((charts) =>
    charts
      .filter((chart) => {
        const rows = chart.querySelectorAll('table tbody tr').length;
        return rows === 0 || !/\s.*\.$/.test(chart.querySelector('h2, h3')?.textContent ?? '');
      })
      .map((chart) => chart.outerHTML.slice(0, 200)),
  );

/** Returns how much wider the page is than its window, px. */
export const overflowOf = (page: Page): Promise<number> =>
  page.locator('html').evaluate((html) => html.scrollWidth - html.clientWidth);

/** Returns pairs of neighbouring cells whose contents overlap, in tables that are not shown as cards. */
export const cellsThatOverlap = (tables: Locator): Promise<readonly string[]> =>
  tables.evaluateAll((found) =>
    found.flatMap((table) =>
      [...table.querySelectorAll('tr')].flatMap((row) => {
        const contents = [...row.children].map((cell) => {
          const range = cell.ownerDocument.createRange();
          range.selectNodeContents(cell);
          return { text: cell.textContent ?? '', box: range.getBoundingClientRect() };
        });
        return contents.slice(1).flatMap(({ text, box }, at) => {
          const before = contents[at];
          return before && box.width > 0 && before.box.right > box.left ? [`${before.text} over ${text}`] : [];
        });
      }),
    ),
  );

/** Returns the names of the elements that Tab reaches, in order, from the top of the page. */
export async function tabOrder(page: Page, steps: number): Promise<readonly string[]> {
  await page.locator('body').press('Home');
  const names: string[] = [];
  for (let step = 0; step < steps; step++) {
    await page.keyboard.press('Tab');
    names.push(
      await page
        .locator(':focus')
        .evaluate((focus) => (focus.getAttribute('aria-label') ?? focus.textContent ?? '').trim().slice(0, 60)),
    );
  }
  return names;
}

/** Presses Tab until the element with this name has the focus. @param steps the most presses */
export async function tabTo(page: Page, name: string | RegExp, steps = 80): Promise<void> {
  const passed: string[] = [];
  for (let step = 0; step < steps; step++) {
    await page.keyboard.press('Tab');
    const focused = await page.evaluate(`(() => {
      const focus = document.activeElement;
      const labels = [...(focus.labels ?? [])].map((label) => label.textContent).join(' ');
      return (focus.getAttribute('aria-label') || labels || focus.textContent || '').trim();
    })()`);
    const text = String(focused);
    if (typeof name === 'string' ? text === name : name.test(text)) return;
    passed.push(text.slice(0, 40));
  }
  throw new Error(`Tab does not reach ${name}, but ${passed.join(' | ')}`);
}
