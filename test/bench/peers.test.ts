import { expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readGateways } from '../../bench/peers/running.ts';
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

test('a file of running gateways is read, and a mistake in it is reported with its location and without a key', () => {
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
