import { describe, expect, test } from 'bun:test';
import { grant } from '../gateway/money/books.ts';
import { answerOf, waitFor } from '../support/answers.ts';
import { UPSTREAM_ENV } from '../support/policies.ts';
import { openResponses } from '../support/responses-socket.ts';
import { type Signalbox, startSignalbox, withKey } from '../support/signalbox.ts';
import { useStarted } from '../support/use.ts';
import { chat, makeKey, newPath, PATIENCE, policyWith, start, upstream, useServers } from './ledger-support.ts';

/** Requests that are answered with a status from 400 up: each is in the list once, and is found by its ID. */
useServers();
/** A server for the tests that name their own requests. */
const box = useStarted(() => startSignalbox({ policy: policyWith(), env: UPSTREAM_ENV }));

interface Entry extends Readonly<Record<string, unknown>> {
  readonly id: string;
  readonly model: string;
  readonly refusal: Readonly<Record<string, unknown>> | null;
  readonly attempt_details: readonly Readonly<Record<string, unknown>>[];
}

interface Page {
  readonly data: readonly Entry[];
  readonly next_after: string | null;
}

const jsonOf = async (response: Response) => (await response.json()) as Page;

const list = async (box: Signalbox, query: string, key = box.key) =>
  (await jsonOf(await box.get(`/admin/decisions?${query}`, withKey(key)))).data;

const find = async (box: Signalbox, id: string | null, key = box.key): Promise<Entry> =>
  (await (await box.get(`/admin/requests/${id}`, withKey(key))).json()) as Entry;

const idOf = (response: Response): string => response.headers.get('x-request-id') ?? '';

/** A text that must not be in a record. */
const PROMPT = 'Our merger with Initech closes on Friday';
const messages = [{ role: 'user', content: PROMPT }];

const REFUSING = `rate_limits: [{ name: once, each: key, match: key.labels.pace == "once", requests_per_minute: 1 }]
constraints: [{ name: nowhere, when: request.metadata.where == "nowhere", require: model.context_window > 9000000 }]
`;

