import { afterAll, expect, test } from 'bun:test';
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { waitFor } from '../support/answers.ts';
import { freePort } from '../support/ports.ts';
import { makeTestKey, runToEnd, temporaryFolder } from '../support/signalbox.ts';
import { instructionsOf, textOf } from '../system/deploy/manifests.ts';
import { effort } from './effort.ts';

/**
 * `npm run test:deep -- image`: the instructions of the Dockerfile without containers. A user without root builds from the files that
 * `.dockerignore` lets through, and the user of the image, who can write only the data folder, serves with the settings of the image. The base
 * images are not used.
 */
const { proved } = effort('image', 1, 1);
const ROOT = join(import.meta.dir, '../..');
const PATIENCE = 900_000;
const instructions = instructionsOf(textOf('Dockerfile'));
const restsOf = (wanted: string) => instructions.filter(({ name }) => name === wanted).map(({ rest }) => rest);
const [uid = 0, gid = 0] = restsOf('USER').at(-1)?.split(':').map(Number) ?? [];
const isRoot = process.getuid?.() === 0;
/** A test that root runs takes the rights of the image's user; another user keeps its own. */
const asUser = (...command: string[]) =>
  isRoot ? ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--no-new-privs', ...command] : command;

const home = temporaryFolder();
chmodSync(home, 0o755);
afterAll(() => rmSync(home, { recursive: true, force: true }));
function folderOfUser(name: string): string {
  const folder = join(home, name);
  mkdirSync(folder);
  if (isRoot) chownSync(folder, uid, gid);
  return folder;
}

/** The rules of `.dockerignore`: the last one that matches a file, or a folder above it, decides. */
const rules = textOf('.dockerignore')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => ({ isTaken: line.startsWith('!'), glob: new Bun.Glob(line.replace(/^!/, '')) }));
function isTaken(path: string): boolean {
  const parts = path.split('/');
  const above = parts.map((_, at) => parts.slice(0, at + 1).join('/'));
  return rules.findLast(({ glob }) => above.some((one) => glob.match(one)))?.isTaken ?? true;
}

/** Copies what an instruction names from the files of a clone into the build folder. */
async function copy(rest: string, build: string): Promise<void> {
  const sources = rest.split(' ').slice(0, -1);
  const { out } = await runToEnd(['git', 'ls-files', '-z', '--', ...sources], {}, ROOT);
  const files = out.split('\0').filter((file) => file !== '' && isTaken(file));
  expect(files.length).toBeGreaterThanOrEqual(sources.length);
  for (const file of files) {
    mkdirSync(dirname(join(build, file)), { recursive: true });
    cpSync(join(ROOT, file), join(build, file));
  }
  if (isRoot) expect((await runToEnd(['chown', '-R', `${uid}:${gid}`, build], {})).code).toBe(0);
}

/** Runs the first stage. @returns the folder `/out` of the stage */
async function build(): Promise<string> {
  const [work, out, own] = ['build', 'out', 'home'].map(folderOfUser) as [string, string, string];
  const stage = instructions.slice(
    0,
    instructions.findLastIndex(({ name }) => name === 'FROM'),
  );
  const env = { HOME: own, REVISION: 'a'.repeat(40), PATH: process.env.PATH ?? '' };
  for (const { name, rest } of stage) {
    if (name === 'COPY') await copy(rest, work);
    if (name !== 'RUN') continue;
    const commands = rest.replaceAll('/out/', `${out}/`);
    const { code, out: printed, err } = await runToEnd(asUser('sh', '-ec', commands), env, work);
    expect([code, code === 0 ? '' : `${commands}\n${printed}\n${err}`]).toEqual([0, '']);
  }
  return out;
}

test(
  'a user without root builds the program of the image, and it serves with the settings of the image from a tree that it cannot write',
  async () => {
    const out = await build();
    expect(readdirSync(out).sort()).toEqual(['THIRD-PARTY-LICENSES', 'data', 'signalbox']);
    const program = join(home, 'signalbox');
    cpSync(join(out, 'signalbox'), program);
    chmodSync(program, 0o555);
    const data = join(out, 'data');
    const settings = Object.fromEntries(
      restsOf('ENV').flatMap((rest) => rest.split(' ').map((pair) => pair.split('='))),
    );
    const key = makeTestKey();
    const port = `${freePort()}`;
    const env = { ...settings, HOST: '127.0.0.1', PORT: port, SIGNALBOX_DATA: data, SIGNALBOX_API_KEY: key };
    const [entry, serve, health] = [restsOf('ENTRYPOINT'), restsOf('CMD'), restsOf('HEALTHCHECK')].map(
      ([rest = '']) => JSON.parse(rest.slice(rest.indexOf('['))) as string[],
    ) as [string[], string[], string[]];
    expect([entry, health[0]]).toEqual([['/usr/local/bin/signalbox'], '/usr/local/bin/signalbox']);
    const server = Bun.spawn(asUser(program, ...serve), {
      cwd: '/',
      env: { ...env, PATH: process.env.PATH },
      stdout: 'ignore',
    });
    try {
      await waitFor(async () => (await runToEnd(asUser(program, ...health.slice(1)), env, '/')).code === 0, 60_000);
      const answer = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'auto', messages: [{ role: 'user', content: 'Say hello.' }] }),
      });
      expect(answer.status).toBe(200);
      const page = await fetch(`http://127.0.0.1:${port}/docs/guide/start.md`);
      expect(page.status).toBe(200);
      expect(existsSync(join(data, 'signalbox.db'))).toBe(true);
    } finally {
      server.kill('SIGTERM');
      expect(await server.exited).toBe(0);
    }
    proved(
      'the instructions of the Dockerfile without containers: a user without root builds from the context, and the program serves',
    );
  },
  PATIENCE,
);
