import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { pathsOf } from '../../src/dialects/surface.ts';
import { SURFACES } from '../../src/dialects/surfaces.ts';
import { KEY_HEADERS } from '../../src/http/kit/credentials.ts';
import { testPolicy } from '../support/policies.ts';
import { connect } from '../support/raw-http.ts';
import { useSignalbox } from '../support/use.ts';

/** Keys of any bytes, at every place of a request that can have a key. */
const LIMITS = 'gateway: { trusted_proxies: [127.0.0.1], failed_auth_per_minute: 1 }\n';
const box = useSignalbox({
  policy: testPolicy({ fake: 'http://127.0.0.1:9' }, { best: { endpoints: ['fake'] } }, LIMITS),
});

interface KeyPlace {
  readonly path: string;
  /** The header with the key; null for a parameter of the query. */
  readonly header: string | null;
  readonly parameter: string | null;
}

const pathsIn = (surface: (typeof SURFACES)[number]): readonly string[] =>
  surface.routes.flatMap(pathsOf).map((path) => path.replace('{model}', 'best'));

const PLACES: readonly KeyPlace[] = SURFACES.flatMap((surface) => {
  const { keyParameter: parameter = null } = surface;
  return pathsIn(surface).flatMap((path) => [
    ...KEY_HEADERS.map((header) => ({ path, header, parameter: null })),
    ...(parameter === null ? [] : [{ path, header: null, parameter }]),
  ]);
});

const LISTS: ReadonlySet<string> = new Set(
  SURFACES.flatMap(({ routes }) => routes.flatMap(({ kind, path }) => (kind === 'list' ? [path] : []))),
);

/** Sends a key from an address. @returns the status */
type Send = (place: KeyPlace, key: Uint8Array, address: string) => Promise<number>;

const percent = (bytes: Uint8Array): string =>
  [...bytes].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');

const send: Send = async ({ path, header, parameter }, key, address) => {
  const method = LISTS.has(path) ? 'GET' : 'POST';
  const query = parameter === null ? '' : `?${parameter}=${percent(key)}`;
  const lines = [`${method} ${path}${query} HTTP/1.1`, 'host: a', `x-forwarded-for: ${address}`, 'connection: close'];
  if (method === 'POST') lines.push('content-type: application/json', 'content-length: 2');
  const head = Buffer.from(`${lines.join('\r\n')}\r\n`);
  const own = header === null ? [] : [Buffer.from(`${header}: `), key, Buffer.from('\r\n')];
  const connection = await connect(box.url);
  try {
    await connection.write(Buffer.concat([head, ...own, Buffer.from(`\r\n${method === 'POST' ? '{}' : ''}`)]));
    return (await connection.response()).status;
  } finally {
    connection.close();
  }
};

const anyKey = fc.uint8Array({ maxLength: 24 });
/** HTTP has no header with another byte. */
const isInHeaders = (byte: number): boolean => byte === 9 || byte >= 0x20;

const sentKey = fc.tuple(fc.constantFrom(...PLACES), anyKey, fc.boolean()).map(([place, bytes, isBearer]) => {
  const key = place.header === null ? bytes : bytes.filter(isInHeaders);
  return {
    place,
    key: isBearer && place.header === 'authorization' ? Buffer.concat([Buffer.from('Bearer '), key]) : key,
  };
});

/** A wrong key gets 401 and is counted, so that the second key from its address gets 429. */
const law = (sending: Send) => {
  let addresses = 0;
  return fc.asyncProperty(sentKey, sentKey, async (first, second) => {
    addresses++;
    const address = `10.0.${addresses >> 8}.${addresses & 255}`;
    expect(await sending(first.place, first.key, address)).toBe(401);
    expect(await sending(second.place, second.key, address)).toBe(429);
  });
};

test('a key of any bytes is a wrong key: it gets 401, and counts as a failed key', async () => {
  expect(PLACES.some(({ parameter }) => parameter !== null)).toBeTrue();
  await fc.assert(law(send), { numRuns: 200 });
  for (const key of ['\0', '\r\n', '\u00e9', '\ud83d\udd11'])
    for (const place of PLACES.filter(({ header }) => header === null))
      expect([
        key,
        await send(place, Buffer.from(key), `10.1.${key.codePointAt(0)! & 255}.${PLACES.indexOf(place)}`),
      ]).toEqual([key, 401]);
  expect(box.lines.filter((line) => line.includes('internal error'))).toEqual([]);
});

test('the law detects that a key which no header can carry is an internal error, and that it is not counted', async () => {
  const failing: Send = async (place, key, address) => {
    try {
      if (place.header === null) new Headers().set('x-api-key', new TextDecoder().decode(key));
    } catch {
      return 500;
    }
    return send(place, key, address);
  };
  const uncounted: Send = async (place, key, address) =>
    place.header === null && key.includes(0) ? 401 : send(place, key, address);
  for (const mutant of [failing, uncounted]) expect((await fc.check(law(mutant), { numRuns: 500 })).failed).toBeTrue();
});
