import { afterEach, beforeEach, expect, test } from 'bun:test';
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ENGINE, RehearsalNote } from '../../src/server/rehearsal-note.ts';
import { temporaryFolder } from '../support/signalbox.ts';

type NotedPolicy = Parameters<RehearsalNote['keep']>[0];

let data = '';
beforeEach(() => {
  data = temporaryFolder();
});
afterEach(() => rmSync(data, { recursive: true, force: true }));

const policyOf = (revision: string): NotedPolicy =>
  ({
    bundle: { files: [{ path: 'p.yaml', text: 'version: 1' }], hash: 'h' },
    runtime: { snapshot: { revision } },
    surroundings: { unset: [], plugins: [] },
    variables: ['ACME_KEY'],
  }) as unknown as NotedPolicy;
const noteOf = (engine: readonly string[] = ENGINE) =>
  new RehearsalNote({ data, version: '1', env: () => 'a-secret-value', engine });

test('a rehearsal note matches only its own policy, with the same Bun version and time-zone data', () => {
  noteOf().keep(policyOf('a'));
  expect(noteOf().isOf(policyOf('a'))).toBe(true);
  expect(noteOf().isOf(policyOf('b'))).toBe(false);
  for (const part of ENGINE.keys()) expect(noteOf(ENGINE.with(part, 'another')).isOf(policyOf('a'))).toBe(false);
});

test('only its owner can read a rehearsal note, and its hash differs each time', async () => {
  const file = join(data, 'policy.rehearsed');
  const kept = async () => {
    noteOf().keep(policyOf('a'));
    return Bun.file(file).text();
  };
  expect(await kept()).not.toBe(await kept());
  expect(statSync(file).mode & 0o777).toBe(0o600);
});