describe('a refused request', () => {
  test(
    'is listed once with its facts, for each status, and with no text of the request',
    async () => {
      const box = await start({ policy: policyWith(REFUSING) });
      const { key: searcher, id: searcherId } = await makeKey(box, '--label', 'team=search');
      const { key: poor, id: poorId } = await makeKey(box);
      const { key: limited } = await makeKey(box, '--label', 'pace=once');
      const { key: router } = await makeKey(box, '--scope', 'route');
      await grant(box.data, poorId, 1);
      expect((await chat(box, limited)).status).toBe(200);
      const body = { messages, max_tokens: 100 };
      const cases: readonly (readonly [status: number, code: string, key: string, body: object])[] = [
        [400, 'invalid_value', searcher, { ...body, model: 'best', messages: [{ role: PROMPT, content: PROMPT }] }],
        [400, 'unknown_field', searcher, { ...body, model: 'best', route_strategy: { [PROMPT]: 1 } }],
        [402, 'insufficient_quota', poor, { ...body, model: 'best' }],
        [403, 'insufficient_permissions', router, { ...body, model: 'best' }],
        [404, 'model_not_found', searcher, { ...body, model: 'gpt-9-imaginary' }],
        [422, 'no_eligible_model', searcher, { ...body, model: 'auto', metadata: { where: 'nowhere' } }],
        [429, 'rate_limit_exceeded', limited, { ...body, model: 'best' }],
      ];
      for (const [status, code, key, request] of cases) {
        const response = await box.post('/v1/chat/completions', request, withKey(key));
        const answered = await answerOf(response);
        expect([response.status, answered.error?.code]).toEqual([status, code]);
        const found = await find(box, idOf(response));
        const id = idOf(response);
        // A request that is refused before its body was read names no model.
        const isRead = key !== limited && key !== router;
        expect(found).toMatchObject({
          ...{ id, request_id: id, status: 'refused', error: code, operation: 'chat', task: '' },
          model: isRead ? Object(request).model : '',
          attempt_details: [],
          refusal: {
            http_status: status,
            dialect: 'openai-chat',
            route: '/v1/chat/completions',
            method: 'POST',
            answers: 1,
          },
        });
        expect(found.refusal?.message).toBeString();
        expect(JSON.stringify(found)).not.toContain('Initech');
        const listed = await list(box, `status=refused&code=${code}`);
        expect(listed.filter((entry) => entry.id === id)).toHaveLength(1);
      }
      expect(
        await list(box, `key=${searcherId}&status=refused&model=gpt-9-imaginary&label=team%3Dsearch`),
      ).toHaveLength(1);
      expect(String((await list(box, 'code=model_not_found'))[0]?.refusal?.message)).toContain('gpt-9-imaginary');
    },
    PATIENCE,
  );

  test(
    'is recorded for each path of a model, and on a WebSocket',
    async () => {
      const { key } = await makeKey(box, '--scope', 'chat', '--scope', 'route');
      const model = 'gpt-9-imaginary';
      const paths: readonly (readonly [path: string, dialect: string | null, body: object])[] = [
        ['/v1/chat/completions', 'openai-chat', { model, messages }],
        ['/v1/messages', 'anthropic-messages', { model, messages, max_tokens: 9 }],
        ['/v1/messages/count_tokens', 'anthropic-messages', { model, messages }],
        ['/v1/responses', 'openai-responses', { model, input: PROMPT }],
        ['/v1/embeddings', 'openai-embeddings', { model, input: PROMPT }],
        ['/v1/route', null, { model, messages }],
      ];
      for (const [path, dialect, body] of paths) {
        const response = await box.post(path, body, withKey(key));
        expect([path, response.status]).toEqual([path, 404]);
        expect(await find(box, idOf(response))).toMatchObject({ model, refusal: { dialect, route: path } });
        const broken = await box.post(path, null, { ...withKey(key), body: `{"model": "${model}", "messages": [` });
        expect([path, broken.status]).toEqual([path, 400]);
        expect(await find(box, idOf(broken))).toMatchObject({ model: '', error: 'invalid_json' });
      }
      const described = await box.get(`/v1/models/${model}`, withKey(key));
      expect(await find(box, idOf(described))).toMatchObject({ model, error: 'model_not_found', operation: null });
      const page = await jsonOf(await box.get('/admin/decisions?status=refused&limit=1', withKey(box.key)));
      expect(page.next_after).toBe(page.data[0]!.id);
      const before = (await list(box, 'status=refused')).length;
      const client = openResponses(box, key);
      expect(await client.ask({ model, input: PROMPT })).toMatchObject([{ type: 'error', status: 404 }]);
      upstream.behave({ hang: 'headers' });
      const body = JSON.stringify({ type: 'response.create', model: 'best', input: PROMPT });
      client.socket.send(body);
      client.socket.send(body);
      await waitFor(() => client.events.length === 2);
      client.socket.close();
      const after = await list(box, 'status=refused');
      expect(after.slice(0, after.length - before).map(({ error, refusal }) => [error, refusal?.dialect])).toEqual([
        ['in_flight', 'openai-responses'],
        ['model_not_found', 'openai-responses'],
      ]);
    },
    PATIENCE,
  );

  test(
    'names the model of its path, for each path of Gemini’s API, also if its body is not read',
    async () => {
      const { key } = await makeKey(box);
      const { key: router } = await makeKey(box, '--scope', 'route');
      const contents = [{ parts: [{ text: PROMPT }] }];
      const secret = `sk-proj-${'a1B2'.repeat(12)}`;
      const sent: readonly (readonly [path: string, status: number, key: string, model: string])[] = [
        ['/v1beta/models/gpt-9-imaginary:generateContent', 404, key, 'gpt-9-imaginary'],
        ['/v1/models/gpt-9-imaginary:streamGenerateContent?alt=sse', 404, key, 'gpt-9-imaginary'],
        ['/v1beta/models/models/vendor%2Fgpt-9:countTokens', 404, key, 'vendor/gpt-9'],
        ['/v1beta/models/best:embedContent', 400, key, 'best'],
        ['/v1beta/models/best:generateContent', 403, router, 'best'],
        [`/v1beta/models/${secret}:generateContent`, 404, key, '[secret]'],
      ];
      for (const [path, status, by, model] of sent) {
        const response = await box.post(path, { contents, model: 'another' }, withKey(by));
        expect([path, response.status]).toEqual([path, status]);
        const found = await find(box, idOf(response));
        expect(found).toMatchObject({ model, refusal: { dialect: 'google-gemini' } });
        expect(JSON.stringify(found)).not.toContain('a1B2a1B2');
      }
      const broken = await box.post('/v1beta/models/best:generateContent', null, { ...withKey(key), body: '{' });
      expect(await find(box, idOf(broken))).toMatchObject({ model: 'best', error: 'invalid_json' });
      const described = await box.get('/v1beta/models/gpt-9-imaginary', withKey(key));
      expect(await find(box, idOf(described))).toMatchObject({ model: 'gpt-9-imaginary', error: 'model_not_found' });
    },
    PATIENCE,
  );

  test(
    'names its model in at most 128 printable characters, without a key that was sent as the model',
    async () => {
      const secret = `sk-proj-${'a1B2'.repeat(12)}`;
      for (const [model, shown] of [
        [`gpt\u0007-\u202e9\n${'-small'.repeat(50)}`, `gpt-9${'-small'.repeat(21).slice(0, 123)}`],
        [secret, '[secret]'],
        [`${'my-'.repeat(33)} ${secret}`, `${'my-'.repeat(33)} [secret]`],
        [`abcsk-live-${'a1B2'.repeat(6)}`, 'abc[secret]'],
        [`abc${secret}`, 'abc[secret]'],
        [`9sk-${'a1B2'.repeat(6)}`, '9[secret]'],
        [`modelgsk_${'a1B2'.repeat(6)}`, 'model[secret]'],
        ['my-task-classifier-20241127', 'my-task-classifier-20241127'],
        ['disk-qwen3-70b-instruct', 'disk-qwen3-70b-instruct'],
      ] as const) {
        const response = await box.post('/v1/chat/completions', { model, messages });
        expect(response.status).toBeOneOf([400, 404]);
        const found = await find(box, idOf(response));
        expect(found.model).toBe(shown);
        expect(JSON.stringify(found)).not.toContain('a1B2a1B2');
      }
    },
    PATIENCE,
  );

  test(
    'contains neither a password that was sent as the model, nor a name in its metadata',
    async () => {
      const passwords = [
        'Tr0ub4dor&3',
        'postgres://ada:horse-battery@db/orders',
        'password=horse-battery',
        'S3cr3tP4ss',
      ];
      const bodies = passwords.flatMap(
        (password) =>
          [
            ['/v1/chat/completions', { model: password, messages }, '[secret]'],
            ['/v1/messages', { model: password, messages, max_tokens: 9 }, '[secret]'],
            ['/v1/chat/completions', { model: 'best', messages, metadata: { [password]: 5 } }, 'best'],
            ['/v1/responses', { model: 'best', input: PROMPT, metadata: { [password]: { a: 1 } } }, 'best'],
            ['/v1/embeddings', { model: 'best', input: PROMPT, metadata: { [password]: 5 } }, 'best'],
            ['/v1/chat/completions', { model: 'best', messages, metadata: { hunter2: 5, [password]: '' } }, 'best'],
          ] as const,
      );
      for (const [path, body, model] of bodies) {
        const response = await box.post(path, body);
        expect([path, response.status]).toEqual([path, model === 'best' ? 400 : 404]);
        const found = await find(box, idOf(response));
        expect(found.model).toBe(model);
        expect(String(found.refusal?.message)).toMatch(
          model === 'best' ? /^`metadata\.\[prompt\]` must be/ : /`\[secret\]`/,
        );
        for (const hidden of [...passwords, 'hunter2']) expect(JSON.stringify(found)).not.toContain(hidden);
      }
      const described = await box.get(`/v1/models/${encodeURIComponent(passwords[0]!)}`);
      const found = await find(box, idOf(described));
      expect(found.model).toBe('[secret]');
      expect(JSON.stringify(found)).not.toContain('Tr0ub4dor');
    },
    PATIENCE,
  );

  test(
    'has no characters in its message that control the terminal of an operator',
    async () => {
      const model = 'gpt\u001b]0-title\u0007\u001b[2J\u009b\u202e9';
      const response = await box.post('/v1/chat/completions', { model, messages });
      expect(response.status).toBe(404);
      const { refusal } = await find(box, idOf(response));
      expect(refusal?.message).toMatch(/gpt.*title.*9/);
      expect(refusal?.message).not.toMatch(/[\p{Cc}\p{Cf}]/u);
      const { out } = await box.run('decisions', 'show', idOf(response));
      expect(out.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    },
    PATIENCE,
  );

  test(
    'counts in traffic, and not as a request that ran',
    async () => {
      const { key, id } = await makeKey(box);
      expect((await chat(box, key)).status).toBe(200);
      for (let n = 0; n < 3; n++) await chat(box, key, { model: 'none' });
      const traffic = async () => Object(await (await box.get(`/admin/traffic?key=${id}`)).json()).total.whole;
      await waitFor(async () => (await traffic()).refused === 3);
      expect(await traffic()).toMatchObject({ requests: 1, errors: 0, refused: 3 });
    },
    PATIENCE,
  );

  test(
    'of a suspended key has a record with the key; a person who looks for something in the console leaves none',
    async () => {
      const { key, id } = await makeKey(box);
      expect((await box.post(`/admin/keys/${id}/suspend`, {})).status).toBe(200);
      const response = await chat(box, key);
      expect(response.status).toBe(403);
      expect(await find(box, idOf(response))).toMatchObject({ key_id: id, error: 'key_suspended' });
      const signIn = await box.post('/console/sign-in/key', { key: box.key }, { headers: { origin: box.url } });
      const cookie = (signIn.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
      const looked = await fetch(`${box.url}/admin/decisions/dec_0a4x1wm3zk0`, {
        headers: { cookie, origin: box.url },
      });
      expect(looked.status).toBe(404);
      expect((await find(box, idOf(looked))).id).toBeUndefined();
    },
    PATIENCE,
  );
});

describe('above 60 a minute for a key', () => {
  test(
    'the requests of its child keys count with its own',
    async () => {
      const box = await start();
      const { key: parent } = await makeKey(box, '--scope', 'chat,delegate');
      const child = async () =>
        Object(await (await box.post('/v1/keys', { name: 'child' }, withKey(parent))).json()).key as string;
      for (const key of [parent, await child(), await child()]) {
        await Promise.all(Array.from({ length: 60 }, () => chat(box, key, { model: 'none' })));
      }
      const entries = await list(box, 'status=refused&limit=200');
      // A new minute can begin in between, and then each minute has its own limit and the numbers of the first one.
      expect(entries.filter(({ refusal }) => refusal?.answers === 1).length).toBeWithin(60, 180);
    },
    PATIENCE,
  );

  test(
    'the requests of all keys of a user count together, and another caller loses none of its own',
    async () => {
      let now = Date.now();
      const box = await start({ now: () => now });
      const user = Object(await (await box.post('/admin/users', { name: 'Mallory' })).json()).id as string;
      const keys = await Promise.all(
        Array.from({ length: 40 }, async (_, at) => {
          const made = await box.post('/admin/keys', { name: `key ${at}`, user });
          return Object(await made.json()).key as string;
        }),
      );
      const { key: bystander, id } = await makeKey(box);
      now = Math.ceil(now / 60_000) * 60_000 + 5_000;
      const flood = keys.map(async (key) => {
        for (const model of ['none', 'none', 'none']) await chat(box, key, { model });
      });
      for (let n = 0; n < 25; n++) await chat(box, bystander, { model: 'none' });
      await Promise.all(flood);
      expect(await list(box, `user=${user}&status=refused&limit=500`)).toHaveLength(60);
      expect(await list(box, `key=${id}&status=refused&limit=500`)).toHaveLength(25);
    },
    PATIENCE,
  );

  test(
    'refused requests are stored as a number for each code, and requests with an unknown key only as a number',
    async () => {
      const data = newPath();
      let now = Date.now();
      const box = await start({ data, now: () => now });
      const { key, id } = await makeKey(box);
      // All requests arrive in one minute of the server's clock.
      now = Math.ceil(now / 60_000) * 60_000 + 5_000;
      for (let n = 0; n < 75; n++) await chat(box, key, { model: 'none' });
      for (let n = 0; n < 4; n++) await chat(box, `sb_live_nobody_${'0'.repeat(43)}`);
      expect(await list(box, `key=${id}&status=refused&limit=500`)).toHaveLength(60);
      await box.stop();
      const later = await start({ data });
      const entries = await list(later, 'status=refused&limit=500');
      const many = entries.filter(({ refusal }) => Number(refusal?.answers) > 1);
      expect(entries).toHaveLength(62);
      expect(many).toMatchObject([
        { key_id: null, error: 'invalid_api_key', model: '', refusal: { answers: 4 } },
        { key_id: id, error: 'model_not_found', model: '', refusal: { answers: 15 } },
      ]);
      const traffic = Object(await (await later.get('/admin/traffic?step=day')).json());
      expect(traffic.total.whole.refused).toBe(79);
      const printed = await later.run('decisions', 'list', '--status', 'refused', '--limit', '2');
      expect(printed.out).toContain('15 more answers like this in that minute');
      expect(printed.out).toContain('(unknown)');
      expect(printed.out).toContain('4 answers like this in that minute');
    },
    PATIENCE,
  );
});

describe('a request with a decision', () => {
  test(
    'that failed is listed once, is found by both IDs, and shows the provider’s status and message without secrets and texts',
    async () => {
      const box = await start();
      const { key } = await makeKey(box);
      const message = `Quota of org-7 is used up at https://internal.example:8443, key sk-proj-${'z9Y8'.repeat(12)}: ${PROMPT}`;
      upstream.next({ status: 503, error: { message } });
      const response = await chat(box, key, { messages });
      expect(response.status).toBe(502);
      const [request, decision] = [idOf(response), response.headers.get('x-signalbox-decision-id')];
      const entries = await list(box, '');
      expect(entries.map(({ id, request_id }) => [id, request_id])).toEqual([[String(decision), request]]);
      const found = await find(box, request);
      expect(await find(box, decision)).toEqual(found);
      expect(found).toMatchObject({ id: decision, status: 'failed', error: 'upstream_failed', refusal: null });
      expect(found.attempt_details).toMatchObject([{ failure: 'overloaded', status: 503 }]);
      const shown = String(found.attempt_details[0]?.message);
      expect(shown).toStartWith('Quota of org-7 is used up at [address]');
      for (const hidden of ['internal.example', 'z9Y8', 'Initech']) expect(shown).not.toContain(hidden);
      const { out } = await box.run('decisions', 'show', request);
      expect(out).toContain('Quota of org-7');
      expect((await box.run('decisions', 'show', request, '--offline')).out).toBe(out);
      // The key itself sees the status, but not the message, which its answer did not have.
      const own = await (await box.get(`/v1/decisions/${request}`, withKey(key))).json();
      expect(Object(own)).toMatchObject({ id: decision, outcome: { attempts: [{ status: 503, message: null }] } });
    },
    PATIENCE,
  );

  test(
    'is linked by the refusal of a repeat that cannot get its answer',
    async () => {
      const { key, id } = await makeKey(box);
      const send = (by: string) => {
        const headers = { authorization: `Bearer ${by}`, 'idempotency-key': 'again' };
        return box.post('/v1/chat/completions', { model: 'best', messages, max_tokens: 100 }, { headers });
      };
      const decision = (await send(key)).headers.get('x-signalbox-decision-id');
      const { key: rotated } = Object(await (await box.post(`/admin/keys/${id}/rotate`, {})).json());
      const again = await waitFor(async () => {
        const response = await send(rotated);
        return response.status === 401 ? null : response;
      });
      expect(again.status).toBe(422);
      expect(await find(box, idOf(again))).toMatchObject({ status: 'refused', refusal: { decision_id: decision } });
    },
    PATIENCE,
  );
});

describe('decisions list and show', () => {
  test(
    'the command finds refused requests like the API, with and without the server, in pages',
    async () => {
      const { key, id } = await makeKey(box);
      const ids: string[] = [];
      for (let n = 0; n < 3; n++) ids.unshift(idOf(await chat(box, key, { model: `none-${n}` })));
      expect((await chat(box, key)).status).toBe(200);
      const filters: readonly (readonly [query: string, args: readonly string[], ids: readonly string[]])[] = [
        [`key=${id}&status=refused`, ['--key', id, '--status', 'refused'], ids],
        ['code=model_not_found&model=none-1', ['--code', 'model_not_found', '--model', 'none-1'], [ids[1]!]],
        [
          `after=${ids[0]}&status=refused&limit=1`,
          ['--after', ids[0]!, '--status', 'refused', '--limit', '1'],
          [ids[1]!],
        ],
        [`newer_than=${ids[1]}&status=refused`, ['--newer-than', ids[1]!, '--status', 'refused'], [ids[0]!]],
      ];
      for (const [query, args, expected] of filters) {
        const data = await list(box, query);
        expect([query, data.map(({ id }) => id)]).toEqual([query, [...expected]]);
        for (const more of [[], ['--offline']]) {
          const { out, code } = await box.run('decisions', 'list', ...args, ...more, '--json');
          expect([code, JSON.parse(out).data]).toEqual([0, data]);
        }
      }
      const shown = await box.run('decisions', 'show', ids[0]!, '--json');
      expect(JSON.parse(shown.out)).toEqual(await find(box, ids[0]!));
      expect(JSON.parse((await box.run('decisions', 'show', ids[0]!, '--offline', '--json')).out)).toEqual(
        JSON.parse(shown.out),
      );
      expect((await box.run('decisions', 'show', 'req_zzzzzzzzzzz')).code).toBe(1);
    },
    PATIENCE,
  );

  test(
    'a key cannot find requests of another key, and a report sees no message',
    async () => {
      const { key } = await makeKey(box);
      const { key: other } = await makeKey(box);
      const { key: report } = await makeKey(box, '--scope', 'report');
      const refused = idOf(await chat(box, key, { model: 'gpt-9-imaginary' }));
      const explain = async (by: string) =>
        (await (await box.get(`/v1/decisions/${refused}`, withKey(by))).json()) as object;
      expect(Object(await explain(key)).error.message).toContain('gpt-9-imaginary');
      expect(JSON.stringify(await explain(other))).not.toContain('gpt-9-imaginary');
      const [entry] = await list(box, 'status=refused&code=model_not_found', report);
      expect(entry).toMatchObject({
        id: refused,
        model: '',
        key_id: null,
        refusal: { message: null, http_status: 404 },
      });
    },
    PATIENCE,
  );
});
