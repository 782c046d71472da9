import { describe, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '../../support/answers.ts';
import { startFakeUpstream } from '../../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../../support/policies.ts';
import {
  cleanEnvironment,
  PROGRAM,
  runToEnd,
  type Signalbox,
  startSignalbox,
  temporaryFolder,
  writePolicy,
} from '../../support/signalbox.ts';
import { textOf } from './manifests.ts';
import { chat as chatWith, stopWell, useFolders } from './stand.ts';

const PATIENCE = 30_000;

const { atEnd } = useFolders();

const PAGE = join(import.meta.dir, '../../../docs/operate/backup-upgrade.md');

/** Returns the commands of a section of the page, one block each. */
function commandsOf(heading: string): string[] {
  const section =
    readFileSync(PAGE, 'utf8')
      .split(`\n## ${heading}\n`)[1]
      ?.split(/\n##+ /)[0] ?? '';
  return [...section.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, commands = '']) => commands);
}

/** A machine on which the page's paths are under `root`, and `signalbox` is this program. */
function machine(root: string, policies: string) {
  for (const folder of ['bin', 'backups', 'etc']) mkdirSync(join(root, folder));
  symlinkSync(PROGRAM, join(root, 'bin/signalbox'));
  symlinkSync(policies, join(root, 'etc/policies'));
  const here = (commands: string): string =>
    commands
      .replaceAll('/var/lib/', `${root}/`)
      .replaceAll('/backups/', `${root}/backups/`)
      .replaceAll('/etc/signalbox/', `${root}/etc/`);
  const path = `${join(root, 'bin')}:${cleanEnvironment({}).PATH}`;
  return { here, env: { ...UPSTREAM_ENV, PATH: path } };
}

interface Books {
  readonly held_credits: number;
  readonly charged_credits: number;
  readonly funds: readonly { readonly name: string; readonly subject: string; readonly spent_credits: number }[];
}

const booksOf = async (box: Pick<Signalbox, 'get'>): Promise<Books> =>
  (await (await box.get('/admin/ledger')).json()) as Books;

const spentOf = ({ funds }: Books): string[] =>
  funds.map(({ name, subject, spent_credits }) => `${name} ${subject} ${spent_credits}`).sort();

const chat = (box: Signalbox, key = box.key) => chatWith(box, { headers: { authorization: `Bearer ${key}` } });

describe('the page’s own commands', () => {
  test(
    'copy a server under traffic, and a server on the copy continues from that moment with the same keys, budgets and balances',
    async () => {
      const root = temporaryFolder();
      const upstream = startFakeUpstream({ key: UPSTREAM_KEY });
      const budgets = 'budgets: [{ name: each, each: key, limit_credits: 1000, window: total }]\n';
      const models = { best: { endpoints: ['first'], price: { input: 0.7, output: 3.3 } } };
      const policies = writePolicy(testPolicy({ first: upstream.url }, models, budgets));
      atEnd(() => [root, policies].map((folder) => rmSync(folder, { recursive: true, force: true })));
      atEnd(() => upstream.stop());
      const { here, env } = machine(root, policies);
      const [copying = '', restoring = '', starting = ''] = commandsOf('Restore').length
        ? [...commandsOf('Back up'), ...commandsOf('Restore')]
        : [];

      const data = join(root, 'signalbox');
      const box = await startSignalbox({ data, env: UPSTREAM_ENV, args: ['--policies', policies] });
      atEnd(() => box.stop());
      const made = await box.run('keys', 'create', '--name', 'prepaid');
      const prepaid = made.out.split('\n')[0] ?? '';
      expect((await box.run('keys', 'grant', prepaid.split('_')[2] ?? '', '500')).code).toBe(0);
      await waitFor(async () => (await chat(box, prepaid)).status === 200);

      let stop = false;
      const traffic = [box.key, prepaid].map(async (key) => {
        for (; !stop; ) expect((await chat(box, key)).status).toBe(200);
      });
      const copied = await runToEnd(['sh', '-ec', here(copying)], env);
      stop = true;
      await Promise.all(traffic);
      expect(copied).toMatchObject({ code: 0, err: '', out: expect.stringContaining('nothing wrong') });
      expect((await chat(box)).status).toBe(200);

      const restored = await runToEnd(['sh', '-ec', here(restoring)], env);
      expect(restored).toMatchObject({ code: 0, err: '', out: expect.stringContaining('nothing wrong') });
      // The start charges requests that were open at the time of the backup in full.
      const atCopy = JSON.parse(
        (await runToEnd([PROGRAM, 'ledger', 'audit', '--json', '--data', join(root, 'signalbox-restored')], env)).out,
      ) as Books;

      expect(starting).toMatch(/^signalbox serve [^\n]*\n$/);
      const words = here(starting).trim().split(' ').slice(2);
      const second = await startSignalbox({
        data: words[words.indexOf('--data') + 1],
        env: { ...UPSTREAM_ENV, SIGNALBOX_API_KEY: box.key },
        args: words.slice(words.indexOf('--policies')),
      });
      atEnd(() => second.stop());
      const books = await booksOf(second);
      expect(books.held_credits).toBe(0);
      expect(books.charged_credits).toBeCloseTo(atCopy.charged_credits + atCopy.held_credits, 6);
      // The first server and its restored copy continue separately: the copy lacks later charges of the first server.
      expect(spentOf(books)).not.toEqual(spentOf(await booksOf(box)));
      expect(spentOf(books)).toHaveLength(3);
      for (const key of [box.key, prepaid]) expect((await chat(second, key)).status).toBe(200);
      await stopWell(second);
    },
    PATIENCE,
  );

  test(
    'for Compose write a copy from the container to standard output, and leave no file in the data folder',
    async () => {
      const root = temporaryFolder();
      const policies = writePolicy(testPolicy({ first: 'http://127.0.0.1:1/v1' }, { best: { endpoints: ['first'] } }));
      atEnd(() => [root, policies].map((folder) => rmSync(folder, { recursive: true, force: true })));
      const { env } = machine(root, policies);
      const data = join(root, 'signalbox');
      const box = await startSignalbox({ data, env: UPSTREAM_ENV, args: ['--policies', policies] });
      atEnd(() => box.stop());
      const files = () => readdirSync(data).sort();
      const before = files();
      const [line = ''] = /^docker compose exec -T .*$/m.exec(textOf('docs/operate/deploy.md')) ?? [];
      const here = line.replace('docker compose exec -T signalbox ', '').replace(/"signalbox-.*"/, 'out/signalbox.db');
      const command = ['sh', '-ec', `mkdir -m 700 out; ${here}`];
      const copied = await runToEnd(command, { ...env, SIGNALBOX_DATA: data }, root);
      expect(copied).toMatchObject({ code: 0, out: '', err: expect.stringContaining('nothing wrong') });
      expect(files()).toEqual(before);
      const audit = await runToEnd([PROGRAM, 'ledger', 'audit', '--data', join(root, 'out')], env);
      expect(audit).toMatchObject({ code: 0, out: expect.stringContaining('nothing wrong') });
      const keys = await runToEnd([PROGRAM, 'keys', 'list', '--data', join(root, 'out')], env);
      expect(keys.out).toContain('installed');
    },
    PATIENCE,
  );
});
