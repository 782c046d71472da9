import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import manifest from '../../package.json' with { type: 'json' };
import { waitFor } from '../support/answers.ts';
import { FakeModelServer } from '../support/model-servers.ts';
import { makeTestKey, runToEnd, temporaryFolder } from '../support/signalbox.ts';
import { textOf } from '../system/deploy/manifests.ts';
import { belowRoot, blocksOf, makeMachine } from '../system/deploy/page-machine.ts';
import { effort } from './effort.ts';

/**
 * `npm run test:deep -- distribution`: the files of a release. The program of this machine runs; the headers of the others show their
 * machines, and the signature of the program for macOS covers all its bytes.
 */
const { proved } = effort('distribution', 1, 1);
const ROOT = join(import.meta.dir, '../..');
const PATIENCE = 900_000;
const { version } = manifest;
const home = temporaryFolder();
const out = join(home, 'out');
const program = (target: string) => join(out, `signalbox-${version}-${target}`);

beforeAll(async () => {
  const built = await runToEnd([process.execPath, join(ROOT, 'deploy/distribution.ts'), '--out', out], {}, ROOT);
  expect([built.code, built.err]).toEqual([0, '']);
}, PATIENCE);
afterAll(() => rmSync(home, { recursive: true, force: true }));

test('every file but SHA256SUMS has its checksum there', async () => {
  const lines = readFileSync(join(out, 'SHA256SUMS'), 'utf8').trimEnd().split('\n');
  const files = readdirSync(out).filter((name) => name !== 'package' && name !== 'SHA256SUMS');
  expect(lines.map((line) => line.split('  ')[1]).sort()).toEqual(files.sort());
  expect(files).toHaveLength(8);
  for (const line of lines) {
    const [hash = '', name = ''] = line.split('  ');
    expect(new Bun.CryptoHasher('sha256').update(readFileSync(join(out, name))).digest('hex')).toBe(hash);
  }
});

/** The first bytes of an ELF file for Linux, with the machine at byte 18, and of a Mach-O file. */
test.each([
  ['linux-x64', (file: DataView) => [file.getUint32(0), file.getUint16(18, true)], [0x7f454c46, 62]],
  ['linux-arm64', (file: DataView) => [file.getUint32(0), file.getUint16(18, true)], [0x7f454c46, 183]],
  ['darwin-arm64', (file: DataView) => [file.getUint32(0, true), file.getUint32(4, true)], [0xfeedfacf, 0x0100000c]],
] as const)('the program for %s is for this machine', (target, read, expected) => {
  const { buffer } = new Uint8Array(readFileSync(program(target)));
  expect<readonly number[]>(read(new DataView(buffer))).toEqual(expected);
});

/** Returns the pages of a Mach-O file whose hash in the signature is wrong, and their number. macOS ends a program with a wrong page. */
function wrongPages(bytes: Buffer): { readonly pages: number; readonly wrong: number } {
  const [LC_CODE_SIGNATURE, CODE_DIRECTORY] = [0x1d, 0xfade0c02];
  let at = 32;
  for (let left = bytes.readUInt32LE(16); left > 0 && bytes.readUInt32LE(at) !== LC_CODE_SIGNATURE; left--)
    at += bytes.readUInt32LE(at + 4);
  const signature = bytes.readUInt32LE(at + 8);
  const directory = signature + bytes.readUInt32BE(signature + 16);
  expect(bytes.readUInt32BE(directory)).toBe(CODE_DIRECTORY);
  const [hashes, pages, limit] = [16, 28, 32].map((offset) => bytes.readUInt32BE(directory + offset));
  const page = 1 << bytes[directory + 39]!;
  let wrong = 0;
  for (let index = 0; index < pages!; index++) {
    const content = bytes.subarray(index * page, Math.min((index + 1) * page, limit!));
    const stated = bytes.subarray(directory + hashes! + 32 * index, directory + hashes! + 32 * (index + 1));
    if (!new Bun.CryptoHasher('sha256').update(content).digest().equals(stated)) wrong++;
  }
  return { pages: pages!, wrong };
}

test('the signature of the program for macOS has the right hash of each page, and the check finds a changed byte', () => {
  const bytes = readFileSync(program('darwin-arm64'));
  const { pages, wrong } = wrongPages(bytes);
  expect([pages > 10_000, wrong]).toEqual([true, 0]);
  bytes[bytes.length >> 1]! ^= 1;
  expect(wrongPages(bytes).wrong).toBe(1);
});

