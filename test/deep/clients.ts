import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { blocksOf } from '../support/page-blocks.ts';
import { temporaryFolder } from '../support/signalbox.ts';
import type { ClientLanguage } from '../system/clients/languages/language.ts';
import { LANGUAGES, missingTools } from '../system/clients/languages/languages.ts';
import { checksIn, runProgram, sumOfUsage } from '../system/clients/languages/runs.ts';
import { type ClientStage, startClientStage } from '../system/clients/languages/stage.ts';
import { readVersions } from '../system/clients/languages/versions.ts';
import { effort } from './effort.ts';

/**
 * `npm run test:deep -- clients`: clients in other languages, installed from their registries, with a running Signalbox server.
 * `CLIENTS=Python,Rust` selects languages, and `CLIENTS=openai` selects clients.
 */
const { proved, provedPart } = effort('clients', 1, 1);
const INSTALL_MS = 1_800_000;
const chosen = process.env.CLIENTS?.split(',');
const isChosen = (...names: readonly string[]) => chosen === undefined || names.some((name) => chosen.includes(name));

const { languages: versions } = readVersions();
const scratch = temporaryFolder();
const rows: string[] = [];
const skipped: string[] = [];
let stage: ClientStage;
beforeAll(async () => {
  stage = await startClientStage();
});
afterAll(async () => {
  await stage?.stop();
  rmSync(scratch, { recursive: true, force: true });
});

for (const language of LANGUAGES) {
  const clients = language.clients.filter(({ name }) => isChosen(name, language.name));
  if (clients.length === 0) continue;
  const missing = missingTools(language);
  if (missing.length > 0) {
    const line = `${language.name} is skipped: this machine has no ${missing.join(' and no ')}`;
    console.log(line);
    skipped.push(line);
  } else describe(language.name, () => testsOf(language, clients));
}

test('the summary names each client and each language that was skipped', () => {
  for (const line of skipped) rows.push(`| ${line} | | | |`);
  const table = [
    '| client | version | checks | usage that equals `GET /v1/usage` |',
    '| --- | --- | --- | --- |',
    ...rows,
  ];
  console.log(table.join('\n'));
  const clients = rows.length - skipped.length;
  expect(clients).toBeGreaterThan(0);
  const what = [`${clients} clients did what their pages say, and saw the usage that was charged`, ...skipped].join(
    '; ',
  );
  if (chosen === undefined) proved(what, table.join('\n'));
  else provedPart();
});

function testsOf(language: ClientLanguage, clients: ClientLanguage['clients']): void {
  const folder = join(scratch, language.name);
  const projects = versions[language.name] ?? {};
  beforeAll(async () => {
    mkdirSync(folder);
    await language.install(folder, projects, clients);
  }, INSTALL_MS);

  for (const client of clients)
    test(`${client.name} works, and reports the usage that its key is charged for`, async () => {
      const environment = await stage.environmentOf(client.name);
      const { code, out, err } = await runProgram(language.command(folder, client), { ...environment });
      expect({ code, out: code === 0 ? '' : out, err: code === 0 ? '' : err }).toEqual({ code: 0, out: '', err: '' });
      const checks = checksIn(out);
      expect(checks).not.toBeEmpty();
      const { credits, ...figures } = sumOfUsage(checks);
      const charged = await stage.usageOf(environment.SIGNALBOX_KEY);
      expect({ ...charged, ...figures, credits: credits ?? charged.credits }).toEqual(charged);
      const version = projects[client.project]?.[client.name] ?? '';
      const sums = figures.calls === 0 ? '' : `${figures.calls} calls, ${figures.input} + ${figures.output} tokens`;
      rows.push(
        `| ${client.name} (${language.name}) | ${version} | ${checks.map(({ check }) => check).join('; ')} | ${sums} |`,
      );
    }, 600_000);

  if (isChosen(language.name))
    for (const [at, { text, words }] of blocksOf(language.page)
      .filter((block) => block.language === language.fence)
      .entries())
      test.skipIf(words.includes('skip'))(
        `block ${at + 1} of ${language.page} runs`,
        async () => {
          const environment = await stage.environmentOf(`page ${language.name} ${at + 1}`);
          const served = text.replaceAll('http://127.0.0.1:8787', stage.shipped.url);
          const { code, out, err } = await runProgram(await language.snippet(folder, served, at), { ...environment });
          expect({ code, err: code === 0 ? '' : err, text }).toEqual({ code: 0, err: '', text });
          expect(out.trim(), text).not.toBeEmpty();
          expect((await stage.usageOf(environment.SIGNALBOX_KEY)).calls, text).toBeGreaterThan(0);
        },
        600_000,
      );
}
