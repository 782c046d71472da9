import { afterAll, expect, test } from 'bun:test';
import { parseAddress } from '../../../src/core/net/address.ts';
import { callMetadata, isMetadata } from '../../../src/host/credentials/metadata.ts';
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

/** No test connects to a real metadata service, which has the credentials of the machine. */
const DOCUMENTED: readonly (readonly [host: string, address: string])[] = [
  ['169.254.169.254', '169.254.169.254'],
  ['169.254.170.2', '169.254.170.2'],
  ['169.254.170.23', '169.254.170.23'],
  ['[fd00:ec2::254]', 'fd00:ec2::254'],
  ['[fd00:ec2::23]', 'fd00:ec2::23'],
  ['metadata.google.internal', '169.254.169.254'],
  ['metadata.google.internal', 'fd20:ce::254'],
];
for (const [host, address] of DOCUMENTED) {
  test(`the metadata service ${host} at ${address} may be called by a token source, and by nothing else`, async () => {
    const url = `http://${host}/latest/api/token`;
    expect(isMetadata(new URL(url), parseAddress(address)!)).toBe(true);
    const request = { url, method: 'GET', allowPrivate: true, ...LIMITS } as const;
    expect(await faultOf(outbound(request, async () => [address]))).toBe('refused');
  });
}

const REFUSED: readonly (readonly [url: string, address?: string])[] = [
  ['http://169.254.169.253/'],
  ['http://168.63.129.16/'],
  ['http://100.100.100.200/'],
  ['http://10.0.0.5/'],
  ['http://example.com/', '169.254.169.254'],
  ['http://metadata.google.internal.example.com/', '169.254.169.254'],
  ['https://169.254.169.254/'],
  ['http://metadata.google.internal/', '10.0.0.5'],
  ['http://metadata.google.internal/', '127.0.0.1'],
  ['http://localhost/', '169.254.169.254'],
  ['http://localhost/', '10.0.0.5'],
];
for (const [url, address = ''] of REFUSED) {
  test(`a token source may not call ${url}${address && ` at ${address}`} as a metadata service`, async () => {
    expect(await faultOf(call(url, async () => [address]))).toBe('refused');
  });
}
