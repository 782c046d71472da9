import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { effort } from '../deep/effort.ts';
import { waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { testPolicy } from '../support/policies.ts';
import { chatHead, connect, type RawConnection } from '../support/raw-http.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

const MiB = 1_048_576;
const PLACES = 70;
/** A slow body may be cut after its first second; the longest test of this waits this long, ms. */
const SLOW_MS = 1_200;
/** The memory for all bodies together. */
const ROOM = 8 * MiB;

const upstream = useUpstream();
let attacker: string;
let other: string;
const connections: RawConnection[] = [];

const box = useSignalbox(() => {
  const more = `
gateway: { concurrency_max: ${PLACES}, queue_max: 2, queue_ms: 100, retries_max: 0, bodies_bytes_max: ${ROOM} }
`;
  const policy = testPolicy({ first: upstream.url }, { best: { endpoints: ['first'] } }, more);
  return { policy };
});
beforeAll(async () => {
  attacker = await makeKey('attacker');
  other = await makeKey('other');
});

afterAll(async () => {
  leave();
});

async function makeKey(name: string): Promise<string> {
  const response = await box.post('/admin/keys', { name, scopes: ['chat'] });
  const made = await response.json();
  expect(response.ok).toBe(true);
  return (made as { key: string }).key;
}

async function begin(key: string, header: string, start = ''): Promise<RawConnection> {
  const connection = await connect(box.url);
  connections.push(connection);
  await connection.write(`${chatHead(key, header)}${start}`);
  return connection;
}

function leave(): void {
  for (const connection of connections.splice(0)) connection.close();
}

/** Returns the number of requests that hold a place. */
async function open(): Promise<number> {
  const page = await (await fetch(`${box.url}/metrics`)).text();
  return Number(/^signalbox_requests_open (\d+)$/m.exec(page)?.[1]);
}

const BODY = JSON.stringify({ model: 'best', messages: [{ role: 'user', content: 'Say hello.' }] });
/** A chat of this many bytes, most of them spaces. */
const padded = (bytes: number) => BODY.padEnd(bytes, ' ');
const chat = (key = other, body = BODY) =>
  box.post('/v1/chat/completions', null, { body, headers: { authorization: `Bearer ${key}` } });

describe('one key cannot exclude other keys', () => {
  test('lengths that one key announces and does not send do not exclude other keys', async () => {
    const heads = [
      ...Array<number>(51).fill(10_485_760),
      ...Array<number>(2).fill(1_048_500),
      ...Array<number>(3).fill(40),
    ];
    await Promise.all(heads.map((length) => begin(attacker, `content-length: ${length}`)));
    await waitFor(async () => (await open()) >= heads.length);
    for (let i = 0; i < 5; i++) expect((await chat()).status).toBe(200);
    // This request reserves memory as its bytes arrive, in addition to the two requests that may reserve memory at once.
    expect((await chat(other, padded(2 * MiB))).status).toBe(200);
    leave();
    await waitFor(async () => (await open()) === 0);
  });

  test('bodies that one key sends and does not finish take at most half of the memory', async () => {
    const half = padded(MiB - 1);
    const bodies = await Promise.all(Array.from({ length: 12 }, () => begin(attacker, `content-length: ${MiB}`, half)));
    const refused = () => bodies.filter(({ received }) => received.startsWith('HTTP/1.1 503')).length;
    await waitFor(() => refused() >= 8);
    expect((await chat(other, padded(MiB))).status).toBe(200);
    expect(refused()).toBeLessThan(12);
    const [last] = bodies.filter(({ received }) => received !== '');
    await expectError(await last!.response(), 'overloaded');
    expect((await last!.closed).toLowerCase()).toContain('connection: close');
    leave();
    await waitFor(async () => (await open()) === 0);
    expect((await chat(attacker, padded(6 * MiB))).status).toBe(200);
  });

  test('long requests of one key leave a tenth of the places to other keys', async () => {
    const leaving = new AbortController();
    upstream.behave(() => ({ hang: 'headers' }));
    const held = Array.from({ length: PLACES + 2 }, () =>
      box
        .post('/v1/chat/completions', null, {
          body: BODY,
          headers: { authorization: `Bearer ${attacker}` },
          signal: leaving.signal,
        })
        .catch(() => null),
    );
    await waitFor(async () => (await open()) >= PLACES * 0.9);
    upstream.behave({});
    for (let i = 0; i < 5; i++) expect((await chat()).status).toBe(200);
    leaving.abort();
    await Promise.all(held);
    await waitFor(async () => (await open()) === 0);
  });

  test('slow bodies of one key are cut when other keys need their places', async () => {
    const share = PLACES * 0.9;
    const trickle = (at: number) =>
      begin(
        at < share ? attacker : box.key,
        at % 2 === 0 ? `content-length: ${at % 4 === 0 ? MiB : 1_000}` : 'transfer-encoding: chunked',
        at % 2 === 0 ? '{' : '',
      );
    const trickles: RawConnection[] = [];
    // The first caller comes first, because it would get none of the last tenth of the places.
    for (const [from, to] of [
      [0, share],
      [share, PLACES],
    ] as const) {
      trickles.push(...(await Promise.all(Array.from({ length: to - from }, (_, at) => trickle(from + at)))));
      await waitFor(async () => (await open()) === to);
    }
    await Bun.sleep(SLOW_MS);
    const drip = setInterval(() => {
      for (const [at, trickle] of trickles.entries()) void trickle.write(at % 2 === 0 ? ' ' : '1\r\n \r\n');
    }, 100);
    try {
      for (let i = 0; i < 5; i++) expect((await chat()).status).toBe(200);
    } finally {
      clearInterval(drip);
    }
    const cut = trickles.filter(({ received }) => received !== '');
    expect(cut.length).toBeWithin(1, 6);
    for (const trickle of cut) await expectError(await trickle.response(), 'request_timeout');
    leave();
    await waitFor(async () => (await open()) === 0);
  });
});

const { runs, random, proved } = effort('floods', 60, 6_000);

test('whatever a key floods the server with, the server answers every chat of another key, and releases all places', async () => {
  const anyOf = <T>(...list: T[]): T => list[Math.floor(random() * list.length)]!;
  const counts = { announced: 0, unfinished: 0, trickles: 0, whole: 0, chats: 0 };
  let isOver = false;
  const flood = async () => {
    for (let at = 0; at < runs; at++) {
      const kind = anyOf<Exclude<keyof typeof counts, 'chats'>>('announced', 'unfinished', 'trickles', 'whole');
      counts[kind]++;
      const length = anyOf(40, 60_000, 70_000, MiB - 1, 2 * MiB, 10_485_760);
      // A larger body could take all the memory while it is the only one.
      if (kind === 'whole') void chat(attacker, padded(Math.min(length, ROOM / 2))).then((answer) => answer.text());
      else {
        const sent = kind === 'announced' ? '' : ' '.repeat(Math.floor(random() * Math.min(length, 2 * MiB)));
        const header = kind === 'trickles' ? 'transfer-encoding: chunked' : `content-length: ${length}`;
        const one = await begin(attacker, header);
        // The server does not read a refused request to its end, so the test does not wait until it is sent.
        void one.write(kind === 'trickles' ? `1\r\n{\r\n` : sent);
      }
      // The test opens fewer slow connections than the server has places, because a body counts as slow only after a second.
      while (connections.length > PLACES - 10)
        connections.splice(Math.floor(random() * connections.length), 1)[0]!.close();
      await Bun.sleep(random() * 10);
    }
    isOver = true;
  };
  const statuses = new Set<number>();
  const bystander = async () => {
    while (!isOver) {
      const answer = await chat(other, padded(anyOf(BODY.length, 50_000, 300_000)));
      await answer.text();
      statuses.add(answer.status);
      counts.chats++;
    }
  };
  await Promise.all([flood(), bystander()]);
  expect([...statuses]).toEqual([200]);
  leave();
  await waitFor(async () => (await open()) === 0);
  expect((await chat(attacker, padded(7 * MiB))).status).toBe(200);
  proved(
    `floods of one key (${counts.announced} lengths announced and not sent, ${counts.unfinished} bodies not finished, ${counts.trickles} that trickled, ${counts.whole} whole ones): ${counts.chats} chats of another, all answered`,
  );
});
