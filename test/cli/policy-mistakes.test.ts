import { afterAll, describe, expect, test } from 'bun:test';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { shipped } from '../../plugins/index.ts';
import { GOLDEN } from '../policy/golden.ts';
import { ERRORS, eyes, FACTS, guard, PRESIDIO, provider, QUALITY, WARNINGS } from '../policy/trials.ts';
import { runHere } from '../support/run-here.ts';
import { temporaryFolder, writePolicy } from '../support/signalbox.ts';

const BASE = readFileSync(join(GOLDEN, 'base.yaml'), 'utf8').replace('tools, vision', 'tools');
const NOW = () => Date.parse('2026-10-08T12:00:00Z');
const ENV = { OPS_WEBHOOK_URL: 'http://10.0.0.5/hook' };

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

async function check(text: string) {
  const folder = writePolicy({ 'base.yaml': BASE, 'p.yaml': text });
  folders.push(folder);
  return runHere(['policy', 'check', folder], ENV, '', NOW);
}

describe('signalbox policy check', () => {
  test.each(Object.entries(ERRORS))('%s: the message has the line to write, which is right', async (_, mistake) => {
    const { code, out } = await check(mistake.wrong);
    expect([code, out]).toEqual([2, expect.stringContaining(mistake.line)]);
    expect((await check(mistake.fixed)).out).toContain('nothing wrong');
  });

  test.each(Object.entries(WARNINGS))('%s: a warning has the line to write, which is right', async (_, mistake) => {
    const { code, out } = await check(mistake.wrong);
    expect([code, out]).toEqual([0, expect.stringMatching(/2 files.* 1 warning/)]);
    expect(out).toContain(mistake.line);
    expect((await check(mistake.fixed)).out).toContain('nothing wrong');
  });

  test('an envelope of Kubernetes is reported once', async () => {
    const { out } = await check('apiVersion: v1\nkind: Policy\nmetadata: { name: mine }\nspec: {}\n');
    expect(out).toMatch(/2 files, 1 error\b/);
  });

  test('a private address is reported beside errors, also while a variable of the service is not set', async () => {
    const service = (more: string) => guard(`${PRESIDIO}, service: { url: "http://localhost:5002"${more} }`);
    for (const text of [
      service(', api_key_env: ABSENT_KEY'),
      provider(', headers: {}').replace('https://own.example', 'http://own.svc'),
    ])
      expect((await check(text)).out).toContain('add `allow_private_network: true`');
  });

  test('the settings of every shipped guard are named with their place if they are beside `guard`', async () => {
    const settings = shipped.flatMap((plugin) =>
      plugin.kind === 'guard' ? Object.keys(plugin.settings.properties).map((key) => [plugin.name, key] as const) : [],
    );
    // Other sections call a condition `match`, so beside `guard` it means `when`.
    const unique = settings.filter(([, key]) => key !== 'match');
    expect(unique.length).toBeGreaterThan(8);
    const text = unique.map(([name, key], at) => `  - { name: g${at}, guard: ${name}, on_match: block, ${key}: x }\n`);
    const { out } = await check(`guards:\n${text.join('')}`);
    for (const [, key] of unique) expect(out).toContain(`write \`settings: { ${key}: x }\``);
  });

  test('`users:` and `keys:` lead to the commands', async () => {
    const { out } = await check('users: [{ name: ada }]\nkeys: [{ name: app }]\n');
    expect(out).toContain('signalbox users create --name NAME --email ADDRESS');
    expect(out).toContain('signalbox keys create --name NAME');
  });

  test('a folder `policies` that is not the checked one is named, with both commands', async () => {
    const home = temporaryFolder();
    folders.push(home);
    mkdirSync(join(home, 'policies'));
    writeFileSync(join(home, 'policies', 'mine.yaml'), BASE);
    const before = process.cwd();
    process.chdir(home);
    try {
      const { out, code } = await runHere(['policy', 'check'], {}, '', NOW);
      expect(code).toBe(0);
      expect(out).toMatch(/Not read: \S+policies \(.*policy check \S+policies.*serve --policies \S+policies/);
      expect((await runHere(['policy', 'check', 'policies'], {}, '', NOW)).out).not.toContain('Not read');
      expect((await runHere(['policy', 'check', '--strict'], {}, '', NOW)).code).toBe(2);
    } finally {
      process.chdir(before);
    }
  });
});

test('`uncounted-images` judges the models that can be served here', async () => {
  const cloud =
    'providers:\n  far: { adapter: openai-compatible, base_url: "https://far.example/v1", api_key_env: FAR_KEY }\n';
  const seeing = `  far-eyes: { ${FACTS.replace('sim', 'far')}, ${QUALITY}, capabilities: [vision], image_tokens_max: 900 }\n`;
  expect((await check(`${cloud}${eyes('').replace('budgets:', `${seeing}budgets:`)}`)).out).toContain(
    'write `image_tokens_max: N` in `mine`',
  );
});

test('`serve --policy` leads to `--policies`', async () => {
  expect((await runHere(['serve', '--policy', 'mine'])).err).toContain('--policies FOLDER');
});

test('`serve --config` leads to `--policies` and to the import', async () => {
  const { err } = await runHere(['serve', '--config', 'config.yaml']);
  expect(err).toContain('--policies FOLDER');
  expect(err).toContain('signalbox import litellm FILE');
});
