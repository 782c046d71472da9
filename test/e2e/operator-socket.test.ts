import { beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { runHere } from '../support/run-here.ts';
import { startSignalbox, temporaryFolder, withKey } from '../support/signalbox.ts';
import { useSignalbox } from '../support/use.ts';

/** The Unix socket in the data folder, through which commands reach a running server. */
const box = useSignalbox();
const socketIn = (data: string) => join(data, 'operator.sock');
const overSocket = (path: string, init: RequestInit = {}) =>
  fetch(`http://localhost${path}`, { ...init, unix: socketIn(box.data) });

test('only the user who runs the server can open the operator socket', () => {
  expect(statSync(socketIn(box.data)).mode & 0o777).toBe(0o600);
});

test('the running server carries out a command as the operator, and the audit trail has the user who ran it', async () => {
  const made = JSON.parse((await box.run('keys', 'create', '--name', 'by command', '--json')).out);
  // The running server created the key, so the key works at once.
  expect((await box.get('/v1/models', withKey(made.key))).status).toBe(200);
  const trail = (await (await box.get('/admin/trail?action=create')).json()) as { data: object[] };
  expect(trail.data[0]).toMatchObject({ actor: { kind: 'cli' }, subject: { kind: 'key', id: made.id } });
});

test('a lost last admin key can be replaced while the server runs', async () => {
  const { out } = await box.run('keys', 'create', '--scope', 'admin');
  expect((await box.get('/admin/keys', withKey(out.split('\n')[0]!))).status).toBe(200);
});

test('the socket serves operations of operators, and no model requests', async () => {
  const body = JSON.stringify({ model: 'auto', messages: [{ role: 'user', content: 'Hi.' }] });
  const headers = { 'content-type': 'application/json' };
  expect((await overSocket('/v1/chat/completions', { method: 'POST', body, headers })).status).toBe(404);
  expect((await overSocket('/metrics')).status).toBe(404);
  expect((await overSocket('/admin/keys')).status).toBe(200);
});

test('the headers of the operator socket give a network request no additional rights', async () => {
  const headers = { 'x-signalbox-operator': 'root', 'x-signalbox-terminal': 'root' };
  const answer = await fetch(`${box.url}/admin/keys`, { headers });
  expect(answer.status).toBe(401);
});

test('the server uses headers of the operator socket that are not percent-encoded unchanged', async () => {
  expect((await overSocket('/admin/keys', { headers: { 'x-signalbox-operator': '%zz' } })).status).toBe(200);
});

test('a name of an operator cannot control the terminal of a reader of the trail, and the trail finds and erases it', async () => {
  const name = 'eve\u001b]0;x\u0007\u202elamron\u2066';
  const headers = {
    'content-type': 'application/json',
    'x-signalbox-operator': encodeURIComponent(name),
    'x-signalbox-terminal': encodeURIComponent(`tty\u009b2J${name}`),
  };
  const body = JSON.stringify({ name: 'by eve' });
  expect((await overSocket('/admin/keys', { method: 'POST', body, headers })).status).toBe(200);
  const entriesOf = async () => {
    const answer = await box.get(`/admin/trail?actor=${encodeURIComponent(name)}`);
    return (await answer.json()) as { readonly data: readonly { readonly actor: { readonly name: string } }[] };
  };
  const { data } = await entriesOf();
  expect(data).toHaveLength(1);
  expect(data[0]?.actor.name).toBe('eve\ufffd]0;x\ufffd\ufffdlamron\ufffd');
  expect(JSON.stringify(data)).not.toMatch(/[\p{Cc}\p{Bidi_Control}]|\\u00/u);
  const erased = await box.post('/admin/trail/erase', { actor_name: name });
  expect([erased.status, (await entriesOf()).data]).toEqual([200, []]);
});

test('the operator socket disappears with its server, and commands then work on the database', async () => {
  const data = temporaryFolder();
  const server = await startSignalbox({ data });
  expect(existsSync(socketIn(data))).toBe(true);
  await server.stop();
  expect(existsSync(socketIn(data))).toBe(false);
  expect((await runHere(['keys', 'create', '--name', 'later', '--data', data])).code).toBe(0);
});

test('commands ignore an operator socket that a killed server left, and the next server replaces the socket', async () => {
  const data = temporaryFolder();
  await (await startSignalbox({ data })).stop();
  // A socket whose process ended without removing it refuses connections.
  const left = Bun.spawnSync([
    process.execPath,
    '-e',
    `Bun.serve({ unix: ${JSON.stringify(socketIn(data))}, fetch: () => new Response() }); process.kill(process.pid, 'SIGKILL')`,
  ]);
  expect([left.signalCode, existsSync(socketIn(data))]).toEqual(['SIGKILL', true]);
  expect((await runHere(['keys', 'list', '--data', data])).code).toBe(0);
  const next = await startSignalbox({ data });
  expect((await fetch('http://localhost/healthz', { unix: socketIn(data) })).status).toBe(200);
  await next.stop();
});

test('a command reports a server that does not answer within 2 s, and --offline works on the database', async () => {
  const data = temporaryFolder();
  await (await startSignalbox({ data })).stop();
  const silent = Bun.serve({ unix: socketIn(data), fetch: () => new Promise<Response>(() => {}) });
  try {
    const refused = await runHere(['keys', 'create', '--name', 'now', '--data', data]);
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('--offline')]);
    const made = await runHere(['keys', 'create', '--name', 'now', '--offline', '--data', data]);
    expect([made.code, made.out]).toEqual([0, expect.stringContaining('sb_live_')]);
  } finally {
    await silent.stop(true);
  }
});

