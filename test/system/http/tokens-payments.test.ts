import { expect, test } from 'bun:test';
import { issuerEntry } from '../../http/tokens-support.ts';
import { expectError } from '../../support/error-contract.ts';
import { withKey } from '../../support/signalbox.ts';
import { startIssuer } from '../../support/token-issuer.ts';
import { useStarted } from '../../support/use.ts';
import { startPaid } from '../support/paying.ts';

const issuer = useStarted(() => startIssuer());
const paid = useStarted(() => startPaid({ policy: `tokens:${issuerEntry(issuer)}` }));

test('an invalid token gets 401 even if payments are on, never an offer to pay', async () => {
  const body = { model: 'auto', messages: [{ role: 'user', content: 'Hello?' }] };
  expect((await paid.ask(body)).status).toBe(402);
  expect((await paid.ask(body, withKey(await issuer.sign()))).status).toBe(200);
  const seconds = Math.floor(Date.now() / 1_000);
  for (const claims of [
    { exp: seconds - 1 },
    { aud: 'https://other.example' },
    { org: 'other' },
    { iss: 'https://x.example' },
  ]) {
    const refused = await paid.ask(body, withKey(await issuer.sign(claims)));
    expect([
      refused.headers.get('payment-required'),
      refused.headers.get('www-authenticate')?.includes('x402') ?? false,
    ]).toEqual([null, false]);
    await expectError(refused, 'invalid_api_key');
  }
});
