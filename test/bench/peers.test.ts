import { expect, test } from 'bun:test';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ANSWERS } from '../../bench/answers.ts';
import { compareGrowth } from '../../bench/peers/growth.ts';
import { installOnce } from '../../bench/peers/installed.ts';
import { senderOf } from '../../bench/peers/requests.ts';
import { readGateways } from '../../bench/peers/running.ts';
import { treeMeter, treeMiB } from '../../bench/process.ts';
import { WORKLOADS } from '../../bench/workload.ts';
import { startOwnServer } from '../support/own-server.ts';
import { temporaryFolder } from '../support/signalbox.ts';

const GATEWAY = {
  name: 'Other',
  url: 'http://127.0.0.1:8080/v1/chat/completions',
  key: 'secret-key',
  model: 'a',
  headers: { 'x-team': 'a' },
  pids: [process.pid],
  promises: 'governed',
};
const NO_PROCESS = 2 ** 30;

test('the benchmark reads a file of running gateways, and reports a mistake in the file with its location and without a key', () => {
  const folder = temporaryFolder();
  const file = join(folder, 'gateways.json');
  const read = (list: unknown) => {
    writeFileSync(file, JSON.stringify(list));
    return readGateways(file);
  };
  expect(read([GATEWAY])).toMatchObject([GATEWAY]);
  const mistakes: readonly (readonly [unknown, string])[] = [
    [[], 'the list'],
    [[GATEWAY, { ...GATEWAY, url: 'http://gateway.example:80/v1/chat/completions' }], '/1/url'],
    [[{ ...GATEWAY, pids: [] }], '/0/pids'],
    [[{ ...GATEWAY, pids: [NO_PROCESS] }], '/0/pids'],
    [[{ ...GATEWAY, promises: 'some' }], '/0/promises'],
    [[{ ...GATEWAY, header: {} }], '/0/header'],
  ];
  for (const [list, where] of mistakes) {
    expect(() => read(list)).toThrow(`${file}: ${where}: `);
    expect(() => read(list)).not.toThrow(GATEWAY.key);
  }
  rmSync(folder, { recursive: true });
});

test('the CPU time of a process includes its children, even ended children, and excludes earlier time', async () => {
  const busy = (times: number) => `sh -c 'i=0; while [ $i -lt ${times} ]; do i=$((i+1)); done'`;
  const script = `${busy(1_000_000)}; echo; read go; ${busy(100_000)} & wait; echo; read end`;
  const parent = Bun.spawn(['sh', '-c', script], { stdin: 'pipe', stdout: 'pipe' });
  const lines = parent.stdout.getReader();
  const before = treeMeter([parent.pid]);
  await lines.read();
  const [whole, after] = [before(), treeMeter([parent.pid])];
  parent.stdin.write('\n');
  await parent.stdin.flush();
  await lines.read();
  const part = after();
  expect(part).toBeGreaterThan(0);
  expect(part).toBeLessThan(whole);
  parent.stdin.write('\n');
  await parent.stdin.end();
  await parent.exited;
});

test('the memory of processes excludes program files, and an ended process has no memory', async () => {
  const child = Bun.spawn(['sleep', '60']);
  const both = treeMiB([process.pid]);
  expect(both).toBeGreaterThan(treeMiB([child.pid]));
  expect(treeMiB([process.pid, child.pid])).toBeCloseTo(both, -2);
  child.kill();
  await child.exited;
  expect(treeMiB([child.pid])).toBe(0);
});

/** A gateway that answers as the upstream of the benchmark does, but `wrong` of its first answers are not whole. */
function startGateway(wrong: number) {
  const { body } = Object.entries(ANSWERS).find(([path]) => path === '/chat/completions')![1];
  const seen: { key: string | null; team: string | null; model: unknown }[] = [];
  const server = startOwnServer(async (request) => {
    const asked: unknown = await request.json();
    const model = Object(asked).model;
    seen.push({ key: request.headers.get('authorization'), team: request.headers.get('x-team'), model });
    return new Response(seen.length > wrong ? body : body.slice(0, -3));
  });
  const url = `http://127.0.0.1:${server.port}${server.prefix}/v1/chat/completions`;
  return { server, seen, gateway: { ...GATEWAY, url, promises: 'governed' as const } };
}

test('a gateway gets its key, model and headers, and its answers that are not whole are counted', async () => {
  const { server, seen, gateway } = startGateway(3);
  const { errors } = await senderOf(gateway, WORKLOADS[0]!)(2, 10);
  expect(errors).toBe(3);
  expect(seen).toHaveLength(10);
  for (const one of seen) expect(one).toEqual({ key: 'Bearer secret-key', team: 'a', model: 'a' });
  await server.stop();
});

test('growth is measured after the stated numbers of recorded requests', async () => {
  const { server, seen, gateway } = startGateway(0);
  const text = await compareGrowth([gateway], true);
  expect(text).toMatch(/\| Other +\| +\d+ \(\d+\.\d\d\) \| +\d+ \(\d+\.\d\d\) \| +\d+ \(\d+\.\d\d\) \|/);
  expect(seen.length).toBeGreaterThan(5_000);
  await server.stop();
});

test('growth is not measured at a gateway whose answers are wrong', async () => {
  const { server, gateway } = startGateway(1);
  await expect(compareGrowth([gateway], true)).rejects.toThrow('1 of 256 answers were wrong');
  await server.stop();
});

test('the benchmark repeats a failed installation, and keeps a successful installation', async () => {
  const home = mkdtempSync(join(tmpdir(), 'signalbox-peers-test-'));
  const folder = join(home, 'one');
  const failed = installOnce(folder, async (draft) => {
    writeFileSync(join(draft, 'half'), '');
    throw new Error('no network');
  });
  await expect(failed).rejects.toThrow('no network');
  expect(existsSync(folder)).toBe(false);
  await installOnce(folder, async (draft) => writeFileSync(join(draft, 'whole'), ''));
  expect([existsSync(join(folder, 'half')), statSync(join(folder, 'whole')).isFile()]).toEqual([false, true]);
  await installOnce(folder, () => Promise.reject(new Error('again')));
  rmSync(home, { recursive: true });
});
