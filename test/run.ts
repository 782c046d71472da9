import { join } from 'node:path';

/**
 * `npm test [-- files]`: types and Biome beside the tests, in which one core waits for another. The tests' output comes as it
 * is made; that of the checks at the end, where they found something. Ends with 1 when anything failed.
 */
const cwd = join(import.meta.dir, '..');
const checks = Bun.spawn(['npm', 'run', '--silent', 'check'], { cwd, stdout: 'pipe', stderr: 'pipe' });
const found = Promise.all([new Response(checks.stdout).text(), new Response(checks.stderr).text()]);
// Most of a file's time would go into loading the same modules again, so the files of a worker share them.
const tests = Bun.spawn(
  [process.execPath, 'test', '--parallel=4', '--no-isolate', '--timeout=60000', ...process.argv.slice(2)],
  {
    cwd,
    stdout: 'inherit',
    stderr: 'inherit',
  },
);
const codes = [await checks.exited, await tests.exited];
if (codes[0] !== 0) process.stderr.write(`\n${(await found).join('')}\nThe checks failed: npm run check\n`);
process.exit(codes.every((code) => code === 0) ? 0 : 1);
