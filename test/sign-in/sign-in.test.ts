import { afterAll, beforeAll, expect, test } from 'bun:test';
import { CLIENT_SECRET, startIssuer, type TestIssuer } from '../support/issuer.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';
import { Visitor } from '../support/visitor.ts';

let issuer: TestIssuer;
let box: Signalbox;

beforeAll(async () => {
  issuer = await startIssuer();
  box = await startSignalbox({ policy: `version: 2
providers: { sim: { adapter: simulated } }
models:
  toy:
    provider: sim
    price: { input: 1000, output: 4000, as_of: 2026-11-01, basis: own }
    context_window: 32768
    max_output: 256
    latency: { ttft_ms: 1, output_tokens_per_second: 100000, basis: guessed }
    quality: { default: 0.5, basis: guessed }
sign_in:
  issuer: ${issuer.url}
  client_id: signalbox
  client_secret_env: OIDC_SECRET
  scopes: [openid, profile, email, groups]
  roles:
    - { when: '"platform" in claims.groups', role: admin }
    - { when: '"staff" in claims.groups', role: member }
`, env: { OIDC_SECRET: CLIENT_SECRET } });
  issuer.register(box.url);
  issuer.people.set('ada', { name: 'Ada', email: 'ada@example.com', groups: ['platform'] });
});
afterAll(async () => { await box.stop(); await issuer.stop(); });

test('ada signs in', async () => {
  const visitor = new Visitor();
  const { url, response } = await visitor.signIn(`${box.url}/console/sign-in`, 'ada');
  console.log(url, response?.status, await response?.text());
  console.log(box.lines.slice(-5));
  console.log(await (await visitor.go(`${box.url}/admin/me`)).text());
  console.log(await (await visitor.go(`${box.url}/admin/logins`)).text());
});
