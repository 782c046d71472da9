import { expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { runHere } from '../support/run-here.ts';

const URL_OF_OTHERS = 'postgres://signalbox:hunter2@db/books';

const cases: readonly (readonly [what: string, args: readonly string[], env?: Readonly<Record<string, string>>])[] = [
  ['serve --data', ['serve', '--port', '0', '--data', URL_OF_OTHERS]],
  ['serve with SIGNALBOX_DATA', ['serve', '--port', '0'], { SIGNALBOX_DATA: URL_OF_OTHERS }],
  ['keys create', ['keys', 'create', 'app', `--data=${URL_OF_OTHERS}`]],
  ['policy check', ['policy', 'check'], { SIGNALBOX_DATA: URL_OF_OTHERS }],
];

for (const [what, args, env = {}] of cases) {
  test(`${what} refuses a database URL as its data folder, creates nothing and does not repeat the password`, async () => {
    const { code, out, err } = await runHere(args, env);
    expect(err).toMatch(
      /^signalbox: The data folder must be a path, [^\n]+, not a postgres URL; set DATABASE_URL to name a database\.\n$/,
    );
    expect(err).not.toContain('hunter2');
    expect([code, out]).toEqual([1, '']);
    // As a path, the URL would begin with this folder.
    expect(existsSync('postgres:')).toBe(false);
  });
}
