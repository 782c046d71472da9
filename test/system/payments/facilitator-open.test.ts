import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mnemonicToAccount } from 'viem/accounts';
import type { PaymentNetwork } from '../../../src/core/policy/payments.ts';
import { openNetwork } from '../../../src/payments/facilitator/network.ts';
import { startOwnServer } from '../../support/own-server.ts';
import { startChain, type TestChain } from '../support/chain/chain.ts';
import { meansOf, networkOn } from '../support/chain/networks.ts';

/** The phrase from which development chains derive their accounts. */
const WELL_KNOWN = 'test test test test test test test test test test test junk';

let chain: TestChain;
beforeAll(async () => {
  chain = await startChain();
});
afterAll(() => chain.stop());

const opened = (changes: Partial<PaymentNetwork>, variables: Readonly<Record<string, string>> = {}) => {
  const means = meansOf(chain);
  return openNetwork(networkOn(chain, changes), { ...means, env: (name) => variables[name] ?? means.env(name) });
};
const messageOf = (refused: Promise<unknown>): Promise<string> =>
  refused.then(
    () => 'It was opened.',
    (error) => error.message,
  );
const wellKnown = (index: number): string => {
  const { privateKey } = mnemonicToAccount(WELL_KNOWN, { addressIndex: index }).getHdKey();
  return `0x${Buffer.from(privateKey ?? []).toString('hex')}`;
};
const service = { mode: 'http', url: 'http://127.0.0.1:1', timeoutMs: 1_000 } as const;

describe('opening a network', () => {
  test('opening makes no network calls', async () => {
    const calls: string[] = [];
    const server = startOwnServer((request) => {
      calls.push(new URL(request.url).pathname);
      return new Response(null, { status: 503 });
    });
    const at = (name: string) => `${server.url}/${name}`;
    await opened({ rpcUrls: [at('node')] });
    await opened({ rpcUrls: [at('node')], facilitator: { ...service, url: at('facilitator'), bearerEnv: null } });
    // A call in the background would have arrived before this one.
    await fetch(at('marker'));
    expect(calls).toEqual(['/marker']);
    await server.stop();
  });

  test('opening needs the variables that the policy names', async () => {
    expect(await messageOf(opened({}, { TEST_GAS_KEY: ' ' }))).toBe(
      'The environment variable TEST_GAS_KEY is not set. It must hold the gas key of the network eip155:84532.',
    );
    expect(await messageOf(opened({ rpcUrlsEnv: 'NODES' }))).toContain('The environment variable NODES is not set.');
    expect(await messageOf(opened({ facilitator: { ...service, bearerEnv: 'BEARER' } }))).toContain(
      'variable BEARER is not set.',
    );
  });

  test('opening reads nodes from a variable, separated by commas', async () => {
    const from = (NODES: string) => opened({ rpcUrls: [], rpcUrlsEnv: 'NODES' }, { NODES });
    const { chain: read } = await from(` http://127.0.0.1:1 , ${chain.url},`);
    await read.check();
    const wrong =
      'The environment variable NODES must hold the http:// or https:// addresses of nodes, separated by commas.';
    expect(await messageOf(from(','))).toBe(wrong);
    expect(await messageOf(from(`${chain.url},wss://node.example/a-key-of-mine`))).toBe(wrong);
  });

  test('opening refuses a malformed private key without showing it', async () => {
    const hex = chain.gasKey.slice(2);
    const order = 'f'.repeat(64);
    for (const key of [hex, `0x${hex}0`, `0x${hex.slice(1)}`, `0x${'0'.repeat(64)}`, `0x${order}`, 'a secret phrase']) {
      expect(await messageOf(opened({}, { TEST_GAS_KEY: key }))).toBe(
        'The environment variable TEST_GAS_KEY does not hold a private key, which is 0x and 64 hexadecimal digits.',
      );
    }
  });

  test('opening accepts the keys of development chains on this machine only', async () => {
    for (const index of [0, 9, 19]) {
      const key = { TEST_GAS_KEY: wellKnown(index) };
      for (const local of ['http://127.0.0.1:1', 'http://localhost:1', 'http://[::1]:1']) {
        expect(await messageOf(opened({ rpcUrls: [local] }, key))).toBe('It was opened.');
      }
      for (const other of ['https://node.example', 'http://127.0.0.1.node.example', 'http://10.0.0.1']) {
        const message = await messageOf(opened({ rpcUrls: [chain.url, other] }, key));
        expect(message).toContain('holds a publicly known test key');
        expect(message).not.toContain(key.TEST_GAS_KEY.slice(2));
      }
    }
  });

  test('opening refuses an address with a wrong checksum of capital letters', async () => {
    const { payTo } = chain;
    // Flips the case of the last letter.
    const wrong = payTo.replace(/[a-fA-F](?=[^a-fA-F]*$)/, (letter) =>
      letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
    );
    expect(await messageOf(opened({ payTo: wrong }))).toContain('is mistyped');
    const asset = { ...networkOn(chain).asset, address: wrong };
    expect(await messageOf(opened({ asset }))).toContain('the asset of the network eip155:84532 is mistyped');
    for (const plain of [payTo, payTo.toLowerCase(), `0x${payTo.slice(2).toUpperCase()}`]) {
      expect(await messageOf(opened({ payTo: plain }))).toBe('It was opened.');
    }
  });

  test('opening refuses a token that no header can carry', async () => {
    const facilitator = { ...service, bearerEnv: 'BEARER' };
    expect(await messageOf(opened({ facilitator }, { BEARER: 'two words' }))).toContain('does not hold a token');
  });
});
