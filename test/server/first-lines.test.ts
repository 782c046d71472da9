import { afterAll, expect, test } from 'bun:test';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { buildConsoleHere } from '../support/console.ts';
import { serveHere } from '../support/serve-here.ts';
import { temporaryFolder } from '../support/signalbox.ts';

buildConsoleHere();
const data = temporaryFolder();
afterAll(() => rmSync(data, { recursive: true, force: true }));

/** Starts a server without a terminal and without a key, and returns the lines of its log until it listens and a little later. */
async function firstLines() {
  const lines: string[] = [];
  const { url, stop } = await serveHere(['serve', '--port', '0', '--host', '0.0.0.0', '--data', data], {}, lines);
  const { port } = new URL(url);
  const page = await fetch(`http://127.0.0.1:${port}/console`);
  await stop();
  return { port, status: page.status, log: lines.map((line): Record<string, string> => JSON.parse(line)) };
}

test('without a terminal, the first lines of the log say where the first key and the console are', async () => {
  const { port, status, log } = await firstLines();
  const file = join(data, 'admin.key');
  const [key, listening] = log;
  expect(key).toMatchObject({ message: 'the first API key was written', file });
  expect(readFileSync(file, 'utf8')).toStartWith('sb_live_');
  expect(listening).toMatchObject({ message: 'listening' });
  expect(listening?.console).toStartWith(`http://localhost:${port}/console;`);
  expect(listening?.console).toContain(file);
  expect(status).toBe(200);
});

test('a later start says where the console is in its first line, and the trail is not mentioned before', async () => {
  expect(existsSync(join(data, 'trail.head'))).toBe(true);
  const { port, log } = await firstLines();
  expect(log[0]).toMatchObject({ message: 'listening' });
  expect(log[0]?.console).toStartWith(`http://localhost:${port}/console;`);
});
