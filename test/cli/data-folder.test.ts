import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runHere } from '../support/run-here.ts';
import { temporaryFolder } from '../support/signalbox.ts';
import { DATA_COMMANDS } from './data-commands.ts';

test('a data folder that is a file is reported as such', async () => {
  const file = join(temporaryFolder(), 'notes.txt');
  writeFileSync(file, '');
  for (const words of DATA_COMMANDS) {
    const { code, err } = await runHere([...words, '--data', file]);
    expect([code, err]).toEqual([1, expect.stringContaining(`${file}: a part of this path is a file, not a folder.`)]);
  }
});

test('a data folder without a database is reported with advice', async () => {
  const { code, err } = await runHere(['keys', 'list', '--data', join(temporaryFolder(), 'none')]);
  expect([code, err]).toEqual([1, expect.stringContaining('There is no database in')]);
});
