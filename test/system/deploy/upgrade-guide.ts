import { Database } from 'bun:sqlite';
import { expect } from 'bun:test';
import { cpSync, existsSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { copyFixture, FIXTURE_ENV, keyOf } from '../../fixtures/folder.ts';
import { waitFor } from '../../support/answers.ts';
import { PROGRAM, runToEnd, temporaryFolder } from '../../support/signalbox.ts';
import { belowRoot, blocksOf, makeMachine } from './page-machine.ts';

/**
 * A machine with the data and the policy of 0.1, on which the commands of docs/operate/backup-upgrade.md run as they are. It
 * is a `page-machine.ts`.
 */
export interface Machine extends AsyncDisposable {
  readonly url: string;
  /** Runs the blocks of commands under a heading of the page. */
  follow(heading: string): Promise<void>;
  /** Starts the server as systemd does. */
  systemctl(verb: 'start' | 'stop'): Promise<void>;
  /** The status of a request with a key that 0.1 made. */
  statusOf(keyId: string): Promise<number>;
  /** Sends a chat to a simulated model. */
  chat(keyId: string): Promise<number>;
  /** The entries of the ledger. */
  journal(): unknown[];
  readonly file: (path: string) => string;
}

/** @param old the program that the machine has at first */
export function startMachine(old: string): Machine {
  const root = temporaryFolder();
  const { data, policies } = copyFixture();
  const { env, url } = makeMachine(root, old, FIXTURE_ENV);
  cpSync(data, env.SIGNALBOX_DATA, { recursive: true });
  cpSync(policies, env.SIGNALBOX_POLICIES, { recursive: true });
  rmSync(join(env.SIGNALBOX_DATA, 'policies'), { recursive: true });
  rmSync(data, { recursive: true });
  symlinkSync(PROGRAM, join(root, 'signalbox-new'));
  const file = (path: string) => join(root, path);
  const isReady = async () => (await fetch(`${url}/readyz`).catch(() => null))?.ok === true;
  async function run(commands: string): Promise<void> {
    const { code, out, err } = await runToEnd(['sh', '-ec', commands], env, root);
    expect([code, code === 0 ? '' : `${commands}\n${out}\n${err}`]).toEqual([0, '']);
    if (/systemctl start/.test(commands)) await waitFor(isReady, 60_000);
  }
  const withKey = (id: string) => ({ authorization: `Bearer ${keyOf(id)}`, 'content-type': 'application/json' });
  return {
    url,
    file,
    async follow(heading) {
      const blocks = blocksOf('docs/operate/backup-upgrade.md', heading);
      expect(blocks.length).toBeGreaterThan(1);
      for (const block of blocks) await run(belowRoot(block, root));
    },
    systemctl: (verb) => run(`systemctl ${verb} signalbox`),
    statusOf: async (id) => (await fetch(`${url}/v1/models`, { headers: withKey(id) })).status,
    async chat(id) {
      const body = JSON.stringify({ model: 'auto', messages: [{ role: 'user', content: 'Say hello.' }] });
      return (await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers: withKey(id), body })).status;
    },
    journal() {
      using db = new Database(file('var/lib/signalbox/signalbox.db'), { readonly: true });
      return db
        .query('SELECT seq, time, kind, account, amount, reservation, funds, note FROM journal ORDER BY seq')
        .all();
    },
    async [Symbol.asyncDispose]() {
      if (existsSync(file('pid'))) {
        const pid = Number(readFileSync(file('pid'), 'utf8'));
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // It has stopped.
        }
      }
      rmSync(root, { recursive: true, force: true });
    },
  };
}
