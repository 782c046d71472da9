import { afterAll, expect, test } from 'bun:test';
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { command } from '../../../src/host/credentials/command.ts';
import { waitFor } from '../../support/answers.ts';
import { HandTimers } from '../../support/hand-timers.ts';
import { temporaryFolder } from '../../support/signalbox.ts';
import { startTokenServices } from '../../support/token-services.ts';

const folder = temporaryFolder();
const services = startTokenServices({});
afterAll(() => {
  services.stop();
  rmSync(folder, { recursive: true });
});

const PATH = process.env.PATH ?? '';
const VARIABLES = { PATH, HOME: '/home/of-test', VAULT_ADDR: 'https://vault.example', OPENAI_API_KEY: 'sk-secret' };

const fetchToken = (run: readonly string[], env?: readonly string[]) =>
  command.open({ run, ...(env && { env }) }, services.context(VARIABLES))();
/** Runs a script of the shell as the command. */
const script = (text: string, env?: readonly string[]) => fetchToken(['sh', '-c', text], env);

const OUTPUTS: readonly (readonly [output: string, token: object])[] = [
  ['a-token', { value: 'a-token', expiresAt: null }],
  ['a-token\n', { value: 'a-token', expiresAt: null }],
  ['{"token":"a-token"}', { value: 'a-token', expiresAt: null }],
  ['{"token":"a-token","expires_at":null}', { value: 'a-token', expiresAt: null }],
  ['{"token":"a-token","expires_at":"2026-11-20T10:30:00Z"}\n', { value: 'a-token', expiresAt: 1_795_170_600_000 }],
  ['{"token":"a-token","expires_at":1795170600}', { value: 'a-token', expiresAt: 1_795_170_600_000 }],
];
for (const [output, token] of OUTPUTS) {
  test(`the output ${JSON.stringify(output)} of a command is a token`, async () => {
    expect<object>(await fetchToken(['printf', '%s', output])).toEqual(token);
  });
}

const FAULTS: readonly (readonly [script: string, message: string])[] = [
  ['true', 'the command printed nothing'],
  ['echo a token', 'the command printed more than one word'],
  ['echo "{"', 'it is no JSON with a `token`'],
  ['echo "{}"', 'it is no JSON with a `token`'],
  [`echo '{"token":"a","expires_at":"soon"}'`, '`expires_at` of the command is neither a time'],
  ['echo a-token; echo no way >&2; exit 3', 'the command ended with code 3: no way'],
  ['kill -9 $$', 'the command ended with SIGKILL'],
  ['yes a-token', 'the command printed more than 16 KiB'],
];
for (const [text, message] of FAULTS) {
  test(`a command without a token: ${message}`, async () => {
    const cause = await script(text).catch((error: Error) => error.message);
    expect(cause).toContain(message);
    expect(cause).not.toContain('a-token');
  });
}

test('a command that does not exist, or cannot be run, is named', async () => {
  await expect(fetchToken([join(folder, 'none')])).rejects.toThrow(`the program ${folder}/none cannot be started`);
  const file = join(folder, 'file');
  writeFileSync(file, 'no program');
  chmodSync(file, 0o644);
  await expect(fetchToken([file])).rejects.toThrow('cannot be started');
});

test('no shell reads the arguments, and the command gets only the usual and the named variables', async () => {
  expect(await fetchToken(['echo', '$HOME;id'])).toMatchObject({ value: '$HOME;id' });
  const names = 'env | cut -d= -f1 | grep -vE "^(PWD|SHLVL|_|OLDPWD)$" | sort | tr "\\n" ,';
  expect(await script(names)).toMatchObject({ value: 'HOME,PATH,' });
  expect(await script(names, ['VAULT_ADDR'])).toMatchObject({ value: 'HOME,PATH,VAULT_ADDR,' });
});

test('a command that takes too long is ended with its descendants', async () => {
  const pidFile = join(folder, 'pid');
  const timers = new HandTimers();
  const run = ['sh', '-c', `sleep 60 & echo $! > ${pidFile}.new; mv ${pidFile}.new ${pidFile}; echo a-token`];
  const fetched = command.open({ run }, { ...services.context(VARIABLES), timers })();
  await waitFor(() => existsSync(pidFile));
  timers.fire();
  await expect(fetched).rejects.toThrow('the command took longer than 10 s');
  const pid = Number(readFileSync(pidFile, 'utf8'));
  await waitFor(() => !isAlive(pid));
});

function isAlive(pid: number): boolean {
  try {
    // A process that has ended stays in the table until its parent reads its state.
    return process.kill(pid, 0) && !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
}
