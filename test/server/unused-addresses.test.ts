import { expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { serveHere } from '../support/serve-here.ts';
import { temporaryFolder } from '../support/signalbox.ts';

/** Starts a server with these variables, and returns what it warns about at its start. */
async function warningsWith(env: Readonly<Record<string, string>>, port = '0'): Promise<unknown[]> {
  const data = temporaryFolder();
  const lines: string[] = [];
  const { stop } = await serveHere(['serve', '--port', port, '--data', data], env, lines);
  await stop();
  rmSync(data, { recursive: true, force: true });
  return lines
    .map((line): Record<string, unknown> => JSON.parse(line))
    .filter(({ message }) => message === 'the policy does not use an address in the environment')
    .map(({ level, variable, provider, write }) => ({ level, variable, provider, write }));
}

const KEYS = {
  OPENAI_API_KEY: 'sk-test-000000000000000000000001',
  ANTHROPIC_API_KEY: 'sk-ant-test-00000000000000000001',
};

test('the start warns of an address beside a key that the policy does not use, with the line to write', async () => {
  const env = { ...KEYS, OPENAI_BASE_URL: 'http://models.example.com/v1' };
  expect(await warningsWith(env)).toEqual([
    { level: 'warn', variable: 'OPENAI_BASE_URL', provider: 'openai', write: 'base_url_env: OPENAI_BASE_URL' },
  ]);
});

test('the start warns of no address that is used, invalid, of a service without its key, or of this server', async () => {
  const { OPENAI_API_KEY } = KEYS;
  expect(await warningsWith(KEYS)).toEqual([]);
  expect(await warningsWith({ ...KEYS, OPENAI_BASE_URL: 'https://api.openai.com/v1/' })).toEqual([]);
  expect(await warningsWith({ ...KEYS, OPENAI_BASE_URL: 'nowhere' })).toEqual([]);
  expect(await warningsWith({ OPENAI_API_KEY, ANTHROPIC_BASE_URL: 'https://proxy.example.com' })).toEqual([]);
  const self = { ...KEYS, OPENAI_BASE_URL: 'http://localhost:18953/v1', ANTHROPIC_BASE_URL: 'http://127.0.0.1:18953' };
  expect(await warningsWith(self, '18953')).toEqual([]);
});
