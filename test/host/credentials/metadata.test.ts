import { afterAll, expect, test } from 'bun:test';
import { callMetadata } from '../../../src/host/credentials/metadata.ts';
import { type OutboundError, outbound } from '../../../src/host/outbound.ts';
import { startOwnServer } from '../../support/own-server.ts';

const server = startOwnServer((request) => new Response(`${request.method} ${request.headers.get('metadata')}`));
afterAll(() => server.stop());

const LIMITS = { timeoutMs: 300, bytesMax: 1_000 };
const call = (url: string, lookup?: (host: string) => Promise<readonly string[]>) =>
  callMetadata({ url, method: 'PUT', headers: { metadata: 'true' }, ...LIMITS }, lookup);
const faultOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    ({ fault }: OutboundError) => fault,
  );

test('a metadata service on this machine can be called with PUT', async () => {
  expect(await call(server.url)).toMatchObject({ status: 200, text: 'PUT true' });
  const named = server.url.replace('127.0.0.1', 'localhost');
  expect(await call(named, async () => ['127.0.0.1'])).toMatchObject({ status: 200 });
});

const DOCUMENTED = [
  ...['169.254.169.254', '169.254.170.2', '169.254.170.23', '[fd00:ec2::254]', '[fd00:ec2::23]'],
  'metadata.google.internal',
];
for (const host of DOCUMENTED) {
  test(`the documented metadata service ${host} may be called by a token source, and by nothing else`, async () => {
    const lookup = async () => ['169.254.169.254'];
    // This machine may have no such service, so the call ends in another way than a refusal.
    expect(await faultOf(call(`http://${host}/latest/api/token`, lookup))).not.toBe('refused');
    const request = { url: `http://${host}/`, method: 'GET', allowPrivate: true, ...LIMITS } as const;
    expect(await faultOf(outbound(request, lookup))).toBe('refused');
  });
}

const REFUSED: readonly (readonly [url: string, address: string])[] = [
  ['http://169.254.169.253/', ''],
  ['http://168.63.129.16/', ''],
  ['http://100.100.100.200/', ''],
  ['http://10.0.0.5/', ''],
  ['http://example.com/', '169.254.169.254'],
  ['http://metadata.google.internal.example.com/', '169.254.169.254'],
  ['https://169.254.169.254/', ''],
  ['http://metadata.google.internal/', '10.0.0.5'],
  ['http://metadata.google.internal/', '127.0.0.1'],
  ['http://localhost/', '169.254.169.254'],
  ['http://localhost/', '10.0.0.5'],
];
for (const [url, address] of REFUSED) {
  test(`a token source may not call ${url}${address && ` at ${address}`} as a metadata service`, async () => {
    expect(await faultOf(call(url, async () => [address]))).toBe('refused');
  });
}
