import { afterAll, describe, expect, test } from 'bun:test';
import { FakeModelServer, type ServerKind } from '../support/model-servers.ts';
import { blocksOf } from '../support/page-blocks.ts';
import { startSignalbox } from '../support/signalbox.ts';
import { OWN_SERVERS } from './own-servers-page.ts';

const policies = blocksOf(OWN_SERVERS).flatMap(({ words: [kind, name], text }) =>
  kind === 'policy' && name !== undefined ? [{ name, text }] : [],
);
const KINDS: Readonly<Record<string, ServerKind>> = {
  'llama-cpp': 'llama-cpp',
  'lm-studio': 'lm-studio',
  vllm: 'vllm',
  python: 'python',
};
const servers = new Map(
  policies.map(({ name }) => [name, new FakeModelServer(KINDS[name] ?? 'ollama', [{ name: 'smol', inUse: 4_096 }])]),
);
afterAll(async () => {
  for (const server of servers.values()) await server.stop();
});

describe(`the policies of ${OWN_SERVERS}`, () => {
  test.each(policies)('$name: a server with this policy serves the model that it finds', async ({ name, text }) => {
    const { url } = servers.get(name)!;
    const served = text.replaceAll(/http:\/\/[\d.]+:\d+/g, url);
    const signalbox = await startSignalbox({ policy: `version: 1\n${served}` });
    try {
      const messages = [{ role: 'user', content: 'Say hello.' }];
      expect((await signalbox.post('/v1/chat/completions', { model: 'auto', messages })).status).toBe(200);
    } finally {
      await signalbox.stop();
    }
  });

  test('has a policy for each program whose models Signalbox finds', () => {
    expect(policies.map(({ name }) => name)).toEqual(expect.arrayContaining(['ollama', ...Object.keys(KINDS)]));
  });
});
