import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { newKey, startFlat, startUpstream } from '../../bench/gateways.ts';
import type { Program } from '../../bench/process.ts';
import { eventsIn, waitFor } from '../support/answers.ts';
import { startOwnServer } from '../support/own-server.ts';
import { temporaryFolder } from '../support/signalbox.ts';

/** Microcredits a token; the bench upstream reports 50 tokens of input, and of output 100 as JSON, 50 as a stream. */
const [INPUT, OUTPUT] = [400, 1_600];
const [JSON_COST, STREAM_COST] = [50 * INPUT + 100 * OUTPUT, 50 * INPUT + 50 * OUTPUT];
const KEY = newKey();
const AMPLE = 1_000_000_000_000;
const MAX_TOKENS = 100;
const CHAT = { model: 'bench-model-3', max_tokens: MAX_TOKENS, messages: [{ role: 'user', content: 'Hello' }] };
const STREAM = { ...CHAT, stream: true };
const worstOf = (body: object): number => Buffer.byteLength(JSON.stringify(body)) * INPUT + MAX_TOKENS * OUTPUT;

let upstream: Program;
let address: string;
beforeAll(async () => {
  upstream = await startUpstream();
  address = `http://127.0.0.1:${upstream.port}/v1`;
});
afterAll(() => upstream.stop());

interface Row {
  readonly id: number;
  readonly status: number;
  readonly cost: number;
}

/** What is on the disk. */
function booksOf(folder: string): {
  readonly records: readonly Row[];
  readonly charged: number;
  readonly held: number;
} {
  const db = new Database(join(folder, 'flat.db'), { readonly: true });
  const records = db.query<Row, []>('SELECT id, status, cost FROM records ORDER BY id').all();
  const { held } = db.query<{ held: number }, []>('SELECT COALESCE(SUM(amount), 0) AS held FROM holds').get()!;
  db.close();
  return { records, charged: records.reduce((sum, { cost }) => sum + cost, 0), held };
}

class Gateway {
  readonly #program: Program;
  readonly folder: string;

  private constructor(program: Program, folder: string) {
    this.#program = program;
    this.folder = folder;
  }

  static async start({ to = address, budget = AMPLE, folder = temporaryFolder() } = {}): Promise<Gateway> {
    return new Gateway(await startFlat(to, KEY, budget, folder), folder);
  }

  post(body: object | string, { key = KEY, signal }: { key?: string; signal?: AbortSignal } = {}): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.#program.port}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...(signal && { signal }),
    });
  }

  async metrics(): Promise<string> {
    return (await fetch(`http://127.0.0.1:${this.#program.port}/metrics`)).text();
  }

  async kill(): Promise<void> {
    process.kill(this.#program.pid, 'SIGKILL');
    await this.#program.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#program.stop();
    rmSync(this.folder, { recursive: true });
  }
}

async function errorOf(response: Response): Promise<readonly [number, string, string]> {
  const { error }: { error: { code: string; message: string } } = JSON.parse(await response.text());
  return [response.status, error.code, error.message];
}

/** The tokens that an answer reports, in microcredits; null if it ended before it reported them. */
function reportedCost(text: string): number | null {
  const isStream = text.startsWith('data:');
  const { usage } = isStream ? (eventsIn(text).chunks.findLast((chunk) => chunk.usage) ?? {}) : JSON.parse(text);
  return usage ? usage.prompt_tokens * INPUT + usage.completion_tokens * OUTPUT : null;
}