test(
  'the program of this machine states its version and answers',
  async () => {
    const own = program(`${process.platform}-${process.arch}`);
    expect((await runToEnd([own, '--version'], {}, home)).out).toStartWith(version);
    const key = makeTestKey();
    const server = Bun.spawn([own, 'serve', '--port', '0'], {
      cwd: home,
      env: { SIGNALBOX_API_KEY: key },
      stdout: 'pipe',
      stderr: 'inherit',
    });
    try {
      let printed = '';
      void (async () => {
        for await (const text of server.stdout.pipeThrough(new TextDecoderStream())) printed += text;
      })();
      const url = await waitFor(() => /"message":"listening","address":"([^"]+)"/.exec(printed)?.[1] ?? null, 60_000);
      const answer = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'auto', messages: [{ role: 'user', content: 'Say hello.' }] }),
      });
      expect(answer.status).toBe(200);
    } finally {
      server.kill();
      await server.exited;
    }
  },
  PATIENCE,
);

/** A machine with the files of the release, and Ollama. */
async function homeServer() {
  const root = temporaryFolder();
  const { env, url } = makeMachine(root, null, { HOME: root });
  for (const folder of ['etc/systemd/system', 'usr/lib/sysusers.d', 'var/lib/signalbox'])
    mkdirSync(join(root, folder), { recursive: true, mode: 0o700 });
  for (const name of readdirSync(out)) symlinkSync(join(out, name), join(root, name));
  const ollama = new FakeModelServer('ollama', [{ name: 'llama3.2:latest', capabilities: ['completion', 'tools'] }]);
  return {
    root,
    url,
    /** Runs commands of the page. */
    async run(block: string) {
      const commands = belowRoot(block, root)
        .replaceAll('VERSION', version)
        .replace('linux-x64', `${process.platform}-${process.arch}`)
        .replace('http://127.0.0.1:11434', ollama.url);
      return await runToEnd(['sh', '-ec', commands], env, root);
    },
    async [Symbol.asyncDispose]() {
      await runToEnd([join(root, 'bin/systemctl'), 'stop'], env, root);
      await ollama.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

test(
  'the page leads a home server from the files to an answer of Ollama and a budget',
  async () => {
    const page = 'docs/operate/first-deployment.md';
    const [install = '', start = '', createKey = '', show = '', ...more] = blocksOf(page, 'A home server');
    expect([show === '', more]).toEqual([false, []]);
    const [, budget = ''] = /```yaml policy\n(.*?) *```/s.exec(textOf(page)) ?? [];
    await using machine = await homeServer();
    for (const block of [install, start]) expect(await machine.run(block)).toMatchObject({ code: 0 });
    await waitFor(async () => (await fetch(`${machine.url}/readyz`).catch(() => null))?.ok === true, 60_000);
    const [, key] = /(sb_live_\S+)/.exec((await machine.run(createKey)).out) ?? [];
    const answer = await fetch(`${machine.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'auto', messages: [{ role: 'user', content: 'Say hello.' }] }),
    });
    expect(await answer.json()).toMatchObject({ platform: { routed_model: 'ollama/llama3.2' } });
    writeFileSync(join(machine.root, 'etc/signalbox/policies/household.yaml'), budget.replaceAll(/^ {3}/gm, ''));
    // On a busy machine a command may find that the server does not answer within 2 s.
    await waitFor(async () => {
      const { code, out: printed } = await machine.run(show);
      return code === 0 && printed.includes('household') && printed.includes('No problem was found');
    }, 120_000);
    const { platform, arch } = process;
    proved(
      `the files of a release: checksums, headers and signature of three programs; the program for ${platform}-${arch} ran as the page for a home server says`,
    );
  },
  PATIENCE,
);

test('the chart is an archive of the folder that Helm reads', async () => {
  const { out: list } = await runToEnd(['tar', '-tzf', join(out, `signalbox-chart-${version}.tgz`)], {});
  const names = list.trimEnd().split('\n');
  expect(names).toContain('signalbox/Chart.yaml');
  expect(names).toContain('signalbox/templates/server.yaml');
  expect(names.every((name) => name.startsWith('signalbox/'))).toBe(true);
});

test('the licence texts of the programs and of the package are the same', () => {
  const texts = readFileSync(join(out, 'THIRD-PARTY-LICENSES'), 'utf8');
  expect(readFileSync(join(out, 'package/THIRD-PARTY-LICENSES'), 'utf8')).toBe(texts);
});

test('the bill of materials names each package with its version and licence', () => {
  const { components } = JSON.parse(readFileSync(join(out, `signalbox-${version}.cdx.json`), 'utf8'));
  expect(components.length).toBeGreaterThan(30);
  for (const { name, version: own, licenses } of components)
    expect([name, own, licenses.length]).toEqual([name, expect.any(String), 1]);
});
