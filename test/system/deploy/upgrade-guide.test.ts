import { expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { INSTALLED } from '../../fixtures/folder.ts';
import { PROGRAM } from '../../support/signalbox.ts';
import { startMachine } from './upgrade-guide.ts';

/** `npm run test:deep -- upgrade` follows the page with the program of 0.1. This test has only the present program. */
test('the commands of the upgrade guide bring the folders of 0.1 to this version, with a backup', async () => {
  await using machine = startMachine(PROGRAM);
  const before = machine.journal();
  expect(before.length).toBeGreaterThan(30);
  // No server runs yet, because the first start of this version would already upgrade the folder.
  await machine.follow('Upgrade');
  expect(existsSync(machine.file('backups/before-NEW.db'))).toBe(true);
  expect(machine.journal().slice(0, before.length)).toEqual(before);
  expect(await machine.statusOf(INSTALLED)).toBe(200);
  expect(await machine.chat(INSTALLED)).toBe(200);
}, 120_000);