describe('the flat gateway', () => {
  test('refuses callers without its key, whatever they send', async () => {
    await using gateway = await Gateway.start();
    for (const key of ['', newKey()]) {
      for (const body of [CHAT, 'not JSON']) {
        expect((await errorOf(await gateway.post(body, { key }))).slice(0, 2)).toEqual([401, 'invalid_api_key']);
      }
    }
  });

  test('refuses a body that is no chat with the field at fault, and a model that it does not serve', async () => {
    await using gateway = await Gateway.start();
    const faults = { '': 'not JSON', '/messages': { model: CHAT.model }, '/temperature': { ...CHAT, temperature: 9 } };
    for (const [field, body] of Object.entries(faults)) {
      const [status, code, message] = await errorOf(await gateway.post(body));
      expect([status, code]).toEqual([400, 'invalid_value']);
      expect(message).toStartWith(`${field || 'The body'}:`);
    }
    const unknown = await errorOf(await gateway.post({ ...CHAT, model: 'auto' }));
    expect(unknown.slice(0, 2)).toEqual([404, 'model_not_found']);
    expect(booksOf(gateway.folder)).toEqual({ records: [], charged: 0, held: 0 });
  });

  test('refuses a request whose worst case exceeds what the budget has left', async () => {
    const worst = worstOf(CHAT);
    await using gateway = await Gateway.start({ budget: worst + JSON_COST });
    expect((await gateway.post(CHAT)).status).toBe(200);
    expect((await gateway.post(CHAT)).status).toBe(200);
    expect((await errorOf(await gateway.post(CHAT))).slice(0, 2)).toEqual([402, 'insufficient_budget']);
    expect(booksOf(gateway.folder)).toMatchObject({ charged: 2 * JSON_COST, held: 0 });
  });

  test('never calls the upstream for more than a budget has, however many requests come at once', async () => {
    const worst = worstOf(CHAT);
    let open = 0;
    let most = 0;
    const slow = startOwnServer(async () => {
      most = Math.max(most, ++open);
      await Bun.sleep(5);
      open--;
      return Response.json({ usage: { prompt_tokens: 1, completion_tokens: MAX_TOKENS } });
    });
    await using gateway = await Gateway.start({ to: slow.url, budget: 3 * worst });
    const answers = await Promise.all(Array.from({ length: 40 }, () => gateway.post(CHAT)));
    const served = answers.filter(({ status }) => status === 200).length;
    expect(answers.filter(({ status }) => status === 402).length).toBe(40 - served);
    expect(served).toBeGreaterThanOrEqual(3);
    expect(most).toBeLessThanOrEqual(3);
    expect(booksOf(gateway.folder).charged).toBeLessThanOrEqual(3 * worst);
    await slow.stop();
  });

  test('charges concurrent answers, as JSON and as streams, exactly the tokens that they report', async () => {
    await using gateway = await Gateway.start();
    const bodies = Array.from({ length: 200 }, (_, at) => (at % 2 === 0 ? CHAT : STREAM));
    const texts = await Promise.all(bodies.map(async (body) => (await gateway.post(body)).text()));
    const { records, charged, held } = booksOf(gateway.folder);
    expect([charged, held]).toEqual([100 * (JSON_COST + STREAM_COST), 0]);
    expect(texts.reduce((sum, text) => sum + (reportedCost(text) ?? 0), 0)).toBe(charged);
    expect(records.map(({ status }) => status)).toEqual(bodies.map(() => 200));
    for (const text of texts.filter((one) => one.startsWith('data:'))) expect(eventsIn(text).done).toBe(true);
    expect(await gateway.metrics()).toContain(`flat_charged_microcredits_total ${charged}\n`);
  });

  test('writes the hold before it calls the upstream, and the charge before the answer ends', async () => {
    const folder = temporaryFolder();
    const held: number[] = [];
    const sent: unknown[] = [];
    const looking = startOwnServer(async (request) => {
      held.push(booksOf(folder).held);
      sent.push(await request.json());
      const usage = { usage: { prompt_tokens: 1, completion_tokens: 1 } };
      return held.length === 1
        ? Response.json(usage)
        : new Response(`data: ${JSON.stringify(usage)}\n\ndata: [DONE]\n\n`);
    });
    await using gateway = await Gateway.start({ to: looking.url, folder });
    for (const [nth, body] of [CHAT, STREAM].entries()) {
      const text = await (await gateway.post(body)).text();
      expect(reportedCost(text)).toBe(INPUT + OUTPUT);
      expect(booksOf(folder)).toMatchObject({ charged: (nth + 1) * (INPUT + OUTPUT), held: 0 });
    }
    expect(held).toEqual([worstOf(CHAT), worstOf(STREAM)]);
    expect(sent).toEqual([CHAT, { ...STREAM, stream_options: { include_usage: true } }]);
    await looking.stop();
  });

  test('loses no charge that it reported when it is killed, and counts its open holds after a restart', async () => {
    const gateway = await Gateway.start();
    const reported = new Map<number, number>();
    const caller = async (body: object): Promise<void> => {
      for (;;) {
        const answer = await gateway.post(body);
        const cost = reportedCost(await answer.text());
        if (cost !== null) reported.set(Number(answer.headers.get('x-request-id')), cost);
      }
    };
    const callers = Array.from({ length: 16 }, (_, at) => caller(at % 2 === 0 ? CHAT : STREAM).catch(() => {}));
    await waitFor(() => reported.size > 300);
    await gateway.kill();
    await Promise.all(callers);
    const { records, charged, held } = booksOf(gateway.folder);
    const booked = new Map(records.map(({ id, cost }) => [id, cost]));
    for (const [id, cost] of reported) expect([id, booked.get(id)]).toEqual([id, cost]);

    const { folder } = gateway;
    const used = charged + held;
    const poor = await Gateway.start({ folder, budget: used + worstOf(CHAT) - 1 });
    expect((await poor.post(CHAT)).status).toBe(402);
    await poor.kill();
    await using again = await Gateway.start({ folder, budget: used + worstOf(CHAT) });
    expect((await again.post(CHAT)).status).toBe(200);
    expect(booksOf(folder)).toMatchObject({ charged: charged + JSON_COST, held });
  });

  test('charges the hold, once, if an answer breaks off or its caller leaves, and nothing if the upstream refuses', async () => {
    const left = Promise.withResolvers<void>();
    const event = new TextEncoder().encode('data: {"choices":[]}\n\n');
    const faulty = startOwnServer(async (request) => {
      const { user }: { user?: string } = JSON.parse(await request.text());
      if (user === 'refused') return Response.json({ error: {} }, { status: 429 });
      if (user === 'silent') return Response.json({});
      return new Response(
        new ReadableStream({
          async pull(controller) {
            controller.enqueue(event);
            await Bun.sleep(5);
            if (user === 'broken') controller.error(new Error('broken'));
          },
          cancel: () => left.resolve(),
        }),
      );
    });
    await using gateway = await Gateway.start({ to: faulty.url });
    const from = (user: string, stream = true) => ({ ...CHAT, user, stream });
    const [refused, silent, broken, leaves] = [from('refused'), from('silent', false), from('broken'), from('leaves')];
    expect((await gateway.post(refused)).status).toBe(429);
    expect((await gateway.post(silent)).status).toBe(200);
    // The connection may break before or after the headers of the answer.
    await gateway
      .post(broken)
      .then((answer) => answer.text())
      .catch(() => {});
    const leaving = new AbortController();
    const answer = await gateway.post(leaves, { signal: leaving.signal });
    await answer.body?.getReader().read();
    leaving.abort();
    await left.promise;
    await waitFor(() => booksOf(gateway.folder).records.length === 4);
    expect(booksOf(gateway.folder).records.map(({ status, cost }) => [status, cost])).toEqual([
      [429, 0],
      [200, worstOf(silent)],
      [502, worstOf(broken)],
      [499, worstOf(leaves)],
    ]);
    expect(booksOf(gateway.folder).held).toBe(0);
    await faulty.stop();
  });

  test('logs one JSON line for each request', async () => {
    const folder = temporaryFolder();
    const program = join(import.meta.dir, '../../bench/flat-gateway.ts');
    const child = Bun.spawn([process.execPath, program, address, join(folder, 'flat.db'), String(AMPLE)], {
      env: { ...process.env, API_KEY: KEY },
      stdout: 'pipe',
    });
    let text = '';
    const reading = (async () => {
      for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) text += chunk;
    })();
    const port = await waitFor(() => /^(\d+)\n/.exec(text)?.[1]);
    const post = (key: string) =>
      fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify(CHAT),
      });
    expect([(await post(KEY)).status, (await post(newKey())).status]).toEqual([200, 401]);
    const lines = await waitFor(() => {
      const found = text.trim().split('\n').slice(1);
      return found.length === 2 && found.map((line): unknown => JSON.parse(line));
    });
    expect(lines).toMatchObject([
      { id: 1, model: CHAT.model, status: 200, input: 50, output: 100, cost: JSON_COST },
      { status: 401, code: 'invalid_api_key' },
    ]);
    expect(text).not.toContain(KEY);
    child.kill();
    await reading;
    rmSync(folder, { recursive: true });
  });
});