test('the operator socket ignores an Idempotency-Key', async () => {
  const send = () =>
    overSocket('/admin/keys', {
      method: 'POST',
      body: JSON.stringify({ name: 'by socket' }),
      headers: { 'content-type': 'application/json', 'idempotency-key': 'once' },
    });
  const made: { id: string }[] = [];
  for (const answer of [await send(), await send()]) {
    expect([answer.status, answer.headers.get('x-signalbox-replayed')]).toEqual([200, null]);
    made.push((await answer.json()) as { id: string });
  }
  expect(made[0]!.id).not.toBe(made[1]!.id);
});

test.each(['/healthz', '/admin/keys'])(
  'a command stops reading an endless answer of another program at its socket: %s',
  async (endless) => {
    const data = temporaryFolder();
    await (await startSignalbox({ data })).stop();
    const [piece, most] = [new Uint8Array(2 ** 20).fill(32), 160];
    let pieces = 0;
    const impostor = Bun.serve({
      unix: socketIn(data),
      fetch(request) {
        if (new URL(request.url).pathname !== endless) return new Response('ok');
        return new Response(
          new ReadableStream({
            pull(sink) {
              if (pieces++ < most) sink.enqueue(piece);
              else sink.close();
            },
          }),
        );
      },
    });
    try {
      await runHere(['keys', 'list', '--data', data]);
      expect(pieces).toBeGreaterThan(0);
      expect(pieces).toBeLessThan(most / 2 + 20);
    } finally {
      await impostor.stop(true);
    }
  },
);

describe('a command that changes nothing writes nothing and does not wait for a server:', () => {
  const wallet = `0x${'7e'.repeat(20)}`;
  const changes = [
    ['keys', 'suspend', 'KEY'],
    ['keys', 'resume', 'KEY'],
    ['keys', 'change', 'KEY', '--name', 'renamed', '--rpm', '5', '--label', 'env=a'],
    ['keys', 'revoke', 'KEY'],
    ['teams', 'change', 'search', '--budget', '5/day'],
    ['users', 'suspend', 'ada@example.com'],
    ['users', 'resume', 'ada@example.com'],
    ['users', 'change', 'ada@example.com', '--team', 'search', '--rpm', '5'],
    ['wallets', 'block', wallet, '--note', 'fraud'],
    ['wallets', 'unblock', wallet],
  ];
  let key = '';
  beforeAll(async () => {
    key = JSON.parse((await box.run('keys', 'create', '--json')).out).id;
    expect((await box.run('teams', 'create', '--name', 'search')).code).toBe(0);
    expect((await box.run('users', 'create', '--email', 'ada@example.com')).code).toBe(0);
  });
  const entries = async () => JSON.parse((await box.run('trail', 'list', '--limit', '1000', '--json')).out).data.length;

  test.each(changes.map((words) => [words.join(' '), words] as const))('%s', async (_, words) => {
    const args = words.map((word) => (word === 'KEY' ? key : word));
    const before = await entries();
    expect(await box.run(...args)).toMatchObject({ code: 0, err: '' });
    expect(await entries()).toBe(before + 1);
    for (const again of [args, [...args, '--offline']]) {
      expect(await box.run(...again)).toMatchObject({ code: 0, err: '' });
    }
    expect(await entries()).toBe(before + 1);
  });

  test('blocking a wallet again with another note is recorded', async () => {
    const before = await entries();
    for (const note of ['ticket 88', 'ticket 89']) await box.run('wallets', 'block', wallet, '--note', note);
    expect(await entries()).toBe(before + 2);
  });
});

describe('a server whose data folder cannot have a socket starts with one warning, and commands work on its database:', () => {
  const tooLong = () => join(temporaryFolder(), 'x'.repeat(100));
  const withFolder = () => {
    const data = temporaryFolder();
    mkdirSync(socketIn(data));
    return data;
  };

  test.each([
    ['its path is too long for a Unix socket', tooLong, 'at most 103'],
    ['a folder has the name of the socket', withFolder, 'in the way'],
  ])('%s', async (_, folder, problem) => {
    const data = folder();
    const server = await startSignalbox({ data });
    try {
      const warnings = server.lines.filter((line) => line.includes('commands cannot reach this server'));
      expect(warnings).toEqual([expect.stringContaining(problem)]);
      const { code, out, err } = await server.run('keys', 'create', '--json');
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect((await server.get('/v1/models', withKey(JSON.parse(out).key))).status).toBe(200);
    } finally {
      await server.stop();
    }
  });
});
