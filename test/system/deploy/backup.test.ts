import { describe, expect, test } from 'bun:test';
import { readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '../../support/answers.ts';
import { startFakeUpstream } from '../../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../../support/policies.ts';
import {
  PROGRAM,
  runToEnd,
  type Signalbox,
  startSignalbox,
  temporaryFolder,
  writePolicy,
} from '../../support/signalbox.ts';
import { textOf } from './manifests.ts';
import { belowRoot, blocksOf, makeMachine } from './page-machine.ts';
import { chat as chatWith, useFolders } from './stand.ts';

const PATIENCE = 60_000;

const { atEnd } = useFolders();

const PAGE = 'docs/operate/backup-upgrade.md';

/** A machine with this program and a policy. */
function machine(root: string, policies: string) {
  const made = makeMachine(root, PROGRAM, UPSTREAM_ENV);
  symlinkSync(policies, made.env.SIGNALBOX_POLICIES);
  return made;
}

interface Books {
  readonly held_credits: number;
  readonly charged_credits: number;
  readonly funds: readonly { readonly name: string; readonly subject: string; readonly spent_credits: number }[];
}

const booksOf = async (box: Pick<Signalbox, 'get'>): Promise<Books> =>
  (await (await box.get('/admin/ledger')).json()) as Books;

/** A server that a command has started. */
function serverAt(url: string, ownKey: string): Pick<Signalbox, 'get' | 'post' | 'key'> {
  const headers = { authorization: `Bearer ${ownKey}`, 'content-type': 'application/json' };
  const send = (path: string, init: RequestInit) =>
    fetch(url + path, { ...init, headers: { ...headers, ...init.headers } });
  return {
    key: ownKey,
    get: (path, init = {}) => send(path, init),
    post: (path, body, init = {}) => send(path, { method: 'POST', body: JSON.stringify(body), ...init }),
  };
}

const spentOf = ({ funds }: Books): string[] =>
  funds.map(({ name, subject, spent_credits }) => `${name} ${subject} ${spent_credits}`).sort();

const chat = (box: Pick<Signalbox, 'post' | 'key'>, key = box.key) =>
  chatWith(box, { headers: { authorization: `Bearer ${key}` } });

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
      const { env, url } = machine(root, policies);
      const [copying = ''] = blocksOf(PAGE, 'Back up');
      const [restoring = '', starting = '', ...more] = blocksOf(PAGE, 'Restore');
      expect(more).toEqual([]);
      const follow = (commands: string) => runToEnd(['sh', '-ec', belowRoot(commands, root)], env);

      const data = env.SIGNALBOX_DATA;
      const box = await startSignalbox({
        data,
        env: UPSTREAM_ENV,
        args: ['--policies', env.SIGNALBOX_POLICIES],
        isProcess: true,
      });
      writeFileSync(join(root, 'pid'), `${box.pid}`);
      atEnd(() => box.stop());
      const made = await box.run('keys', 'create', '--name', 'prepaid');
      const prepaid = made.out.split('\n')[0] ?? '';
      expect((await box.run('keys', 'grant', prepaid.split('_')[2] ?? '', '500')).code).toBe(0);
      await waitFor(async () => (await chat(box, prepaid)).status === 200);

      let stop = false;
      const traffic = [box.key, prepaid].map(async (key) => {
        for (; !stop; ) expect((await chat(box, key)).status).toBe(200);
      });
      const copied = await follow(copying);
      stop = true;
      await Promise.all(traffic);
      expect(copied).toMatchObject({ code: 0, err: '', out: expect.stringContaining('nothing wrong') });
      expect((await chat(box)).status).toBe(200);
      const last = await booksOf(box);

      const restored = await follow(restoring);
      expect(restored).toMatchObject({ code: 0, err: '', out: expect.stringContaining('nothing wrong') });
      // The start charges requests that were open at the time of the backup in full.
      const atCopy = JSON.parse(
        (await runToEnd([PROGRAM, 'ledger', 'audit', '--json', '--data', data], env)).out,
      ) as Books;

      expect(await follow(starting)).toMatchObject({ code: 0 });
      atEnd(() => follow('systemctl stop signalbox'));
      await waitFor(async () => (await fetch(`${url}/readyz`).catch(() => null))?.ok === true, PATIENCE);
      const second = serverAt(url, box.key);
      const books = await booksOf(second);
      expect(books.held_credits).toBe(0);
      expect(books.charged_credits).toBeCloseTo(atCopy.charged_credits + atCopy.held_credits, 6);
      // The copy lacks the later charges.
      expect(spentOf(books)).not.toEqual(spentOf(last));
      expect(spentOf(books)).toHaveLength(3);
      for (const key of [box.key, prepaid]) expect((await chat(second, key)).status).toBe(200);
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
      const here = line
        .replace('docker compose exec -T signalbox ', '')
        .replace(/> signalbox-\S+/, '> out/signalbox.db');
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
