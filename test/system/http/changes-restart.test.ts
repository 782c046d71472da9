import { afterAll, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import type { StoredAnswer } from '../../../src/access/idempotency/answer.ts';
import { ByteRoom } from '../../../src/core/byte-room.ts';
import { AnswerTurns } from '../../../src/gateway/exchange/answer-turns.ts';
import { changesOnce } from '../../../src/http/changes-once.ts';
import { Repeats } from '../../../src/http/kit/repeats.ts';
import { RouteTable } from '../../../src/http/kit/route-table.ts';
import { waitFor } from '../../support/answers.ts';
import { expectError } from '../../support/error-contract.ts';
import { startOwnServer } from '../../support/own-server.ts';
import { TOY } from '../../support/policies.ts';
import { contextWith } from '../../support/request-context.ts';
import { makeTestKey, startSignalbox, temporaryFolder } from '../../support/signalbox.ts';

/** Changes with an `Idempotency-Key` that did not finish, so that they may or may not have been carried out. */
const data = temporaryFolder();
afterAll(() => rmSync(data, { recursive: true }));

const POLICY = `${TOY}alerts:
  webhooks:
    ops: { url_env: OPS_URL, secret_env: OPS_SECRET, allow_private_network: true }
  rules:
    - { name: policy, on: policy_refused, to: [ops] }
`;

test('a change that a crash interrupted is not repeated, and a retry gets the request ID in the audit trail', async () => {
  let calls = 0;
  const receiver = startOwnServer(() => {
    calls++;
    return new Promise<Response>(() => {});
  });
  const env = {
    ...{ OPS_URL: `${receiver.url}/`, OPS_SECRET: 'a secret of 24 characters' },
    SIGNALBOX_API_KEY: makeTestKey(),
  };
  const start = () => startSignalbox({ isProcess: true, data, env, policy: POLICY });
  const ask = (box: Awaited<ReturnType<typeof start>>) =>
    box.post('/admin/alerts/test', { webhook: 'ops' }, { headers: { 'idempotency-key': 'one' } });
  const first = await start();
  const cut = ask(first).catch(() => null);
  await waitFor(() => calls === 1);
  first.signal('SIGKILL');
  await first.exited;
  await cut;
  const second = await start();
  const { message, ...error } = await expectError(
    await ask(second),
    'idempotency_answer_unavailable',
    'Idempotency-Key',
  );
  expect(error.details).toEqual({ request_id: expect.stringMatching(/^req_[0-9a-z]{11}$/) });
  expect(message).toContain(String(error.details?.request_id));
  expect(calls).toBe(1);
  await second.stop();
  await receiver.stop();
});

test('the server stores the answer of an internal error, but not of a refusal', async () => {
  const kept: StoredAnswer[] = [];
  let drops = 0;
  const run = {
    givenBack: 0,
    claim: () => expect.unreachable(),
    begin: async () => {},
    keep: async (answer: StoredAnswer) => void kept.push(answer),
    lose: async () => {},
    tooLarge: async () => {},
    drop: async () => void drops++,
  };
  const statuses = [500, 503, 409, 200];
  const once = changesOnce({
    idempotency: { claim: async () => ({ kind: 'run', run }) },
    bodyOf: async () => ({}),
    routes: new RouteTable([]),
    repeats: new Repeats(new ByteRoom(), new AnswerTurns(), () => Number.POSITIVE_INFINITY),
    repeatChecks: new Map(),
    changes: { giveBack() {} },
    pass: async () => new Response('the text', { status: statuses.shift()!, headers: { etag: '"a"', 'x-own': 'b' } }),
  });
  const headers = { 'idempotency-key': 'one', authorization: `Bearer ${makeTestKey()}` };
  for (const status of [...statuses]) {
    const request = new Request('http://localhost/admin/keys', { method: 'POST', headers });
    const context = Object.assign(contextWith({ route: '/admin/keys', keyId: 'ada' }), { idempotencyKey: 'one' });
    const answer = await once.answerTo(request, context, { 'x-own': 'b' });
    expect([answer?.status, await answer?.text()]).toEqual([status, 'the text']);
  }
  expect(drops).toBe(2);
  expect(kept).toEqual(
    [500, 200].map((status) => ({
      ...{ status, body: 'the text' },
      headers: { etag: '"a"' },
    })),
  );
});
