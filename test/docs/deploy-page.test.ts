import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { everyHelp } from '../../src/cli/all-help.ts';

const HELP = await everyHelp();

const PAGE = readFileSync(join(import.meta.dir, '../../docs/operate/deploy.md'), 'utf8');
const FLAGS = HELP.serve?.usage.match(/--[a-z-]+/g) ?? [];

test('the page about deployment lists every flag of `serve`', () => {
  expect(FLAGS.length).toBeGreaterThan(8);
  expect(FLAGS.filter((flag) => !PAGE.includes(`- \`${flag}\``))).toEqual([]);
});
