import { describe, expect, test } from 'bun:test';
import { scrub } from '../../../src/host/telemetry/secrets.ts';
import { UpstreamNetwork } from '../../../src/providers/connection/network.ts';
import { Resolver } from '../../../src/providers/connection/resolver.ts';
import { urlBelow } from '../../../src/providers/http1/connection-pool.ts';
import { type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.ts';
import { freePort } from '../../support/ports.ts';
import { failureIn, openTo, partsOf, textIn } from '../../support/provider-call.ts';

/** Creates a dial whose host resolves to successive `answers`; the last one repeats. */
function dialTo(baseUrl: string, answers: readonly (readonly string[])[] = [], allowPrivate = false) {
  let asked = 0;
  const resolver = new Resolver(async () => {
    const answer = answers[Math.min(asked++, answers.length - 1)];
    if (!answer) throw Object.assign(new Error('secret words'), { code: 'ENOTFOUND' });
    return answer;
  });
  const dial = new UpstreamNetwork(resolver).dial({ provider: 'lab', baseUrl, allowPrivate }, () => undefined)!;
  return { dial, asked: () => asked, bases: async (ms = 0) => basesOf(await dial.peers(performance.now() + ms)) };
}

const basesOf = (peers: readonly { readonly base: string }[]) => peers.map(({ base }) => base);

describe('a name may resolve', () => {
  test.each<[string, string[], boolean]>([
    ['https://api.example/v1', ['1.1.1.1'], false],
    ['https://api.example/v1', ['2606:4700::1', '64:ff9b::101:101'], false],
    ['http://ollama:11434/v1', ['172.17.0.2'], true],
    ['http://ollama.svc/v1', ['fd00::7', '100.64.0.9', '127.0.0.1'], true],
    ['http://localhost:11434/v1', ['127.0.0.1', '::1'], false],
    ['http://lab.localhost:11434/v1', ['127.0.0.1'], false],
  ])('%s to %j, with allow_private_network: %p', async (url, addresses, allowPrivate) => {
    const { bases } = dialTo(url, [addresses], allowPrivate);
    expect((await bases()).length).toBe(addresses.length);
  });

  test.each<[string, string, boolean, string]>([
    ['http://api.example/v1', '10.0.0.5', false, 'private'],
    ['http://api.example/v1', '127.0.0.1', false, 'private'],
    ['http://notlocalhost/v1', '127.0.0.1', false, 'private'],
    ['http://localhost.example/v1', '::1', false, 'private'],
    ['http://api.example/v1', '::ffff:10.0.0.5', false, 'private'],
    ['http://api.example/v1', '64:ff9b::a00:5', false, 'private'],
    ['http://api.example/v1', '169.254.169.254', true, 'requests are never sent'],
    ['http://localhost/v1', '169.254.169.254', false, 'requests are never sent'],
    ['http://api.example/v1', 'fd00:ec2::254', true, 'requests are never sent'],
    ['http://api.example/v1', '64:ff9b::a9fe:a9fe', true, 'requests are never sent'],
    ['http://api.example/v1', 'fe80::1%eth0', true, 'requests are never sent'],
    ['http://api.example/v1', 'no address at all', true, 'requests are never sent'],
  ])('a host does not lead from %s to %s, with allow_private_network: %p', async (url, address, allowPrivate, why) => {
    const { bases } = dialTo(url, [[address]], allowPrivate);
    const { hostname } = new URL(url);
    const failure = await bases().catch((error: unknown) => error);
    expect(failure).toMatchObject({ failure: { kind: 'connect' } });
    expect(String(failure)).toContain(`\`${hostname}\` resolves to ${address}, `);
    expect(String(failure)).toContain(why);
    expect(String(failure).includes('`providers.lab.allow_private_network`')).toBe(why === 'private');
  });

  test('a host with allowed and forbidden addresses leads only to the allowed ones', async () => {
    const { bases } = dialTo('https://api.example/v1', [
      ['10.0.0.1', '1.1.1.1', '169.254.169.254', '1.0.0.1', '1.1.1.1'],
    ]);
    expect(await bases()).toEqual(['https://1.1.1.1/v1', 'https://1.0.0.1/v1']);
  });

  test('a host that later has other addresses leads to them after another check', async () => {
    const { bases } = dialTo('https://api.example/v1', [['1.1.1.1'], ['10.0.0.1']]);
    expect(await bases()).toEqual(['https://1.1.1.1/v1']);
    // The old answer is used while the new one is fetched.
    expect(await bases(35_000)).toEqual(['https://1.1.1.1/v1']);
    await Bun.sleep(0);
    await expect(bases()).rejects.toThrow('10.0.0.1, a private address');
  });
});

describe('an address that the policy names', () => {
  test.each(['http://127.0.0.1:11434/v1', 'http://10.0.0.5', 'http://[fd00::7]:8080/v1', 'https://1.1.1.1/v1'])(
    'is used without a lookup: %s',
    async (url) => {
      const { bases, asked, dial } = dialTo(url, [['9.9.9.9']]);
      expect(await bases()).toEqual([url]);
      expect(asked()).toBe(0);
      expect(dial.hostHeader).toBeNull();
    },
  );

  test.each([
    'http://169.254.169.254/v1',
    'http://0.0.0.0:11434',
    'http://[fe80::1]/',
    'http://[::ffff:169.254.169.254]',
  ])('is never called: %s', (url) => {
    const { dial } = dialTo(url, [['1.1.1.1']], true);
    expect(() => dial.peers(0)).toThrow('requests are never sent');
  });

  test.each(['file:///etc/passwd', 'ftp://api.example', 's3://bucket', 'unix:///run/x.sock', 'nonsense'])(
    'with another scheme is not accepted: %s',
    (baseUrl) => {
      expect(new UpstreamNetwork().dial({ provider: 'lab', baseUrl, allowPrivate: true }, () => undefined)).toBeNull();
    },
  );
});

describe('the addresses of a name', () => {
  test('keep port and path, and IPv6 addresses keep their brackets', async () => {
    const { bases, dial } = dialTo('http://api.example:8080/base/v1/', [['1.1.1.1', '2606:4700::1']]);
    expect(await bases()).toEqual(['http://1.1.1.1:8080/base/v1', 'http://[2606:4700:0:0:0:0:0:1]:8080/base/v1']);
    const [peer] = await dial.peers(performance.now());
    expect(urlBelow(peer!.base, '/chat/completions')).toBe('http://1.1.1.1:8080/base/v1/chat/completions');
    expect(urlBelow(peer!.base, '//elsewhere.example/x')).toBe('http://1.1.1.1:8080/base/v1/elsewhere.example/x');
  });

  test('start with the address that worked last, even if a new answer has another order', async () => {
    const { bases, dial } = dialTo('http://api.example', [
      ['1.1.1.1', '1.0.0.1'],
      ['1.1.1.1', '8.8.8.8', '1.0.0.1'],
      ['8.8.8.8'],
    ]);
    await bases();
    const [, second] = await dial.peers(performance.now());
    dial.answered(second!);
    expect(await bases()).toEqual(['http://1.0.0.1', 'http://1.1.1.1']);
    await bases(35_000);
    await Bun.sleep(0);
    expect(await bases()).toEqual(['http://1.0.0.1', 'http://1.1.1.1', 'http://8.8.8.8']);
    const [same] = await dial.peers(performance.now());
    expect(same).toBe(second!);
    await bases(35_000);
    await Bun.sleep(0);
    expect(await bases()).toEqual(['http://8.8.8.8']);
  });

  test('are at most eight', async () => {
    const many = Array.from({ length: 50 }, (_, i) => `1.1.1.${i}`);
    expect((await dialTo('http://api.example', [many]).bases()).length).toBe(8);
  });

  test('that are unknown cause a failure with the resolver’s code, but without its message', async () => {
    const { bases } = dialTo('http://api.example', []);
    for (let i = 0; i < 2; i++) await expect(bases()).rejects.toThrow(/^no address for `api.example` \(ENOTFOUND\)$/);
  });
});

test('a provider keeps its dial over a reload that changes neither it nor its proxy', () => {
  const network = new UpstreamNetwork();
  const options = { provider: 'lab', baseUrl: 'https://api.example/v1', allowPrivate: false };
  const dial = network.dial(options, () => undefined);
  expect(network.dial({ ...options }, () => undefined)).toBe(dial);
  expect(network.dial({ ...options, allowPrivate: true }, () => undefined)).not.toBe(dial);
  expect(network.dial({ ...options, provider: 'other' }, () => undefined)).not.toBe(dial);
  const by = (password: string) =>
    network.dial(options, (name) => (name === 'all_proxy' ? `http://me:${password}@127.0.0.1:9` : undefined));
  expect(by('proxy-secret-one')).toBe(by('proxy-secret-one'));
  expect(by('proxy-secret-two')).not.toBe(by('proxy-secret-one'));
  expect(scrub('proxy-secret-one and proxy-secret-two')).toBe('[secret] and [secret]');
});

describe('behind a proxy', () => {
  /** Starts a plain HTTP proxy that answers itself and records its requests. */
  function startProxy() {
    const asked: string[] = [];
    const answer = JSON.stringify({ choices: [{ index: 0, message: { content: 'by proxy' }, finish_reason: 'stop' }] });
    const server = Bun.listen({
      hostname: '127.0.0.1',
      // The proxy accepts every request, so it uses a port that the system gives to no other test's server.
      port: freePort(),
      socket: {
        data(socket, data) {
          // The body may arrive separately.
          if (!data.includes('\r\n\r\n')) return;
          asked.push(data.toString().split('\r\n')[0]!);
          socket.write(
            `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${answer.length}\r\n\r\n${answer}`,
          );
        },
      },
    });
    return { asked, url: `http://127.0.0.1:${server.port}`, stop: () => server.stop(true) };
  }
  const nobody = () => new Resolver(() => Promise.reject(new Error('nothing is looked up')));

  test('host names go to the proxy without being resolved', async () => {
    const proxy = startProxy();
    const options = { network: new UpstreamNetwork(nobody()), env: { HTTP_PROXY: proxy.url } };
    expect(textIn(await partsOf(openTo('http://api.example:81/v1', options)))).toBe('by proxy');
    expect(proxy.asked).toEqual(['POST http://api.example:81/v1/chat/completions HTTP/1.1']);
    proxy.stop();
  });

  test('hosts in `no_proxy` are connected to directly, and checked', async () => {
    const proxy = startProxy();
    const network = new UpstreamNetwork(new Resolver(async () => ['10.0.0.5']));
    const env = { HTTP_PROXY: proxy.url, NO_PROXY: 'example' };
    const failure = failureIn(await partsOf(openTo('http://api.example:81/v1', { network, env })));
    expect(failure?.message).toContain('10.0.0.5, a private address');
    expect(proxy.asked).toEqual([]);
    proxy.stop();
  });

  test('fetch does not read the process’s environment itself', async () => {
    const proxy = startProxy();
    const upstream: FakeUpstream = startFakeUpstream({ behaviour: { text: 'directly' } });
    const before = process.env.HTTP_PROXY;
    process.env.HTTP_PROXY = proxy.url;
    try {
      const said = textIn(await partsOf(openTo(upstream.url, { network: new UpstreamNetwork(nobody()), env: {} })));
      expect([said, proxy.asked]).toEqual(['directly', []]);
    } finally {
      if (before === undefined) delete process.env.HTTP_PROXY;
      else process.env.HTTP_PROXY = before;
      proxy.stop();
      await upstream.stop();
    }
  });
});
