import { afterAll, expect, test } from 'bun:test';
import { existsSync, rmSync } from 'node:fs';
import { orDeeply } from '../../deep/deeply.ts';
import { runHere } from '../../support/run-here.ts';
import { cleanEnvironment, PROGRAM, runCommand, runToEnd, writePolicy } from '../../support/signalbox.ts';
import { useSignalbox } from '../../support/use.ts';

const box = useSignalbox();
const wrong = writePolicy('modls: {}\n');
afterAll(async () => {
  rmSync(wrong, { recursive: true });
});

/** A command line, and its exit code. */
type Line = readonly [code: number, line: string];

// Most tests run commands inside the test process. These tests compare that way with a real process.
const few: readonly Line[] = [
  [0, 'keys list --json'],
  [2, `policy check ${wrong}`],
  [1, 'serve --prot 1'],
];
const more: readonly Line[] = [
  [0, 'wallets list --json'],
  [0, 'ledger audit --json'],
  [0, 'learn status --json'],
  [0, 'decisions list --json'],
  [0, 'policy check --json'],
  [1, 'import nothing'],
  [1, 'plugin new nothing'],
];
/** Two runs of a command begin at different moments. */
const timeless = (out: string): string => out.replaceAll(/"(?:began|ended)_at": "[^"]*"/g, '');
test.each(orDeeply(few, more))(
  'exits with %i, and prints the same as a process and inside a test: %s',
  async (code, line) => {
    const args = [...line.split(' '), ...(/^(?:import|plugin|serve)/.test(line) ? [] : ['--data', box.data])];
    const [result, here] = [await runCommand(args), await runHere(args)];
    expect({ ...result, out: timeless(result.out) }).toEqual({ ...here, out: timeless(here.out) });
    expect(result.code).toBe(code);
  },
);

test.skipIf(!existsSync('/dev/full'))(
  'exits with 1 if its output cannot be written, and with 0 if its reader closes the pipe',
  async () => {
    const full = Bun.spawn([PROGRAM, 'help'], {
      env: cleanEnvironment({}),
      stdout: Bun.file('/dev/full'),
      stderr: 'pipe',
    });
    expect(await new Response(full.stderr).text()).toMatch(/^signalbox: ENOSPC: .+\n$/);
    expect(await full.exited).toBe(1);
    const piped = `${PROGRAM} help | true; echo \${PIPESTATUS[0]}`;
    expect(await runToEnd(['bash', '-c', piped], {})).toEqual({ code: 0, out: '0\n', err: '' });
  },
);
