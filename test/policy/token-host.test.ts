import { expect, test } from 'bun:test';
import type { SourcedKey } from '../../src/core/policy/sourced-key.ts';
import { PLACEHOLDER } from '../../src/policy/define/environment.ts';
import { load } from './support.ts';

const TOKEN: SourcedKey = {
  ...{ variable: 'CLOUD_TOKEN', hosts: ['cloud.example', '127.0.0.1'], file: 'credentials.yaml' },
  token: () => null,
  problem: () => '',
};

/** Returns the messages about hosts for a provider whose address is stated like this. */
function refusals(address: string, variables: Readonly<Record<string, string>> = {}): string[] {
  const text = `providers: { cloud: { adapter: openai-compatible, ${address}, api_key_env: CLOUD_TOKEN } }\n`;
  const env = {
    get: (name: string) => variables[name],
    sourced: (name: string) => (name === TOKEN.variable ? TOKEN : undefined),
  };
  const { diagnostics } = load([{ path: 'p.yaml', text }], {}, { env });
  return diagnostics.filter(({ code }) => code === 'token-host').map(({ message }) => message);
}

test('a token may be sent to the hosts of its source, wherever the policy has the address from', () => {
  expect(refusals('base_url: "https://cloud.example/v1"')).toEqual([]);
  expect(refusals('base_url_env: ADDRESS', { ADDRESS: 'https://cloud.example/v1' })).toEqual([]);
  expect(refusals('base_url: "https://other.example/v1"')).toEqual([
    'the token of CLOUD_TOKEN may not be sent to `https://other.example`',
  ]);
});

test('the value of a variable with another host is not shown', () => {
  expect(refusals('base_url_env: ADDRESS', { ADDRESS: 'https://other.example/v1' })).toEqual([
    'the token of CLOUD_TOKEN may not be sent to the address in ADDRESS',
  ]);
});

test('an address whose variable is not read is checked only by the server', () => {
  expect(refusals('base_url_env: ADDRESS')).toEqual([]);
  expect(refusals('base_url_env: ADDRESS', { ADDRESS: PLACEHOLDER })).toEqual([]);
});
