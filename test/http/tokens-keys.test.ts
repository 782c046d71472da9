import { afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { answerOf, waitFor } from '../support/answers.ts';
import { TOY } from '../support/policies.ts';
import { chatHead, connect } from '../support/raw-http.ts';
import { startSignalbox, temporaryFolder, withKey } from '../support/signalbox.ts';
import { AUDIENCE, DISCOVERY_PATH, KEYS_PATH, startIssuer, type TestIssuer } from '../support/token-issuer.ts';
import { useLivePolicy, useStarted } from '../support/use.ts';
import { issuerEntry, tokenPolicy } from './tokens-support.ts';

/** The time between two reads of an issuer's keys, in which they count as fresh, ms. */
const READ_EVERY = 30_000;
const FRESH = 600_000;

const HOUR = 3_600_000;
/** How often the server checks the files of environment variables, ms. */
const SECRETS_EVERY = 2_000;

/** Starts a gateway whose clock the test moves, with an issuer of its own. */
async function start(more = '', others = '', issuer?: TestIssuer) {
  const own = issuer ?? (await startIssuer());
  let ahead = 0;
  let later = 0;
  const box = await startSignalbox({
    policy: tokenPolicy(own, more, others),
    clock: () => performance.now() + ahead,
    now: () => Date.now() + later,
  });
  const ask = (token: string, from = '192.0.2.1') =>
    box.get('/v1/models', { headers: { ...withKey(token).headers, 'x-forwarded-for': from } });
  const stop = async () => {
    await box.stop();
    await own.stop();
  };
  stops.push(stop);
  const reads = () => own.requests.get(KEYS_PATH) ?? 0;
  const move = (ms: number) => (ahead += ms);
  const age = (ms: number) => (later += ms);
  return { box, issuer: own, ask, reads, move, age };
}
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

const TRUSTING = 'gateway: { trusted_proxies: [127.0.0.1], failed_auth_per_minute: 1000000 }\n';

describe('the keys of an issuer', () => {
  test('are read once for many simultaneous tokens, and not again while they are fresh', async () => {
    const { issuer, ask, reads } = await start();
    const tokens = await Promise.all(Array.from({ length: 20 }, (_, at) => issuer.sign({ sub: `s${at}` })));
    const answers = await Promise.all(tokens.map((token) => ask(token)));
    expect(answers.map(({ status }) => status)).toEqual(tokens.map(() => 200));
    expect([issuer.requests.get(DISCOVERY_PATH), reads()]).toEqual([1, 1]);
  });

  test('are read once in 30 seconds, however many unknown keys tokens name', async () => {
    const { issuer, ask, reads, move } = await start('', TRUSTING);
    expect((await ask(await issuer.sign())).status).toBe(200);
    const storm = async () => {
      const tokens = Array.from({ length: 30 }, (_, at) => issuer.sign({}, { header: { kid: `unknown ${at}` } }));
      const answers = await Promise.all((await Promise.all(tokens)).map((token) => ask(token)));
      expect(answers.every(({ status }) => status === 401)).toBe(true);
    };
    await storm();
    expect(reads()).toBe(1);
    move(READ_EVERY);
    await storm();
    await storm();
    expect(reads()).toBe(2);
  });

  test('hold at most 16 MiB of bodies while they are read, refuse further bodies, and release all room', async () => {
    const { issuer, box } = await start();
    const isRead = Promise.withResolvers<void>();
    const keys = issuer.answers.get(KEYS_PATH);
    issuer.answers.set(KEYS_PATH, async () => {
      await isRead.promise;
      issuer.answers.delete(KEYS_PATH);
      return await fetch(`${issuer.url}${KEYS_PATH}`);
    });
    expect(keys).toBeUndefined();
    // A body of unknown length counts as 1 MiB, and an address may use half of the remaining room.
    const sent = await Promise.all(
      Array.from({ length: 12 }, async (_, at) => {
        const connection = await connect(box.url);
        await connection.write(chatHead(await issuer.sign({ sub: `s${at}` }), 'transfer-encoding: chunked'));
        return connection;
      }),
    );
    const refused = () => sent.filter(({ received }) => received.startsWith('HTTP/1.1 503'));
    await waitFor(() => refused().length >= 4);
    expect(refused()).toHaveLength(4);
    isRead.resolve();
    const open = async () => {
      const page = await (await fetch(`${box.url}/metrics`)).text();
      return Number(/^signalbox_requests_open (\d+)$/m.exec(page)?.[1]);
    };
    // The waiting requests are admitted now, and wait for their bodies. The refused requests hold no place.
    await waitFor(async () => (await open()) === 8);
    for (const connection of sent) connection.close();
    await waitFor(async () => (await open()) === 0);
  });

  test('can be replaced: a token of a new key is admitted after one more read', async () => {
    const { issuer, ask, reads, move } = await start();
    expect((await ask(await issuer.sign())).status).toBe(200);
    await issuer.addKey('two');
    const token = await issuer.sign({}, { kid: 'two' });
    expect((await ask(token)).status).toBe(401);
    move(READ_EVERY);
    expect((await ask(token)).status).toBe(200);
    expect(reads()).toBe(2);
  });

  test('that the issuer has withdrawn admit no token after ten minutes, including tokens that were checked before', async () => {
    const { issuer, ask, move } = await start();
    const token = await issuer.sign();
    expect((await ask(token)).status).toBe(200);
    issuer.keys.length = 0;
    await issuer.addKey('two');
    expect((await ask(token)).status).toBe(200);
    move(FRESH);
    // The first request with stale keys is admitted, and the keys are read in the background.
    await waitFor(async () => (await ask(token)).status === 401);
  });

  test('still work for a day while the issuer is not available; without any keys, tokens wait and do not count as failures', async () => {
    const { issuer, ask, move, box } = await start();
    issuer.answers.set(KEYS_PATH, () => new Response('', { status: 500 }));
    for (let again = 0; again < 40; again++) {
      const answer = await ask(await issuer.sign({ jti: `${again}` }));
      expect([answer.status, (await answerOf(answer)).error?.code]).toEqual([503, 'overloaded']);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    }
    const told = () => box.lines.filter((line) => line.includes('the keys of an issuer cannot be read'));
    await waitFor(() => told().length > 0);
    expect(told()).toHaveLength(1);
    issuer.answers.clear();
    move(READ_EVERY);
    const token = await issuer.sign();
    expect((await ask(token)).status).toBe(200);
    issuer.answers.set(KEYS_PATH, () => new Response('', { status: 500 }));
    move(23 * HOUR);
    expect((await ask(await issuer.sign({ sub: 'new' }))).status).toBe(200);
    move(2 * HOUR);
    expect((await ask(token)).status).toBe(503);
  });
});

describe('the keys of an issuer are not read', () => {
  const problemOf = async (spoil: (issuer: TestIssuer) => void, more = '', change = (policy: string) => policy) => {
    const issuer = await startIssuer();
    spoil(issuer);
    const box = await startSignalbox({ policy: change(tokenPolicy(issuer, more)) });
    try {
      expect((await box.get('/v1/models', withKey(await issuer.sign()))).status).toBe(503);
      const isIt = (line: string) => line.includes('the keys of an issuer cannot be read');
      await waitFor(() => box.lines.some(isIt));
      return String(JSON.parse(box.lines.find(isIt) ?? '').problem);
    } finally {
      await box.stop();
      await issuer.stop();
    }
  };
  // The five seconds of the silent connection run in parallel with the other tests.
  let ofSilent: Promise<string>;
  beforeAll(() => {
    const silent = ({ answers }: TestIssuer) => void answers.set(KEYS_PATH, () => new Promise<Response>(() => {}));
    ofSilent = problemOf(silent);
  });

  test('from another host than the discovery document', async () => {
    await using other = { server: await startIssuer(), [Symbol.asyncDispose]: () => other.server.stop() };
    const { url } = other.server;
    const foreign = ({ answers, url: own }: TestIssuer) =>
      void answers.set(DISCOVERY_PATH, () => Response.json({ issuer: own, jwks_uri: `${url}${KEYS_PATH}` }));
    expect(await problemOf(foreign)).toContain('names keys on another host');
    expect(other.server.requests.size).toBe(0);
  });

  test('from the document of another issuer', async () => {
    const spoil = ({ answers, url }: TestIssuer) =>
      void answers.set(DISCOVERY_PATH, () => Response.json({ issuer: `${url}/`, jwks_uri: `${url}${KEYS_PATH}` }));
    expect(await problemOf(spoil)).toContain('belongs to another issuer');
  });

  test('behind a redirect', async () => {
    const to = ({ answers, url }: TestIssuer) =>
      void answers.set(KEYS_PATH, () => Response.redirect(`${url}/elsewhere`, 302));
    expect(await problemOf(to)).toContain('redirects, and redirects are not followed');
  });

  test('from an endless document, or a document that never arrives', async () => {
    const endless = ({ answers }: TestIssuer) =>
      void answers.set(KEYS_PATH, () => new Response(`{"keys":[${'{},'.repeat(200_000)}{}]}`));
    expect(await problemOf(endless)).toContain('more than 262144 bytes');
    expect(await ofSilent).toContain('took longer than 5000 ms');
  });

  test('if there are too many keys or none, or if the document is not JSON', async () => {
    const many = ({ answers }: TestIssuer) =>
      void answers.set(KEYS_PATH, () => Response.json({ keys: Array.from({ length: 101 }, () => ({ kty: 'RSA' })) }));
    expect(await problemOf(many)).toContain('has 101 keys');
    const none = ({ answers }: TestIssuer) => void answers.set(KEYS_PATH, () => Response.json({ keys: [] }));
    expect(await problemOf(none)).toContain('has 0 keys');
    const html = ({ answers }: TestIssuer) => void answers.set(DISCOVERY_PATH, () => new Response('<html>'));
    expect(await problemOf(html)).toContain('does not answer with JSON');
  });

  test('from a private network that the policy does not allow', async () => {
    const forbid = (policy: string) => policy.replace('allow_private_network: true', 'allow_private_network: false');
    const problem = await problemOf(() => {}, '', forbid);
    expect(problem).toBe('`127.0.0.1` points to a private address, which is not allowed');
  });
});

test('a token that was checked before is refused after it has expired', async () => {
  const { issuer, ask, age } = await start();
  const token = await issuer.sign();
  expect((await ask(token)).status).toBe(200);
  age(HOUR / 6 - 60_000);
  expect((await ask(token)).status).toBe(200);
  age(60_000);
  const refused = await ask(token);
  expect([refused.status, (await answerOf(refused)).error?.message]).toEqual([
    401,
    'The token has expired. Get a new one.',
  ]);
});

describe('failed tokens', () => {
  test('are counted by address before a signature is checked: above the limit no signature is checked, but tokens that were checked before still pass', async () => {
    const { issuer, ask } = await start('', 'gateway: { trusted_proxies: [127.0.0.1], failed_auth_per_minute: 5 }\n');
    const good = await issuer.sign();
    expect((await ask(good)).status).toBe(200);
    const forged = async (at: number) => {
      const [header, , signature] = (await issuer.sign({ jti: `${at}` })).split('.');
      const [, payload] = (await issuer.sign({ jti: `other ${at}` })).split('.');
      return `${header}.${payload}.${signature}`;
    };
    const tokens = await Promise.all(Array.from({ length: 20 }, (_, at) => forged(at)));
    const statuses = (await Promise.all(tokens.map((token) => ask(token)))).map(({ status }) => status);
    expect(statuses.filter((status) => status === 401)).toHaveLength(5);
    expect(statuses.filter((status) => status === 429)).toHaveLength(15);
    expect((await ask(good)).status).toBe(200);
    expect((await ask(await issuer.sign({ jti: 'new' }))).status).toBe(429);
    expect((await ask(await issuer.sign({ jti: 'from elsewhere' }), '198.51.100.7')).status).toBe(200);
  });

  test('count only failures: more simultaneous valid tokens than the failure limit are all admitted', async () => {
    const { issuer, ask } = await start('', 'gateway: { failed_auth_per_minute: 3 }\n');
    const tokens = await Promise.all(Array.from({ length: 40 }, (_, at) => issuer.sign({ sub: `s${at}` })));
    const answers = await Promise.all(tokens.map((token) => ask(token)));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
  });
});

describe('keys that the policy contains', () => {
  test('are used without contacting the issuer', async () => {
    const issuer = await startIssuer();
    const inline = `jwks: ${JSON.stringify({ keys: issuer.keys })}\n`;
    const { ask, box } = await start(inline, '', issuer);
    expect((await ask(await issuer.sign())).status).toBe(200);
    expect(issuer.requests.size).toBe(0);
    expect(box.lines.join('\n')).not.toContain('cannot be read');
  });

  test('in an environment variable that is not set admit no token, and the log says so', async () => {
    const { issuer, ask, box } = await start('jwks_env: CLUSTER_JWKS\n');
    expect((await ask(await issuer.sign())).status).toBe(503);
    expect(issuer.requests.size).toBe(0);
    await waitFor(() => box.lines.some((line) => line.includes('the variable with the keys is not set')));
  });

  test('in a file are replaced within seconds of its change, and the old key no longer works', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'jwks.json');
    const issuer = await startIssuer();
    writeFileSync(file, JSON.stringify({ keys: issuer.keys }));
    const policy = tokenPolicy(issuer, 'jwks_env: CLUSTER_JWKS\n');
    const box = await startSignalbox({ policy, env: { CLUSTER_JWKS_FILE: file } });
    stops.push(async () => {
      await box.stop();
      await issuer.stop();
      rmSync(folder, { recursive: true, force: true });
    });
    const status = async (token: string) => (await box.get('/v1/models', withKey(token))).status;
    const old = await issuer.sign();
    expect(await status(old)).toBe(200);
    issuer.keys.length = 0;
    await issuer.addKey('two');
    writeFileSync(file, JSON.stringify({ keys: issuer.keys }));
    await waitFor(async () => (await status(old)) === 401, 4 * SECRETS_EVERY);
    expect(await status(await issuer.sign({}, { kid: 'two' }))).toBe(200);
    expect(issuer.requests.size).toBe(0);
  });
});

const owner = useStarted(() => startIssuer());
const live = useLivePolicy(() => ({ 'policy.yaml': tokenPolicy(owner) }));

describe('a changed issuer', () => {
  test('checks tokens again that were checked before: their audience, their condition, and whether the issuer still exists', async () => {
    const token = await owner.sign();
    const status = async () => (await live.box.get('/v1/models', withKey(token))).status;
    const write = async (text: string) => {
      live.replace('policy.yaml', text);
      expect((await live.reload()).status).toBe(200);
      return await status();
    };
    expect(await status()).toBe(200);
    expect(await write(tokenPolicy(owner).replace(AUDIENCE, 'https://other.example'))).toBe(401);
    expect(await write(tokenPolicy(owner))).toBe(200);
    expect(await write(tokenPolicy(owner).replace('== "acme"', '== "other"'))).toBe(401);
    expect(await write(`${TOY}tokens:${issuerEntry(owner)}`)).toBe(200);
    expect(await write(TOY)).toBe(401);
  });
});
