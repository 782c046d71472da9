import { expect, test } from 'bun:test';
import type { SignInPolicy } from '../../src/core/policy/sign-in.ts';
import { consoleHint } from '../../src/server/console.ts';
import { buildConsoleHere } from '../support/console.ts';

const SIGN_IN: SignInPolicy = {
  issuer: 'https://login.example.com/realms/acme',
  clientId: 'signalbox',
  clientSecretEnv: null,
  scopes: ['openid'],
  roles: [],
};
const HERE = 'http://127.0.0.1:8787';
const PLAIN = { console: { enabled: true, traceUrl: null }, publicUrl: null, signIn: null };

buildConsoleHere();

test('the start banner shows `public_url` as the address of the console, and the issuer for sign-in', () => {
  const hint = consoleHint({ ...PLAIN, publicUrl: 'https://llm.example.com/ai', signIn: SIGN_IN }, HERE, null);
  expect(hint).toStartWith('https://llm.example.com/ai/console;');
  expect(hint).toContain('login.example.com');
});

test('the start banner shows no address of the console if no address would open it', () => {
  expect(consoleHint({ ...PLAIN, console: { enabled: false, traceUrl: null } }, HERE, 'the API key below')).toBeNull();
  const elsewhere = consoleHint(PLAIN, 'http://192.168.1.20:8787', 'the API key below');
  expect(elsewhere).toContain('public_url');
  expect(elsewhere).not.toContain('192.168.1.20');
});

test('the start banner shows an address of this machine if the server listens on all addresses', () => {
  for (const address of ['http://0.0.0.0:8787', 'http://[::]:8787'])
    expect(consoleHint(PLAIN, address, null)).toStartWith('http://localhost:8787/console;');
});
